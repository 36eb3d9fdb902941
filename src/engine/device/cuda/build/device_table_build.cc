/*
 * device_table_build.cc - the steps of building a join table on a GPU.
 *
 * Owns what the kernels are told. Called once, by a BUILD's query at its end. Waits for the device
 * three times: for the keys' bounds, for whether any comes twice, and for the table.
 */
#include "engine/device/cuda/build/device_table_build.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "engine/device/cuda/build/table_kernels.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/memory/pinned_staging.h"
#include "engine/device/join_table_layout.h"
#include "turbine/wire.h"

namespace turbine::cuda {
namespace {

static_assert(TB_BUILD_MOST_BOUNDS == TB_MAX_KEY_BOUNDS);

constexpr unsigned kBuildBlocksPerMultiprocessor = 8;
/* The table comes back in units of so many bytes; its size is a multiple. */
constexpr uint64_t kUnit = 16;

/* A step takes some 100 us; one that takes longer is worth a nap. */
constexpr int kLooksBeforeSleep = 100;
constexpr std::chrono::microseconds kSleep{20};

template <class T>
T* pointer(DevicePtr address) {
  return reinterpret_cast<T*>(address);
}

class Build {
 public:
  Build(DeviceRows& parts, const TableBuildResources& r)
      : parts_(parts),
        shape_(parts.shape()),
        r_(r),
        nparts_(parts.parts().size()),
        arguments_size_(columns_at() + shape_.columns.size() * sizeof(TbBuildColumn)),
        host_arguments_(r.context.pinned_memory().allocate(r.driver, arguments_size_, nullptr)),
        arguments_(r.context.device_memory().allocate(r.driver, arguments_size_, &r.account)),
        fetched_(r.driver),
        wait_(r.driver, r.stream) {}

  BuiltTable run() {
    describe_rows();
    const std::vector<KeyBounds> bounds = find_bounds();
    std::optional<KeyPlaces> places;
    if (one_integer_key(shape_)) places = narrow_key_places(bounds[0], parts_.rows());
    if (places && places->span > 0) mark_keys(*places, bounds[0].nulls);
    const JoinTableLayout layout(shape_, parts_.rows(), parts_.text_size(), places);
    make_block(layout);
    place_columns(layout);
    fill_buckets(layout);
    const uint64_t size = end_header(layout);
    HostBuffer block = copy_to_host(size);
    return {std::make_shared<const JoinTable>(std::move(block), shape_, parts_.rows(), bounds), table_, size};
  }

 private:
  /* In pinned and in device memory: TbTableBuild, parts, their columns, columns of the table. */
  uint64_t parts_at() const { return sizeof(TbTableBuild); }
  uint64_t part_columns_at() const { return parts_at() + nparts_ * sizeof(TbBuildPart); }
  uint64_t columns_at() const { return part_columns_at() + nparts_ * shape_.columns.size() * sizeof(TbColumnData); }
  TbTableBuild& build() const { return *reinterpret_cast<TbTableBuild*>(host_arguments_.host()); }
  TbBuildColumn* columns() const { return reinterpret_cast<TbBuildColumn*>(host_arguments_.host() + columns_at()); }

  void describe_rows() {
    memset(host_arguments_.host(), 0, arguments_size_);
    TbTableBuild& b = build();
    auto* part = reinterpret_cast<TbBuildPart*>(host_arguments_.host() + parts_at());
    auto* data = reinterpret_cast<TbColumnData*>(host_arguments_.host() + part_columns_at());
    DevicePtr on_device = arguments_.device() + part_columns_at();
    uint64_t row = 0, text = 0;
    for (const DeviceRows::Part& from : parts_.parts()) {
      *part++ = {pointer<const TbColumnData>(on_device), from.hashes, from.nrows, row, b.ntiles, text};
      data = std::copy(from.columns.begin(), from.columns.end(), data);
      on_device += from.columns.size() * sizeof(TbColumnData);
      row += from.nrows;
      text += from.text_size;
      b.ntiles += (from.nrows + TB_BUILD_TILE - 1) / TB_BUILD_TILE;
    }
    for (size_t i = 0; i < shape_.columns.size(); i++) {
      const KeptColumn& column = shape_.columns[i];
      TbBuildColumn& c = columns()[i];
      c.width = tb_type_width(column.type);
      c.is_text = tb_type_is_text(column.type) != 0;
      c.is_integer = i < shape_.nkeys && is_integer_key(column.type);
      c.nullable = column.nullable;
    }
    b.parts = pointer<const TbBuildPart>(arguments_.device() + parts_at());
    b.columns = pointer<const TbBuildColumn>(arguments_.device() + columns_at());
    b.nparts = nparts_;
    b.ncolumns = static_cast<uint32_t>(shape_.columns.size());
    b.nkeys = static_cast<uint32_t>(shape_.nkeys);
    b.nbounds = static_cast<uint32_t>(std::min<size_t>(shape_.nkeys, TB_MAX_KEY_BOUNDS));
    b.keeps_null_keys = shape_.keeps_null_keys;
    b.stop = r_.stop.address();
    for (TbBuildBounds& bounds : b.bounds)
      bounds = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    send(0, arguments_size_);
  }

  void send(uint64_t from, uint64_t bytes) const {
    r_.driver.check(r_.driver.memcpy_htod_async(arguments_.device() + from, host_arguments_.host() + from,
                                                static_cast<size_t>(bytes), r_.stream));
  }
  void fetch() const {
    r_.driver.check(
        r_.driver.memcpy_dtoh_async(host_arguments_.host(), arguments_.device(), sizeof(TbTableBuild), r_.stream));
    fetched_.record(r_.stream);
    for (int looks = 0; !fetched_.reached(); looks++) {
      check_wanted();
      if (looks < kLooksBeforeSleep)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(kSleep);
    }
  }
  /* Kernels in flight end soon if nobody wants the table. */
  void check_wanted() const {
    try {
      r_.work.check();
    } catch (...) {
      r_.stop.set();
      throw;
    }
  }
  void launch(Function kernel, uint64_t blocks) const {
    DevicePtr arguments = arguments_.device();
    void* parameters[] = {&arguments};
    r_.driver.check(r_.driver.launch_kernel(kernel, static_cast<unsigned>(blocks), 1u, 1u, unsigned{TB_BUILD_THREADS},
                                            1u, 1u, 0u, r_.stream, static_cast<void**>(parameters),
                                            static_cast<void**>(nullptr)));
  }
  void over_rows(Function kernel) const {
    const uint64_t most = uint64_t{r_.context.properties().multiprocessors} * kBuildBlocksPerMultiprocessor;
    if (build().ntiles > 0) launch(kernel, std::min(build().ntiles, most));
  }
  void zero(const Block& block, uint64_t bytes) const {
    r_.driver.check(r_.driver.memset_d8_async(block.device(), 0, static_cast<size_t>(bytes), r_.stream));
  }

  std::vector<KeyBounds> find_bounds() {
    std::vector<KeyBounds> bounds(build().nbounds);
    if (bounds.empty() || parts_.rows() == 0) return bounds;
    over_rows(r_.kernels.bounds);
    fetch();
    for (size_t key = 0; key < bounds.size(); key++)
      if (columns()[key].is_integer)
        bounds[key] = {build().bounds[key].min, build().bounds[key].max, build().null_keys != 0};
    return bounds;
  }

  /* Rows without a key have no place in its order. */
  void mark_keys(KeyPlaces& places, bool null_keys) {
    build().key_min = places.min;
    build().nwords = places.words();
    if (null_keys) {
      places.unique = false;
      return;
    }
    const uint64_t tiles = (places.words() + TB_BUILD_TILE - 1) / TB_BUILD_TILE;
    const uint64_t bytes = places.words() * sizeof(TbRankWord);
    words_ = r_.context.device_memory().allocate(r_.driver, bytes, &r_.account);
    tile_sums_ = r_.context.device_memory().allocate(r_.driver, tiles * sizeof(uint32_t), &r_.account);
    build().words = pointer<TbRankWord>(words_.device());
    build().tile_sums = pointer<uint32_t>(tile_sums_.device());
    zero(words_, bytes);
    send(0, sizeof(TbTableBuild));
    over_rows(r_.kernels.mark);
    // Of no use where a key comes twice, but then it is only a few microseconds.
    launch(r_.kernels.sums, tiles);
    launch(r_.kernels.scan, 1);
    launch(r_.kernels.ranks, tiles);
    fetch();
    places.unique = build().duplicates == 0;
  }

  void make_block(const JoinTableLayout& layout) {
    const bool may_stay = layout.size_with_chains() <= r_.room_for_copy;
    table_ = std::make_shared<const Block>(
        r_.context.device_memory().allocate(r_.driver, layout.size_with_chains(), may_stay ? nullptr : &r_.account));
    zero(*table_, layout.size_with_chains());
    const uint64_t size = sizeof(TbJoinTable) + layout.columns().size() * sizeof(JoinTableLayout::Column);
    host_header_ = r_.context.pinned_memory().allocate(r_.driver, size, nullptr);
    layout.write_header(host_header_.host());
    r_.driver.check(
        r_.driver.memcpy_htod_async(table_->device(), host_header_.host(), static_cast<size_t>(size), r_.stream));
    build().table = pointer<TbJoinTable>(table_->device());
    build().next = pointer<uint32_t>(table_->device() + layout.chains());
    for (size_t i = 0; i < layout.columns().size(); i++) {
      columns()[i].values = layout.columns()[i].values;
      columns()[i].valid = layout.columns()[i].valid;
    }
    send(0, sizeof(TbTableBuild));
    // Of a join without keys nothing but the number of its rows may be wanted.
    if (!shape_.columns.empty()) send(columns_at(), arguments_size_ - columns_at());
  }

  void place_columns(const JoinTableLayout& layout) {
    if (parts_.rows() == 0) return;
    DevicePtr text = table_->device() + layout.header().bytes;
    for (const DeviceRows::Part& part : parts_.parts()) {
      copy_on_device(text, part.text, part.text_size);
      text += part.text_size;
    }
    over_rows(r_.kernels.place);
    if (layout.header().kind == TB_TABLE_DENSE)
      copy_on_device(table_->device() + layout.header().buckets, words_.device(), layout.buckets_size());
  }
  void copy_on_device(DevicePtr to, DevicePtr from, uint64_t bytes) const {
    if (bytes) r_.driver.check(r_.driver.memcpy_dtod_async(to, from, static_cast<size_t>(bytes), r_.stream));
  }

  void fill_buckets(const JoinTableLayout& layout) {
    if (!layout.may_have_chains()) return;
    over_rows(r_.kernels.buckets);
    fetch();
  }

  /* Chains are a part of the table only if there are any. Returns its size. */
  uint64_t end_header(const JoinTableLayout& layout) {
    if (!layout.may_have_chains() || build().chained == 0) return layout.header().total_size;
    auto& header = *reinterpret_cast<TbJoinTable*>(host_header_.host());
    header.next = layout.chains();
    header.total_size = layout.size_with_chains();
    r_.driver.check(r_.driver.memcpy_htod_async(table_->device(), host_header_.host(), sizeof(TbJoinTable), r_.stream));
    return header.total_size;
  }

  HostBuffer copy_to_host(uint64_t size) {
    HostBuffer block(r_.host_memory, size);
    PinnedStaging staging(r_.context, r_.driver, r_.stream, size / kUnit, kUnit, r_.work);
    const StreamWait wait(r_.driver, r_.stream);
    staging.fetch(
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          r_.driver.check(r_.driver.memcpy_dtoh_async(memory, table_->device() + first * kUnit,
                                                      static_cast<size_t>(n * kUnit), r_.stream));
        },
        [&](uint64_t first, uint64_t n, const uint8_t* memory) {
          memcpy(block.data() + first * kUnit, memory, n * kUnit);
        });
    return block;
  }

  DeviceRows& parts_;
  const KeptRowLayout& shape_;
  const TableBuildResources& r_;
  const uint64_t nparts_, arguments_size_;
  Block host_arguments_, host_header_;  // pinned
  Block arguments_, words_, tile_sums_;
  std::shared_ptr<const Block> table_;
  UniqueEvent fetched_;
  StreamWait wait_;  // last
};

}  // namespace

BuiltTable build_table(DeviceRows& parts, const TableBuildResources& resources) {
  return Build(parts, resources).run();
}

}  // namespace turbine::cuda
