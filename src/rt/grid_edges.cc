/*
 * grid_edges.cc - reduces polygons to the edges that matter to one cell (grid_edges.h).
 *
 * Generated code asks rt_grid_filled whether a cell needs an entry, rt_grid_edges for the length
 * of its value, makes room for it, and has it written by rt_grid_store_edges. Each goes through
 * all edges of the shape, once for each cell.
 */
#include "rt/grid_edges.h"

#include "rt/geometry_ring.h"
#include "turbine/grid.h"

using namespace turbine::rt;
using namespace turbine::rt::geometry;

namespace {

/* Bytes of a shape times its cells: more take seconds, so such a shape stays as it is. */
constexpr uint64_t kMostWork = uint64_t{1} << 34;

/* Bounds between which the proof of certain edges holds, with much to spare. */
constexpr double kLeastSize = 0x1p-200;
constexpr double kMostSize = 0x1p200;
constexpr double kMostCoordinate = 0x1p500;
constexpr double kLeastHeight = 0x1p-500;
constexpr double kMostWidth = 0x1p30;  // in cells; the margin is 2^-10 of a cell, so 2^-40 of an edge

/* Where the points of a cell are: (x, y) with left <= x <= right and bottom <= y <= top. */
struct Cell {
  double left, right, bottom, top;
  double certain;  // edges from here on are certain
  double size;
};

/* A cell's side is a power of two, so its bounds are exact; points that rounding has put beyond them are within the
 * margin. The outermost cells have no end. */
RT_INLINE Cell cell_at(int32_t x, int32_t y, double size) {
  const double margin = size * 0x1p-20, infinity = __builtin_inf();
  Cell cell;
  cell.left = x <= -TB_MOST_PLACE ? -infinity : x * size - margin;
  cell.right = x >= TB_MOST_PLACE ? infinity : (x + 1.0) * size + margin;
  cell.bottom = y <= -TB_MOST_PLACE ? -infinity : y * size - margin;
  cell.top = y >= TB_MOST_PLACE ? infinity : (y + 1.0) * size + margin;
  cell.certain = size >= kLeastSize && size <= kMostSize ? cell.right + size * 0x1p-10 : infinity;
  cell.size = size;
  return cell;
}

/* Appends to a value, or only counts its bytes. */
struct Out {
  char* to;  // nullptr: nothing is written
  uint32_t at;

  template <class T>
  RT_INLINE_MEMBER void put_at(uint32_t place, const T& value) {
    if (to != nullptr) __builtin_memcpy(to + place, &value, sizeof value);
  }

  /* The place of what is put later, or is taken back. Nothing is written there until then: room ends where the value
   * does. */
  template <class T>
  RT_INLINE_MEMBER uint32_t reserve() {
    const uint32_t place = at;
    at += sizeof(T);
    return place;
  }

  template <class T>
  RT_INLINE_MEMBER uint32_t put(const T& value) {
    const uint32_t place = reserve<T>();
    put_at(place, value);
    return place;
  }
};

RT_INLINE bool is_bounded(double value) { return value >= -kMostCoordinate && value <= kMostCoordinate; }

RT_INLINE double lesser(double a, double b) { return a < b ? a : b; }
RT_INLINE double greater(double a, double b) { return a > b ? a : b; }

/* Writes a ring: its items as they come, then its head. */
class RingWriter {
 public:
  RT_INLINE_MEMBER RingWriter(const Cell& cell, Out* out)
      : cell_(cell), out_(out), head_at_(out->reserve<ReducedRing>()) {}

  RT_INLINE_MEMBER void add_edge(double x1, double y1, double x2, double y2) {
    if (x1 == x2 && y1 == y2) return;
    if (is_certain(x1, y1, x2, y2)) {
      if (!in_run_) run_from_ = y1;
      in_run_ = true;
      run_to_ = y2;
      in_chain_ = false;
      return;
    }
    end_run();
    if (greater(x1, x2) < cell_.left || lesser(y1, y2) > cell_.top || greater(y1, y2) < cell_.bottom) {
      in_chain_ = false;
      return;
    }
    if (!in_chain_) {
      chain_ = {1, 0};
      chain_at_ = out_->put(chain_);
      out_->put(x1);
      out_->put(y1);
      ring_.items++;
      in_chain_ = true;
    }
    out_->put(x2);
    out_->put(y2);
    chain_.points++;
    out_->put_at(chain_at_, chain_);
  }

  /* False: the ring counts nothing, and is taken back. */
  RT_INLINE_MEMBER bool finish() {
    end_run();
    if (ring_.winding == 0 && ring_.items == 0) {
      out_->at = head_at_;
      return false;
    }
    out_->put_at(head_at_, ring_);
    return true;
  }

 private:
  RT_INLINE_MEMBER bool is_certain(double x1, double y1, double x2, double y2) const {
    const double width = x2 - x1, height = y2 - y1;
    return lesser(x1, x2) >= cell_.certain && is_bounded(x1) && is_bounded(x2) && is_bounded(y1) && is_bounded(y2) &&
           __builtin_fabs(width) <= cell_.size * kMostWidth &&
           (height == 0 || __builtin_fabs(height) >= kLeastHeight) && !is_tiny(x1, y1, x2, y2);
  }

  /* Certain edges that follow each other count as one. */
  RT_INLINE_MEMBER void end_run() {
    if (!in_run_) return;
    in_run_ = false;
    const double low = lesser(run_from_, run_to_), high = greater(run_from_, run_to_);
    if (low == high || high <= cell_.bottom || low > cell_.top) return;
    if (low <= cell_.bottom && high > cell_.top) {
      ring_.winding += run_from_ < run_to_ ? 1 : -1;
      return;
    }
    out_->put(ReducedItem{0, 0});
    out_->put(run_from_);
    out_->put(run_to_);
    ring_.items++;
  }

  const Cell& cell_;
  Out* out_;
  const uint32_t head_at_;
  ReducedRing ring_ = {0, 0};
  bool in_run_ = false, in_chain_ = false;
  double run_from_ = 0, run_to_ = 0;
  ReducedItem chain_ = {0, 0};
  uint32_t chain_at_ = 0;
};

/* False: the bytes are spoilt. */
RT_INLINE bool reduce_polygon(const Shape& polygon, const Cell& cell, Out* out, ReducedHead* head, uint64_t* next) {
  Rings rings;
  if (polygon.count == 0 || !open_rings(polygon, &rings)) return false;
  const uint32_t at = out->reserve<ReducedPolygon>();
  uint32_t kept = 0;
  bool has_outer = false;
  for (uint32_t i = 0; i < polygon.count; i++) {
    Points ring;
    if (!take_ring(&rings, &ring)) return false;
    if (ring.count < 2) head->flags |= kDoubtful;
    // Of holes in nothing only the coordinates are looked at.
    RingWriter writer(cell, out);
    double x1 = 0, y1 = 0;
    for (uint32_t k = 0; k < ring.count; k++) {
      const double x2 = x_at(ring, k), y2 = y_at(ring, k);
      if (x2 - x2 != 0 || y2 - y2 != 0) head->flags |= kDoubtful;
      if (k > 0 && (i == 0 || has_outer)) writer.add_edge(x1, y1, x2, y2);
      x1 = x2;
      y1 = y2;
    }
    const bool counts = writer.finish();
    kept += counts ? 1 : 0;
    if (i == 0) has_outer = counts;
  }
  *next = rings.offset;
  if (!has_outer) {
    out->at = at;
    return true;
  }
  out->put_at(at, ReducedPolygon{kept, out->at - at - (uint32_t)sizeof(ReducedPolygon)});
  head->polygons++;
  return true;
}

/* False: the shape stays as it is. *filled: whether anything of it is in the cell; true where it is not known. */
RT_INLINE bool reduce(const char* bytes, uint32_t length, double size, int32_t number, Out* out, bool* filled) {
  Geometry g;
  TbBox extent;
  int is_point;
  *filled = true;
  if (!open_geometry(bytes, length, &g) || g.box == nullptr || emptiness_of(g.shape) != Emptiness::kFilled ||
      (g.shape.type != kPolygon && g.shape.type != kMultiPolygon) ||
      tb_geometry_extent((const uint8_t*)bytes, length, &is_point, &extent) != TB_EXTENT_BOX)
    return false;
  const TbGridCells cells = tb_grid_cells(&extent, 0, size);
  if ((uint64_t)(cells.columns * cells.rows) * length > kMostWork) return false;
  int32_t x, y;
  tb_grid_nth_cell(&cells, (uint32_t)number, &x, &y);
  const Cell cell = cell_at(x, y, size);

  ReducedHead head = {load<uint32_t>(bytes) | (uint32_t)kReduced << 24, 0, {}, 0, 0};
  __builtin_memcpy(&head.box, g.box, sizeof head.box);
  out->reserve<ReducedHead>();
  uint64_t next;
  if (g.shape.type == kPolygon) {
    head.flags = kAlone;
    if (!reduce_polygon(g.shape, cell, out, &head, &next)) return false;
  } else {
    uint64_t offset = kStart;
    for (uint32_t i = 0; i < g.shape.count; i++) {
      Shape part;
      if (offset > g.shape.length ||
          !open_shape(g.shape.bytes + offset, g.shape.length - (uint32_t)offset, g.shape.dims, &part) ||
          part.type != kPolygon || !reduce_polygon(part, cell, out, &head, &next))
        return false;
      offset += next;
    }
  }
  out->put_at(0, head);
  *filled = head.polygons > 0 || (head.flags & kDoubtful);
  return out->at < length;
}

}  // namespace

/* Whether some point of the cell may be in the shape, or on its edges. Radius: 0. */
RT_EXPORT bool rt_grid_filled(const char* geometry, uint32_t length, double, double size, int32_t number) {
  Out out = {nullptr, 0};
  bool filled;
  reduce(geometry, length, size, number, &out, &filled);
  return filled;
}

/* nullptr, and the length of the reduced shape; or the shape, as it is. Radius: 0. */
RT_EXPORT const char* rt_grid_edges(const char* geometry, uint32_t length, double, double size, int32_t number,
                                    uint32_t* result_length) {
  Out out = {nullptr, 0};
  bool filled;
  const bool reduced = reduce(geometry, length, size, number, &out, &filled);
  *result_length = reduced ? out.at : length;
  return reduced ? nullptr : geometry;
}

/* Writes the reduced shape at arena + offset, where rt_grid_edges says that there is one. */
RT_EXPORT void rt_grid_store_edges(TbTextView* view, uint8_t* arena, uint64_t offset, const char* geometry,
                                   uint32_t length, double, double size, int32_t number) {
  Out out = {(char*)arena + offset, 0};
  bool filled;
  reduce(geometry, length, size, number, &out, &filled);
  view->length = out.at;
  view->prefix = load<uint32_t>(out.to);
  view->id = 0;
  view->offset = (uint32_t)offset;
}
