/*
 * group_table.cc - a query's group table in device memory, and its growth.
 *
 * Called by the query's worker. It must never grow while a kernel runs on the table.
 */
#include "engine/device/cuda/groups/group_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/groups/growth_kernels.h"
#include "turbine/state_text.h"

namespace turbine::cuda {

namespace {

constexpr uint64_t kSmallestCapacity = 4096;
constexpr uint64_t kLargestCapacity = uint64_t{1} << 31;  // group numbers are 32 bits, one is TB_NONE
constexpr uint64_t kArenaBytesPerText = 32;
constexpr uint64_t kSmallestArena = uint64_t{1} << 20;
/* A chunk's rows are looked up once more after each growth: a small table grows at once by much. */
constexpr uint64_t kLargestGrowth = 16;
constexpr uint64_t kShareOfSmallTables = 8;  // of what memory there is
constexpr uint64_t kPreferredGrowth = 4;
constexpr uint64_t kSmallestGrowth = 2;
constexpr uint64_t kGrowthBlocks = 8;  // of a multiprocessor

uint64_t text_fields(const GroupLayout& layout) {
  auto is_text = [](const GroupField& field) { return tb_type_is_text(field.type) != 0; };
  return static_cast<uint64_t>(std::count_if(layout.keys.begin(), layout.keys.end(), is_text) +
                               std::count_if(layout.states.begin(), layout.states.end(), is_text));
}

std::vector<GroupField> text_states(const Program& program) {
  std::vector<GroupField> found;
  for (const GroupField& field : group_layout(program).states)
    if (tb_type_is_text(field.type)) found.push_back(field);
  return found;
}

/* A state's word, as kernels have it, becomes a TbGroupText. */
void unpack_text(uint8_t* state) {
  uint64_t word;
  std::memcpy(&word, state, sizeof word);
  TbGroupText text{};
  if (word != TB_STATE_TEXT_NONE) {
    text.offset = tb_state_text_offset(word);
    text.length = text.capacity = tb_state_text_length(word);
  }
  std::memcpy(state, &text, sizeof text);
}

uint64_t rounded_or_zero(uint64_t bytes) { return bytes ? MemoryPool::rounded(bytes) : 0; }

TbGroupTable& header_of(const Block& pinned) { return *reinterpret_cast<TbGroupTable*>(pinned.host()); }

/* The buckets of a table whose row i is group i. */
std::vector<uint32_t> build_buckets(const std::vector<uint8_t>& rows, const GroupTableShape& shape) {
  std::vector<uint32_t> buckets(shape.bucket_count);
  const uint64_t mask = shape.bucket_count - 1;
  const uint64_t ngroups = rows.size() / shape.row_size;
  for (uint64_t group = 0; group < ngroups; group++) {
    uint64_t hash;
    std::memcpy(&hash, rows.data() + group * shape.row_size, sizeof(hash));
    uint64_t bucket = hash & mask;
    while (buckets[bucket] != 0) bucket = (bucket + 1) & mask;
    buckets[bucket] = static_cast<uint32_t>(group + 1);
  }
  return buckets;
}

/* Moves the rows that a bucket refers to to the front, in group order; returns
 * their number. A row without a bucket was numbered by a reserve that then found
 * no room for its text: nothing refers to it. */
uint64_t keep_referenced(const std::vector<uint32_t>& buckets, std::vector<uint8_t>& rows, uint32_t row_size) {
  const uint64_t nrows = rows.size() / row_size;
  std::vector<bool> referenced(nrows);
  for (uint32_t bucket : buckets)
    if (bucket != 0 && bucket != TB_BUCKET_BUSY && bucket - 1 < nrows) referenced[bucket - 1] = true;
  uint64_t kept = 0;
  for (uint64_t row = 0; row < nrows; row++) {
    if (!referenced[row]) continue;
    if (kept != row) std::memcpy(rows.data() + kept * row_size, rows.data() + row * row_size, row_size);
    kept++;
  }
  return kept;
}

/* Does the order of additions change the result? */
bool is_ordered(const Program& program) {
  return !program.grouped() && text_fields(group_layout(program)) == 0 &&
         std::any_of(program.aggs().begin(), program.aggs().end(),
                     [](const TbAgg& agg) { return agg.kind == TB_AGG_SUM_FLOAT; });
}

}  // namespace

/* The row of an ungrouped aggregate before any value. Kernels combine into it by
 * atomics that do not look at the valid byte, so minima and maxima start as the
 * value that every other replaces: of floats, the bits at the end of
 * PostgreSQL's order (sign, then magnitude). */
std::vector<uint8_t> identity_row(const Program& program) {
  const GroupLayout layout = group_layout(program);
  std::vector<uint8_t> row(layout.row_size);
  for (size_t i = 0; i < layout.states.size(); i++) {
    const TbAgg& agg = program.aggs()[i];
    uint8_t* value = row.data() + layout.states[i].value_offset;
    const double negative_zero = -0.0;  // 0.0 + -0.0 would lose the sign
    if (agg.kind == TB_AGG_SUM_FLOAT) std::memcpy(value, &negative_zero, sizeof(negative_zero));
    if (is_text_state(agg)) {
      const uint64_t none = TB_STATE_TEXT_NONE;
      std::memcpy(value, &none, sizeof none);
    }
    if ((agg.kind != TB_AGG_MIN && agg.kind != TB_AGG_MAX) || tb_type_is_text(agg.type)) continue;
    const bool is_float = agg.type == TB_TYPE_FLOAT4 || agg.type == TB_TYPE_FLOAT8;
    const uint32_t width = tb_type_width(agg.type);
    const bool least = agg.kind == TB_AGG_MIN;
    std::memset(value, least || is_float ? 0xff : 0, width);
    value[width - 1] = least ? 0x7f : is_float ? 0xff : 0x80;
  }
  return row;
}

uint64_t GroupTableShape::device_bytes() const {
  return rounded_or_zero(sizeof(TbGroupTable)) + rounded_or_zero(buckets_bytes()) + rounded_or_zero(rows_bytes()) +
         rounded_or_zero(arena_capacity);
}

GroupTableShape initial_group_table(const Program& program, double estimated_groups, uint64_t limit) {
  const GroupLayout layout = group_layout(program);
  const uint64_t texts = text_fields(layout);
  GroupTableShape shape;
  shape.row_size = layout.row_size;
  if (!program.grouped()) {
    shape.group_capacity = 1;
    shape.arena_capacity = texts ? kSmallestArena : 0;
    return shape;
  }
  uint64_t wanted = kSmallestCapacity;
  if (estimated_groups > static_cast<double>(kSmallestCapacity))
    wanted = std::bit_ceil(static_cast<uint64_t>(std::min(estimated_groups * 1.25, 1e9)));
  for (;; wanted /= 2) {
    shape.group_capacity = wanted;
    shape.bucket_count = 2 * wanted;
    shape.arena_capacity = texts ? std::max(kSmallestArena, wanted * texts * kArenaBytesPerText) : 0;
    if (wanted <= kSmallestCapacity || shape.device_bytes() <= limit) return shape;
  }
}

GroupTable::GroupTable(CudaContext& context, GroupCode& code, const Driver& driver, const Program& program,
                       MemoryAccount& account, double estimated_groups, Stream stream)
    : context_(context),
      code_(code),
      driver_(driver),
      account_(account),
      grouped_(program.grouped()),
      has_text_(text_fields(group_layout(program)) > 0),
      text_states_(text_states(program)) {
  header_ = context_.device_memory().allocate(driver_, sizeof(TbGroupTable), &account_);
  header_copy_ = context_.pinned_memory().allocate(driver_, sizeof(TbGroupTable), nullptr);
  try {
    const std::vector<uint8_t> first = grouped_ ? std::vector<uint8_t>() : identity_row(program);
    replace(initial_group_table(program, estimated_groups, account_.available() / 2), first, stream);
    if (is_ordered(program)) {
      identity_ = context_.device_memory().allocate(driver_, first.size(), nullptr);
      const StreamWait wait(driver_, stream);
      driver_.check(driver_.memcpy_dtod_async(identity_.device(), rows_.device(), first.size(), stream));
    }
  } catch (...) {
    driver_.note(driver_.stream_synchronize(stream));  // the blocks go back to the pool now
    throw;
  }
}

void GroupTable::synchronize(Stream stream) const { driver_.check(driver_.stream_synchronize(stream)); }

void GroupTable::allocate(const GroupTableShape& shape) {
  MemoryPool& pool = context_.device_memory();
  buckets_ = shape.bucket_count ? pool.allocate(driver_, shape.buckets_bytes(), &account_) : Block();
  rows_ = pool.allocate(driver_, shape.rows_bytes(), &account_);
  shape_ = shape;
}

void GroupTable::read_header(Stream stream) {
  driver_.check(driver_.memcpy_dtoh_async(header_copy_.host(), header_.device(), sizeof(TbGroupTable), stream));
  synchronize(stream);
}

/* Writes header_copy_ with the current addresses; its counters are the caller's. */
void GroupTable::write_header(Stream stream) {
  TbGroupTable& header = header_of(header_copy_);
  header.buckets = reinterpret_cast<uint32_t*>(buckets_.device());
  header.bucket_mask = shape_.bucket_count ? shape_.bucket_count - 1 : 0;
  header.rows = reinterpret_cast<uint8_t*>(rows_.device());
  header.group_capacity = shape_.group_capacity;
  header.arena = reinterpret_cast<uint8_t*>(arena_.device());
  header.arena_capacity = shape_.arena_capacity;
  header.row_size = shape_.row_size;
  header.full = 0;
  header.reserved = 0;
  driver_.check(driver_.memcpy_htod_async(header_.device(), header_copy_.host(), sizeof(TbGroupTable), stream));
}

std::vector<uint8_t> GroupTable::read_live_rows(Stream stream) {
  // A full table's counter runs past its capacity.
  const uint64_t ngroups = std::min(header_of(header_copy_).ngroups, shape_.group_capacity);
  std::vector<uint8_t> rows(ngroups * shape_.row_size);
  std::vector<uint32_t> buckets(shape_.bucket_count);
  {
    const StreamWait wait(driver_, stream);
    if (!rows.empty()) driver_.check(driver_.memcpy_dtoh_async(rows.data(), rows_.device(), rows.size(), stream));
    driver_.check(driver_.memcpy_dtoh_async(buckets.data(), buckets_.device(), shape_.buckets_bytes(), stream));
    synchronize(stream);
  }
  rows.resize(keep_referenced(buckets, rows, shape_.row_size) * shape_.row_size);
  return rows;
}

/* Fills fresh buckets_ and rows_, and clears what is behind the rows. */
void GroupTable::write_rows(const std::vector<uint8_t>& rows, Stream stream) {
  if (shape_.bucket_count && rows.empty()) {
    driver_.check(driver_.memset_d8_async(buckets_.device(), 0, shape_.buckets_bytes(), stream));
  } else if (shape_.bucket_count) {
    const std::vector<uint32_t> buckets = build_buckets(rows, shape_);
    const StreamWait wait(driver_, stream);  // buckets and rows are not the stream's to keep
    driver_.check(driver_.memcpy_htod_async(buckets_.device(), buckets.data(), shape_.buckets_bytes(), stream));
    driver_.check(driver_.memcpy_htod_async(rows_.device(), rows.data(), rows.size(), stream));
  } else if (!rows.empty()) {
    const StreamWait wait(driver_, stream);
    driver_.check(driver_.memcpy_htod_async(rows_.device(), rows.data(), rows.size(), stream));
  }
  if (rows.size() == shape_.rows_bytes()) return;
  driver_.check(driver_.memset_d8_async(rows_.device() + rows.size(), 0, shape_.rows_bytes() - rows.size(), stream));
}

/* Makes the table have `shape` and hold exactly `rows`. The arena keeps its
 * bytes. An old table's memory goes first, so that the peak is the new one. */
void GroupTable::replace(const GroupTableShape& shape, const std::vector<uint8_t>& rows, Stream stream) {
  buckets_.reset();
  rows_.reset();
  grow_arena(shape, stream);
  allocate(shape);
  write_rows(rows, stream);
  header_of(header_copy_).ngroups = grouped_ ? rows.size() / shape_.row_size : 1;
  write_header(stream);
}

/* The header's copy says how much of it is used, afterwards no more than there was room for. */
void GroupTable::grow_arena(const GroupTableShape& shape, Stream stream) {
  const uint64_t used = arena_ ? std::min(header_of(header_copy_).arena_used, shape_.arena_capacity) : 0;
  header_of(header_copy_).arena_used = used;
  if (shape.arena_capacity <= (arena_ ? shape_.arena_capacity : 0)) return;
  Block arena = context_.device_memory().allocate(driver_, shape.arena_capacity, &account_);
  const StreamWait wait(driver_, stream);  // whichever of the two goes
  if (used) driver_.check(driver_.memcpy_dtod_async(arena.device(), arena_.device(), used, stream));
  synchronize(stream);
  arena_ = std::move(arena);
  shape_.arena_capacity = shape.arena_capacity;
}

/* Grows what was found full; both, if the counters do not tell. */
GroupTableShape GroupTable::grown_shape(uint64_t factor) const {
  const TbGroupTable& header = header_of(header_copy_);
  const bool rows_full = header.ngroups >= shape_.group_capacity || !has_text_;
  const bool arena_full = has_text_ && (!rows_full || header.arena_used > shape_.arena_capacity / 4 * 3);
  GroupTableShape shape = shape_;
  if (rows_full) {
    shape.group_capacity *= factor;
    shape.bucket_count *= factor;
  }
  if (arena_full) shape.arena_capacity *= factor;
  return shape;
}

void GroupTable::grow(Stream stream) {
  read_header(stream);
  if (!grouped_)
    grow_ungrouped(stream);
  else if (!grow_on_device(stream))
    grow_through_host(stream);
}

/* The row stays where it is. */
void GroupTable::grow_ungrouped(Stream stream) {
  GroupTableShape shape = shape_;
  shape.arena_capacity *= kLargestGrowth;
  if (shape.arena_capacity > account_.available() / kShareOfSmallTables)
    shape.arena_capacity = shape_.arena_capacity * kSmallestGrowth;
  grow_arena(shape, stream);
  write_header(stream);
}

/* False, with the table as it was but for its arena: there is no room for both, or the kernel is not there yet. */
bool GroupTable::grow_on_device(Stream stream) {
  const GroupTableShape old = shape_;
  GroupTableShape shape = grown_shape(kLargestGrowth);
  if (shape.device_bytes() > account_.available() / kShareOfSmallTables) shape = grown_shape(kPreferredGrowth);
  if (!code_.ready() || shape.group_capacity > kLargestCapacity || shape.device_bytes() > account_.available())
    return false;
  const uint64_t ngroups = header_of(header_copy_).ngroups;
  Block buckets, rows;
  try {
    grow_arena(shape, stream);
    buckets = std::move(buckets_);
    rows = std::move(rows_);
    allocate(shape);
    const StreamWait wait(driver_, stream);  // the old ones go
    driver_.check(driver_.memset_d8_async(buckets_.device(), 0, shape_.buckets_bytes(), stream));
    driver_.check(driver_.memset_d8_async(rows_.device(), 0, shape_.rows_bytes(), stream));
    header_of(header_copy_).ngroups = move_groups(old, buckets, rows, stream);
    write_header(stream);
    return true;
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
  }
  header_of(header_copy_).ngroups = ngroups;
  if (buckets || rows) {
    buckets_ = std::move(buckets);
    rows_ = std::move(rows);
    shape_.group_capacity = old.group_capacity;
    shape_.bucket_count = old.bucket_count;
  }
  return false;
}

/* From a table of that shape to the present one, which is empty. Returns how many there are. */
uint32_t GroupTable::move_groups(const GroupTableShape& old, const Block& buckets, const Block& rows, Stream stream) {
  const Block device = context_.device_memory().allocate(driver_, sizeof(TbGroupGrowth), &account_);
  const Block pinned = context_.pinned_memory().allocate(driver_, sizeof(TbGroupGrowth), nullptr);
  const StreamWait wait(driver_, stream);
  auto& growth = *reinterpret_cast<TbGroupGrowth*>(pinned.host());
  growth = {};
  growth.old_buckets = reinterpret_cast<const uint32_t*>(buckets.device());
  growth.old_rows = reinterpret_cast<const uint8_t*>(rows.device());
  growth.old_bucket_count = old.bucket_count;
  growth.old_capacity = old.group_capacity;
  growth.buckets = reinterpret_cast<uint32_t*>(buckets_.device());
  growth.rows = reinterpret_cast<uint8_t*>(rows_.device());
  growth.bucket_mask = shape_.bucket_count - 1;
  growth.row_size = shape_.row_size;
  driver_.check(driver_.memcpy_htod_async(device.device(), pinned.host(), sizeof growth, stream));
  DevicePtr argument = device.device();
  void* parameters[] = {&argument};
  const uint64_t most = uint64_t{context_.properties().multiprocessors} * kGrowthBlocks;
  const auto grid = static_cast<unsigned>(
      std::min((old.bucket_count + TB_GROWTH_THREADS - 1) / TB_GROWTH_THREADS, most));
  driver_.check(driver_.launch_kernel(code_.kernels(driver_).grow, grid, 1u, 1u, TB_GROWTH_THREADS, 1u, 1u, 0u, stream,
                                      parameters, static_cast<void**>(nullptr)));
  driver_.check(driver_.memcpy_dtoh_async(pinned.host(), device.device(), sizeof growth, stream));
  synchronize(stream);
  if (growth.ngroups > old.group_capacity)
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports more groups than there were");
  return growth.ngroups;
}

void GroupTable::grow_through_host(Stream stream) {
  const std::vector<uint8_t> rows = read_live_rows(stream);
  // The old buckets and rows are free for the new ones, the old arena is not.
  const uint64_t room = account_.available() + buckets_.size() + rows_.size();
  for (uint64_t factor = kPreferredGrowth; factor >= kSmallestGrowth; factor /= 2) {
    const GroupTableShape shape = grown_shape(factor);
    const uint64_t arena = shape.arena_capacity > shape_.arena_capacity ? shape.arena_capacity : 0;
    const uint64_t need = MemoryPool::rounded(shape.buckets_bytes()) + MemoryPool::rounded(shape.rows_bytes()) +
                          rounded_or_zero(arena);
    const bool last = factor == kSmallestGrowth;
    if (shape.group_capacity > kLargestCapacity || (need > room && !last)) continue;
    try {
      replace(shape, rows, stream);
      return;
    } catch (const DeviceError& error) {
      // Nothing is lost: the rows are here, the arena is untouched or already larger.
      if (error.reason != TB_FALLBACK_DEVICE_MEMORY || last) throw;
    }
  }
  throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, "too many groups for one table");
}

void GroupTable::take_states(void* to, Stream stream) {
  driver_.check(driver_.memcpy_dtoh_async(to, rows_.device(), shape_.row_size, stream));
  driver_.check(driver_.memcpy_dtod_async(rows_.device(), identity_.device(), shape_.row_size, stream));
}

uint64_t GroupTable::finish(Stream stream) {
  if (!grouped_) {
    read_header(stream);
    return 1;
  }
  read_header(stream);
  return std::min(header_of(header_copy_).ngroups, shape_.group_capacity);
}

GroupTable::Fetched GroupTable::fetch(uint64_t first, uint64_t count, Stream stream) {
  if (first > shape_.group_capacity || count > shape_.group_capacity - first)
    throw DeviceError(TB_FALLBACK_PROTOCOL, "groups out of range");
  const uint64_t bytes = count * shape_.row_size;
  if (fetched_rows_.size() < bytes) {
    fetched_rows_.reset();
    fetched_rows_ = context_.pinned_memory().allocate(driver_, bytes, nullptr);
  }
  if (bytes)
    driver_.check(
        driver_.memcpy_dtoh_async(fetched_rows_.host(), rows_.device() + first * shape_.row_size, bytes, stream));
  const uint64_t arena_used = std::min(header_of(header_copy_).arena_used, shape_.arena_capacity);
  if (arena_used && !arena_fetched_) {
    fetched_arena_ = context_.pinned_memory().allocate(driver_, arena_used, nullptr);
    driver_.check(driver_.memcpy_dtoh_async(fetched_arena_.host(), arena_.device(), arena_used, stream));
  }
  synchronize(stream);
  for (uint64_t i = 0; i < count; i++)
    for (const GroupField& field : text_states_)
      unpack_text(fetched_rows_.host() + i * shape_.row_size + field.value_offset);
  bytes_fetched_ += bytes + (arena_fetched_ ? 0 : arena_used);
  arena_fetched_ = true;
  return {fetched_rows_.host(), fetched_arena_.host()};
}

}  // namespace turbine::cuda
