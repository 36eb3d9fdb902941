/*
 * device_window.h - window functions that a device computes in the order of its own sort (key_sort.h), for
 * the results of a query that has run there.
 *
 * Rows are known by their numbers, as in the sort. What the functions read goes to the device
 * piece by piece, packed on the host's threads; their values come back likewise, of all rows by
 * their numbers, or, where there are conditions on them, of the rows that pass, in order.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/key_sort.h"
#include "turbine/result.h"

namespace turbine {

/* Functions of one pass; what reads more is the host's. */
inline constexpr size_t kMostDeviceWindowCalls = TB_GPU_WINDOW_FUNCTIONS;
inline constexpr size_t kMostDeviceWindowColumns = 2 * kMostDeviceWindowCalls;
inline constexpr size_t kMostDeviceWindowConditions = TB_GPU_WINDOW_CONDITIONS;

/* A column that functions read. */
struct WindowColumn {
  uint32_t column;  // of the query's rows
  uint32_t width;   // bytes of a value: 1, 2, 4, 8 or 16
  bool nullable;
  /* Of rows that the host has: sets the values of rows first + i, i < n; and whether each is one, if the column is
   * nullable. Any thread, pieces in any order. */
  std::function<void(uint64_t first, uint64_t n, uint8_t* values, uint8_t* valid)> pack;
};

/* What the values of a key have in common, as unsigned integers of the same order (result/order/ordered_value.h). */
struct WindowKeyRange {
  bool nulls = false, values = false;  // there are some
  unsigned __int128 least = ~static_cast<unsigned __int128>(0), greatest = 0;
};

/* A piece of a packed key, for a device that packs the keys of rows that it has. */
struct PackedField {
  enum class Part : uint32_t { kNotNull = 1, kHigh, kLow };
  uint32_t column, type;  // of the query's rows; TbType, not of texts
  Part part;
  bool descending, nulls_first, nullable;
  uint32_t bits, offset;  // of its most significant bit
  unsigned __int128 least, greatest;
};
inline constexpr size_t kMostPackedFields = 32;

struct WindowKey {
  uint32_t column, type;  // of the query's rows; TbType, not of texts
};
inline constexpr size_t kMostDeviceWindowKeys = TB_GPU_WINDOW_KEYS;

struct WindowCall {
  TbWindowFunction function;  // `arg`, `other` and `filter` are WindowInput's columns
  uint32_t width;             // of its values
  bool nullable;
};

struct WindowInput {
  KeySortInput keys;  // with key_of_bit
  /* Of rows that the device has; `pack` is nobody's then. */
  std::vector<PackedField> fields;
  bool on_device = false;
  bool by_place = false;  // of such rows: they are wanted in the pass's order, as they always are with conditions
  TbWindowPass pass;
  std::vector<WindowColumn> columns;
  std::vector<WindowCall> calls;
  /* `column`: a call of type INT8 or INT4. Only rows that pass all of them stay. */
  std::vector<TbResultCondition> conditions;
};

/* What a device has computed, which lies there. Calls as KeySort::sort's; the WindowInput must still live. */
class DeviceWindowRun {
 public:
  virtual ~DeviceWindowRun() = default;

  /* Rows that stay: all, unless there are conditions. */
  virtual uint64_t rows() const = 0;

  /* The rows that stay, in their order; of conditions without `agree`. */
  virtual void fetch_order(const TakeSortedRows& take, ParallelWork& work) = 0;

  /* Values of a call, with whether each is one if it is nullable: of all rows by number, or of those that stay
   * by place. Any thread, pieces in any order. */
  using TakeValues = std::function<void(uint64_t first, uint64_t n, const uint8_t* values, const uint8_t* valid)>;
  virtual void fetch_values(size_t call, uint64_t count, const TakeValues& take, ParallelWork& work) = 0;

  /* Likewise a column of rows that the device has. Both: of the first `count` of them. */
  virtual void fetch_column(const WindowColumn& column, uint64_t count, const TakeValues& take, ParallelWork& work) = 0;
};

class DeviceWindow {
 public:
  virtual ~DeviceWindow() = default;

  /* Is it faster than `threads` threads of the host are? */
  virtual bool pays(uint64_t count, unsigned words, unsigned threads) const = 0;

  /* Has the device all rows of the query, as DeviceQuery::keep_rows_on_device() has asked for? */
  virtual bool has_rows() const { return false; }
  /* Of such rows, at most kMostDeviceWindowKeys. Throws DeviceError. */
  virtual std::vector<WindowKeyRange> key_ranges(std::span<const WindowKey> keys) = 0;

  /* At most kMostDeviceWindowCalls, -Columns and -Conditions; at least one row. One at a time, by the query's thread.
   * Throws DeviceError, as KeySort::sort does, and for a value that PostgreSQL would refuse. `input` must outlive what
   * is returned. */
  virtual std::unique_ptr<DeviceWindowRun> run(const WindowInput& input, ParallelWork& work) = 0;
};

}  // namespace turbine
