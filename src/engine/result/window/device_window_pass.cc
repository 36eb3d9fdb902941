/*
 * device_window_pass.cc - see device_window_pass.h.
 *
 * Called by result_run.cc. It must never lose an error that would meet the host's functions as well.
 */
#include "engine/result/window/device_window_pass.h"

#include <algorithm>

#include "engine/device/device_window.h"
#include "engine/result/order/key_statistics.h"

namespace turbine {
namespace {

template <size_t kWidth>
void copy_values(const ResultColumn& column, const RowRef* refs, size_t n, uint8_t* to) {
  for (size_t i = 0; i < n; i++) memcpy(to + i * kWidth, column.at(ref_row(refs[i])), kWidth);
}

/* Rows of a block follow one another. */
void pack_values(const ResultColumn& column, uint32_t width, const RowRef* refs, size_t n, uint8_t* to) {
  if (column.stride == width) {
    memcpy(to, column.at(ref_row(refs[0])), n * width);
    return;
  }
  switch (width) {
    case 1: return copy_values<1>(column, refs, n, to);
    case 2: return copy_values<2>(column, refs, n, to);
    case 4: return copy_values<4>(column, refs, n, to);
    case 8: return copy_values<8>(column, refs, n, to);
    default: return copy_values<16>(column, refs, n, to);
  }
}

WindowColumn column_of(const ResultRows& rows, uint32_t column) {
  const ColumnShape& shape = rows.columns()[column];
  const uint32_t width = tb_type_width(shape.type);
  const bool nullable = shape.nullable;
  return {width, nullable,
          [&rows, column, width, nullable](uint64_t first, uint64_t n, uint8_t* values, uint8_t* valid) {
            for_row_blocks(rows, nullptr, first, n,
                           [&](const ResultBatch& batch, const RowRef* refs, size_t m, uint64_t place) {
                             const ResultColumn& from = batch.columns[column];
                             pack_values(from, width, refs, m, values + (place - first) * width);
                             if (!nullable) return;
                             for (size_t i = 0; i < m; i++) valid[place - first + i] = !from.is_null(ref_row(refs[i]));
                           });
          }};
}

/* One pass. */
class DevicePass {
 public:
  DevicePass(const ResultPlan& plan, const TbWindowPass& pass, WindowPassWish wish, ResultRows& rows,
             const KeyPacking& packing, ParallelWork& work)
      : plan_(plan), pass_(pass), wish_(wish), rows_(rows), packing_(packing), work_(work) {
    input_.keys = packed_keys(rows, nullptr, rows.size(), packing, key_of_bit_);
    input_.pass = pass;
    for (const TbWindowFunction& function : plan.functions(pass)) add_call(function);
    if (!wish.conditions) return;
    for (TbResultCondition condition : plan.conditions()) {
      condition.column -= first_column();
      input_.conditions.push_back(condition);
    }
  }

  void run(DeviceWindow& device, std::optional<SortedRows>& sorted) {
    const std::unique_ptr<DeviceWindowRun> run = device.run(input_, work_);
    sorted.reset();
    if (wish_.conditions || wish_.order) fetch_order(*run, sorted);
    std::vector<HostBuffer> values, valid;
    for (size_t c = 0; c < input_.calls.size(); c++) {
      const WindowCall& call = input_.calls[c];
      values.emplace_back(rows_.budget(), rows_.size() * call.width);
      valid.emplace_back(rows_.budget(), call.nullable ? rows_.size() : 1);
      fetch_values(*run, c, sorted, values.back(), valid.back());
    }
    for (size_t c = 0; c < input_.calls.size(); c++)
      rows_.add_column(plan_.columns()[first_column() + c], std::move(values[c]), std::move(valid[c]));
  }

 private:
  uint32_t first_column() const { return static_cast<uint32_t>(plan_.sink_columns()) + pass_.first_function; }

  uint32_t add_column(uint32_t column) {
    if (column == TB_NONE) return TB_NONE;
    const auto known = std::find(columns_.begin(), columns_.end(), column);
    if (known != columns_.end()) return static_cast<uint32_t>(known - columns_.begin());
    columns_.push_back(column);
    input_.columns.push_back(column_of(rows_, column));
    return static_cast<uint32_t>(columns_.size() - 1);
  }

  void add_call(TbWindowFunction function) {
    const ColumnShape& shape = plan_.columns()[first_column() + input_.calls.size()];
    function.arg = add_column(function.arg);
    function.other = add_column(function.other);
    function.filter = add_column(function.filter);
    input_.calls.push_back({function, tb_type_width(shape.type), shape.nullable});
  }

  void fetch_order(DeviceWindowRun& run, std::optional<SortedRows>& sorted) {
    const uint64_t count = run.rows();
    HostBuffer refs(rows_.budget(), std::max<uint64_t>(count, 1) * sizeof(RowRef));
    SortedRows order(RowList(std::move(refs), count));
    HostBuffer agree(rows_.budget(), wish_.conditions ? 1 : count);
    run.fetch_order(
        [&](uint64_t first, uint64_t n, const uint32_t* numbers, const uint8_t* agreeing) {
          refs_of_numbers(rows_, numbers, n, order.rows().data() + first);
          if (agreeing) std::copy_n(agreeing, n, agree.data() + first);
        },
        work_);
    if (!wish_.conditions) order.set_agree(std::move(agree));
    sorted.emplace(std::move(order));
  }

  /* With conditions values come by place, and else by number, as they are kept. */
  void fetch_values(DeviceWindowRun& run, size_t c, const std::optional<SortedRows>& sorted, HostBuffer& values,
                    HostBuffer& valid) const {
    const uint64_t width = input_.calls[c].width;
    run.fetch_values(
        c,
        [&](uint64_t first, uint64_t n, const uint8_t* from, const uint8_t* from_valid) {
          if (!wish_.conditions) {
            memcpy(values.data() + first * width, from, n * width);
            if (from_valid) memcpy(valid.data() + first, from_valid, n);
            return;
          }
          for (uint64_t i = 0; i < n; i++) {
            const uint64_t number = rows_.number((*sorted)[first + i]);
            memcpy(values.data() + number * width, from + i * width, width);
            if (from_valid) valid.data()[number] = from_valid[i];
          }
        },
        work_);
  }

  const ResultPlan& plan_;
  const TbWindowPass& pass_;
  const WindowPassWish wish_;
  ResultRows& rows_;
  const KeyPacking& packing_;
  ParallelWork& work_;
  WindowInput input_;
  std::vector<uint8_t> key_of_bit_;
  std::vector<uint32_t> columns_;  // the rows' columns that input_.columns are
};

/* Columns that functions read, each as often as it is read. */
size_t columns_read(std::span<const TbWindowFunction> functions) {
  size_t columns = 0;
  for (const TbWindowFunction& function : functions)
    for (const uint32_t column : {function.arg, function.other, function.filter}) columns += column != TB_NONE;
  return columns;
}

bool is_device_pass(const ResultPlan& plan, const TbWindowPass& pass) {
  const std::span<const TbWindowFunction> functions = plan.functions(pass);
  if (functions.size() > kMostDeviceWindowCalls || columns_read(functions) > kMostDeviceWindowColumns) return false;
  return std::all_of(functions.begin(), functions.end(), [&](const TbWindowFunction& function) {
    const uint32_t arg = function.arg == TB_NONE ? uint32_t{TB_TYPE_INVALID} : plan.columns()[function.arg].type;
    return is_device_window(pass, function, arg);
  });
}

}  // namespace

bool asks_conditions(const ResultPlan& plan, const TbWindowPass& pass) {
  const uint32_t first = static_cast<uint32_t>(plan.sink_columns()) + pass.first_function;
  return !plan.conditions().empty() && plan.conditions().size() <= kMostDeviceWindowConditions &&
         std::all_of(plan.conditions().begin(), plan.conditions().end(), [&](const TbResultCondition& condition) {
           return condition.column >= first && condition.column - first < pass.nfunctions;
         });
}

bool compute_window_pass_on_device(const ResultPlan& plan, const TbWindowPass& pass, WindowPassWish wish,
                                   ResultRows& rows, std::optional<SortedRows>& sorted, ParallelWork& work,
                                   SortPlace& place) {
  if (!place.window || rows.size() == 0 || !is_device_pass(plan, pass)) return false;
  const std::span<const TbSortKey> keys = plan.keys(pass);
  const KeyPacking packing(keys, rows.columns(), key_statistics(rows, nullptr, rows.size(), keys, work));
  if (!fits_device(packing) || !place.window->pays(rows.size(), packed_device_words(packing), work.threads()))
    return false;
  try {
    DevicePass(plan, pass, wish, rows, packing, work).run(*place.window, sorted);
  } catch (const DeviceError& error) {
    if (!place.note_failure(error)) throw;
    return false;
  }
  place.rows_on_device += rows.size();
  place.windows_on_device += pass.nfunctions;
  return true;
}

}  // namespace turbine
