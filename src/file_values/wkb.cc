/*
 * wkb.cc - see wkb.h.
 *
 * Owns the order of bytes and the rule which shapes have a box. Called for each value. PostGIS keeps a box of all
 * shapes but points, lines of up to two points, and those as the only member of a multi-shape; empty shapes have none.
 */
#include "file_values/wkb.h"

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstring>

#include "turbine/grid.h"

namespace turbine {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr const char* kTooShort = "well-known binary that ends too early";
constexpr int kMostDepth = 32;

struct WkbHeader {
  bool swapped = false;
  uint32_t type = 0;  // without dimensions
  GeoDimensions dimensions;
  bool has_srid = false;
  uint32_t srid = 0;
};

/* What is left of a value. */
class WkbReader {
 public:
  explicit WkbReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool header(WkbHeader* header) {
    if (at_ == end_ || static_cast<uint8_t>(*at_) > 1) return false;
    header->swapped = *at_++ == 0;
    uint32_t type;
    if (!number(header->swapped, &type)) return false;
    uint32_t simple = type & 0x0fffffff;
    // ISO adds thousands for dimensions.
    const uint32_t thousands = simple / 1000;
    if (thousands > 3 || (thousands > 0 && (type & (kWkbZ | kWkbM)))) return false;
    header->type = simple % 1000;
    header->dimensions = {(type & kWkbZ) != 0 || (thousands & 1) != 0, (type & kWkbM) != 0 || (thousands & 2) != 0};
    header->has_srid = (type & kWkbSrid) != 0;
    return !header->has_srid || number(header->swapped, &header->srid);
  }
  bool number(bool swapped, uint32_t* value) {
    if (end_ - at_ < static_cast<ptrdiff_t>(sizeof *value)) return false;
    memcpy(value, at_, sizeof *value);
    if (swapped) *value = __builtin_bswap32(*value);
    at_ += sizeof *value;
    return true;
  }
  bool has(uint64_t items, uint64_t bytes) const { return items <= static_cast<uint64_t>(end_ - at_) / bytes; }
  /* Of which there are enough. */
  double coordinate(bool swapped) {
    uint64_t bits;
    memcpy(&bits, at_, sizeof bits);
    at_ += sizeof bits;
    return std::bit_cast<double>(swapped ? __builtin_bswap64(bits) : bits);
  }

 private:
  const char* at_;
  const char* end_;
};

/* The floats that PostGIS keeps: never within the value's. */
float box_float_below(double value) {
  if (value > FLT_MAX) return FLT_MAX;
  if (value <= -FLT_MAX) return -FLT_MAX;
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) <= value ? nearest : std::nextafterf(nearest, -FLT_MAX);
}
float box_float_above(double value) {
  if (value >= FLT_MAX) return FLT_MAX;
  if (value < -FLT_MAX) return -FLT_MAX;
  const auto nearest = static_cast<float>(value);
  return static_cast<double>(nearest) >= value ? nearest : std::nextafterf(nearest, FLT_MAX);
}

/* One value on its way. */
class Serializer {
 public:
  Serializer(WkbReader& wkb, std::string& out) : wkb_(wkb), out_(out) {}

  /* The shape behind its header. */
  const char* shape(const WkbHeader& header, int depth) {
    switch (header.type) {
      case kWkbPoint: return point(header, depth);
      case kWkbLine: return line(header);
      case kWkbPolygon: return polygon(header);
      case kWkbMultiPoint:
      case kWkbMultiLine:
      case kWkbMultiPolygon:
      case kWkbCollection: return members(header, depth);
      default: return "a shape that devices do not know";
    }
  }

  uint64_t vertices() const { return vertices_; }
  uint32_t top_members() const { return top_members_; }
  void append_box(uint32_t dimensions, std::string& to) const {
    for (uint32_t i = 0; i < dimensions; i++) {
      const float least = box_float_below(least_[i]), greatest = box_float_above(greatest_[i]);
      to.append(reinterpret_cast<const char*>(&least), sizeof least);
      to.append(reinterpret_cast<const char*>(&greatest), sizeof greatest);
    }
  }

 private:
  template <class T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }

  /* Appends one; the box grows around it. */
  void position(const double* values, uint32_t dimensions) {
    for (uint32_t d = 0; d < dimensions; d++) {
      least_[d] = std::fmin(least_[d], values[d]);
      greatest_[d] = std::fmax(greatest_[d], values[d]);
      put(values[d]);
    }
    vertices_++;
  }

  /* Reads one. False: it is not finite. */
  bool read(const WkbHeader& header, double (&values)[4]) {
    bool finite = true;
    for (uint32_t d = 0; d < header.dimensions.count(); d++) {
      values[d] = wkb_.coordinate(header.swapped);
      finite = finite && std::isfinite(values[d]);
    }
    return finite;
  }

  bool positions(const WkbHeader& header, uint64_t count) {
    bool finite = true;
    double values[4];
    for (uint64_t i = 0; i < count; i++) {
      finite = read(header, values) && finite;
      position(values, header.dimensions.count());
    }
    return finite;
  }

  const char* point(const WkbHeader& header, int depth) {
    if (!wkb_.has(header.dimensions.count(), sizeof(double))) return kTooShort;
    double values[4];
    const bool finite = read(header, values);
    const bool is_empty = std::isnan(values[0]) && std::isnan(values[1]);
    put(kWkbPoint);
    put(is_empty ? uint32_t{0} : uint32_t{1});
    if (is_empty) return nullptr;
    // Boxes of NaN depend on the order of comparisons.
    if (!finite && depth > 0) return "a member that is not finite";
    position(values, header.dimensions.count());
    return nullptr;
  }

  const char* line(const WkbHeader& header) {
    uint32_t count;
    if (!wkb_.number(header.swapped, &count) || !wkb_.has(count, header.dimensions.count() * sizeof(double)))
      return kTooShort;
    if (count == 1) return "a line of one point";
    put(kWkbLine);
    put(count);
    return positions(header, count) ? nullptr : "a line that is not finite";
  }

  const char* polygon(const WkbHeader& header) {
    const size_t point_bytes = header.dimensions.count() * sizeof(double);
    uint32_t rings;
    if (!wkb_.number(header.swapped, &rings) || !wkb_.has(rings, sizeof(uint32_t))) return kTooShort;
    put(kWkbPolygon);
    put(rings);
    const size_t counts = out_.size();
    out_.append((uint64_t{rings} + (rings & 1)) * sizeof(uint32_t), '\0');
    for (uint32_t i = 0; i < rings; i++) {
      uint32_t count;
      if (!wkb_.number(header.swapped, &count) || !wkb_.has(count, point_bytes)) return kTooShort;
      memcpy(out_.data() + counts + i * sizeof count, &count, sizeof count);
      const size_t at = out_.size();
      if (count < 4) return "a ring of fewer than four points";
      if (!positions(header, count)) return "a ring that is not finite";
      if (memcmp(out_.data() + at, out_.data() + out_.size() - point_bytes, 2 * sizeof(double)) != 0)
        return "a ring that is not closed";
    }
    return nullptr;
  }

  const char* members(const WkbHeader& header, int depth) {
    constexpr uint64_t kLeastBytes = 9;
    uint32_t count;
    if (!wkb_.number(header.swapped, &count) || !wkb_.has(count, kLeastBytes)) return kTooShort;
    if (depth == kMostDepth) return "collections in each other, too many";
    if (depth == 0) top_members_ = count;
    put(header.type);
    put(count);
    for (uint32_t i = 0; i < count; i++) {
      WkbHeader member;
      if (!wkb_.header(&member)) return "a member that is none";
      const bool fits = header.type == kWkbCollection || member.type == header.type - 3;
      if (!fits || member.has_srid || !(member.dimensions == header.dimensions)) return "a member of another kind";
      if (const char* problem = shape(member, depth + 1)) return problem;
    }
    return nullptr;
  }

  WkbReader& wkb_;
  std::string& out_;
  uint64_t vertices_ = 0;
  uint32_t top_members_ = 0;
  double least_[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
  double greatest_[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
};

bool has_box(uint32_t type, uint64_t vertices, uint32_t members) {
  if (vertices == 0) return false;
  switch (type) {
    case kWkbPoint: return false;
    case kWkbLine: return vertices > 2;
    case kWkbMultiPoint: return members != 1;
    case kWkbMultiLine: return members != 1 || vertices > 2;
    default: return true;
  }
}

/* A type modifier: bit 0 m, bit 1 z, bits 2 to 7 the shape, then the SRID. Sets the SRID of a value that has none. */
const char* fit_typmod(int32_t typmod, const WkbHeader& header, uint32_t* srid) {
  if (typmod < 0) return nullptr;
  const auto bits = static_cast<uint32_t>(typmod);
  const uint32_t shape = bits >> 2 & 0x3f, declared = bits >> 8 & 0x1fffff;
  if (declared > 0 && *srid == 0) *srid = declared;
  if (declared > 0 && *srid != declared) return "an SRID that is not the column's";
  if (shape > 0 && shape != header.type) return "a shape that is not the column's";
  if (header.dimensions.z != ((bits & 2) != 0) || header.dimensions.m != ((bits & 1) != 0))
    return "dimensions that are not the column's";
  return nullptr;
}

/* That of the value itself, or the file's. False: PostGIS has none such. */
bool srid_of(const WkbHeader& header, uint32_t file_srid, uint32_t* srid) {
  constexpr uint32_t kMostSrid = 999999;
  *srid = header.has_srid ? header.srid : file_srid;
  return *srid <= kMostSrid;
}

}  // namespace

bool add_srid(std::string_view wkb, uint32_t srid, std::string& out) {
  constexpr size_t kHead = 1 + sizeof(uint32_t);
  if (wkb.size() < kHead) return false;
  const bool swapped = wkb[0] == 0;
  uint32_t type;
  memcpy(&type, wkb.data() + 1, sizeof type);
  if (swapped) type = __builtin_bswap32(type);
  if (srid == 0 || (type & kWkbSrid)) {
    out.assign(wkb);
    return true;
  }
  type |= kWkbSrid;
  if (swapped) {
    type = __builtin_bswap32(type);
    srid = __builtin_bswap32(srid);
  }
  out.assign(wkb.substr(0, 1));
  out.append(reinterpret_cast<const char*>(&type), sizeof type);
  out.append(reinterpret_cast<const char*>(&srid), sizeof srid);
  out.append(wkb.substr(kHead));
  return true;
}

const char* serialize_geometry(std::string_view wkb, const GeometryTarget& target, std::string& out) {
  WkbReader reader(wkb);
  WkbHeader header;
  uint32_t srid;
  out.clear();
  if (!reader.header(&header) || !srid_of(header, target.file_srid, &srid)) return "no well-known binary";
  if (const char* problem = fit_typmod(target.typmod, header, &srid)) return problem;
  // The shape comes first, since it says whether there is a box.
  std::string shape;
  Serializer serializer(reader, shape);
  if (const char* problem = serializer.shape(header, 0)) return problem;
  const bool box = has_box(header.type, serializer.vertices(), serializer.top_members());
  const char head[4] = {static_cast<char>(srid >> 16), static_cast<char>(srid >> 8), static_cast<char>(srid),
                        static_cast<char>(TB_GEOMETRY_FORM_2 | (header.dimensions.z ? TB_GEOMETRY_Z : 0) |
                                          (header.dimensions.m ? TB_GEOMETRY_M : 0) | (box ? TB_GEOMETRY_BOX : 0))};
  out.append(head, sizeof head);
  if (box) serializer.append_box(header.dimensions.count(), out);
  out.append(shape);
  return nullptr;
}

const char* read_point(std::string_view wkb, const GeoDimensions& dimensions, uint32_t srid, uint32_t file_srid,
                       double (&coordinates)[4]) {
  WkbReader reader(wkb);
  WkbHeader header;
  uint32_t own;
  if (!reader.header(&header) || !srid_of(header, file_srid, &own)) return "no well-known binary";
  if (header.type != kWkbPoint || !(header.dimensions == dimensions)) return "a shape that is not the column's";
  if (own != 0 && own != srid) return "an SRID that is not the column's";
  if (!reader.has(dimensions.count(), sizeof(double))) return kTooShort;
  for (uint32_t i = 0; i < dimensions.count(); i++) coordinates[i] = reader.coordinate(header.swapped);
  return nullptr;
}

}  // namespace turbine
