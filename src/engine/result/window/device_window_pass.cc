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
  return {column, width, nullable,
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

/* What a device is told of a pass over rows that the host has, or it has itself. */
class PassInput {
 public:
  /* `rows`: null, of rows that the device has. */
  PassInput(const ResultPlan& plan, const TbWindowPass& pass, const ResultRows* rows)
      : plan_(plan), first_column_(static_cast<uint32_t>(plan.sink_columns()) + pass.first_function), rows_(rows) {
    input_.pass = pass;
    for (const TbWindowFunction& function : plan.functions(pass)) add_call(function);
  }

  void add_conditions() {
    for (TbResultCondition condition : plan_.conditions()) {
      condition.column -= first_column_;
      input_.conditions.push_back(condition);
    }
  }

  WindowInput& input() { return input_; }
  const ColumnShape& shape(size_t call) const { return plan_.columns()[first_column_ + call]; }

 private:
  uint32_t add_column(uint32_t column) {
    if (column == TB_NONE) return TB_NONE;
    for (size_t i = 0; i < input_.columns.size(); i++)
      if (input_.columns[i].column == column) return static_cast<uint32_t>(i);
    const ColumnShape& shape = plan_.columns()[column];
    input_.columns.push_back(rows_ ? column_of(*rows_, column)
                                   : WindowColumn{column, tb_type_width(shape.type), shape.nullable, {}});
    return static_cast<uint32_t>(input_.columns.size() - 1);
  }

  void add_call(TbWindowFunction function) {
    const ColumnShape& of_call = shape(input_.calls.size());
    function.arg = add_column(function.arg);
    function.other = add_column(function.other);
    function.filter = add_column(function.filter);
    input_.calls.push_back({function, tb_type_width(of_call.type), of_call.nullable});
  }

  const ResultPlan& plan_;
  const uint32_t first_column_;
  const ResultRows* const rows_;
  WindowInput input_;
};

/* Values of a column as they come, for one place after the other. */
struct DenseColumn {
  HostBuffer values, valid;

  DenseColumn(MemoryBudget& budget, uint64_t count, uint32_t width, bool nullable)
      : values(budget, std::max<uint64_t>(count * width, 1)),
        valid(budget, nullable ? std::max<uint64_t>(count, 1) : 1) {}

  auto taker(uint64_t width) {
    return [this, width](uint64_t first, uint64_t n, const uint8_t* from, const uint8_t* from_valid) {
      memcpy(values.data() + first * width, from, n * width);
      if (from_valid) memcpy(valid.data() + first, from_valid, n);
    };
  }
};

/* One pass over rows that the host has. */
class DevicePass {
 public:
  DevicePass(const ResultPlan& plan, const TbWindowPass& pass, WindowPassWish wish, ResultRows& rows,
             const KeyPacking& packing, ParallelWork& work)
      : pass_(plan, pass, &rows), wish_(wish), rows_(rows), work_(work) {
    pass_.input().keys = packed_keys(rows, nullptr, rows.size(), packing, key_of_bit_);
    if (wish.conditions) pass_.add_conditions();
  }

  void run(DeviceWindow& device, std::optional<SortedRows>& sorted) {
    const std::unique_ptr<DeviceWindowRun> run = device.run(pass_.input(), work_);
    sorted.reset();
    if (wish_.conditions || wish_.order) fetch_order(*run, sorted);
    const std::vector<WindowCall>& calls = pass_.input().calls;
    std::vector<DenseColumn> columns;
    for (size_t c = 0; c < calls.size(); c++) {
      columns.emplace_back(rows_.budget(), rows_.size(), calls[c].width, calls[c].nullable);
      fetch_values(*run, c, sorted, columns.back());
    }
    for (size_t c = 0; c < calls.size(); c++)
      rows_.add_column(pass_.shape(c), std::move(columns[c].values), std::move(columns[c].valid));
  }

 private:
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
  void fetch_values(DeviceWindowRun& run, size_t c, const std::optional<SortedRows>& sorted, DenseColumn& to) {
    const uint64_t width = pass_.input().calls[c].width;
    if (!wish_.conditions) return run.fetch_values(c, run.rows(), to.taker(width), work_);
    run.fetch_values(
        c, run.rows(),
        [&](uint64_t first, uint64_t n, const uint8_t* from, const uint8_t* from_valid) {
          for (uint64_t i = 0; i < n; i++) {
            const uint64_t number = rows_.number((*sorted)[first + i]);
            memcpy(to.values.data() + number * width, from + i * width, width);
            if (from_valid) to.valid.data()[number] = from_valid[i];
          }
        },
        work_);
  }

  PassInput pass_;
  const WindowPassWish wish_;
  ResultRows& rows_;
  ParallelWork& work_;
  std::vector<uint8_t> key_of_bit_;
};

/* A plan of one pass over rows that the device has. */
class DevicePlan {
 public:
  DevicePlan(const ResultPlan& plan, const KeyPacking& packing, std::vector<PackedField> fields, uint64_t nrows,
             bool any_order)
      : plan_(plan), pass_(plan, plan.passes().front(), nullptr) {
    WindowInput& input = pass_.input();
    input.keys = words_and_bits(nrows, packing, key_of_bit_);
    input.fields = std::move(fields);
    input.on_device = true;
    input.by_place = !any_order;
    pass_.add_conditions();
  }

  void run(DeviceWindow& device, uint64_t limit, uint64_t unread, std::unique_ptr<ResultRows>& rows,
           ParallelWork& work) {
    MemoryBudget& budget = rows->budget();
    const std::unique_ptr<DeviceWindowRun> run = device.run(pass_.input(), work);
    const uint64_t count = std::min(limit, run->rows());
    std::vector<HostBuffer> memory;
    ResultBatch batch;
    batch.nrows = count;
    auto keep = [&](DenseColumn& column, const ColumnShape& shape) {
      batch.columns.push_back(
          {column.values.data(), tb_type_width(shape.type), shape.nullable ? column.valid.data() : nullptr, 1});
      memory.push_back(std::move(column.values));
      memory.push_back(std::move(column.valid));
    };
    for (uint32_t c = 0; c < plan_.sink_columns(); c++) {
      const ColumnShape& shape = plan_.columns()[c];
      const uint32_t width = tb_type_width(shape.type);
      if (is_unread_column(unread, c) && !orders_by(c)) {
        batch.columns.push_back({nullptr, 0, nullptr, 0});
        continue;
      }
      DenseColumn column(budget, count, width, shape.nullable);
      run->fetch_column({c, width, shape.nullable, {}}, count, column.taker(width), work);
      keep(column, shape);
    }
    for (size_t c = 0; c < pass_.input().calls.size(); c++) {
      const uint32_t width = pass_.input().calls[c].width;
      DenseColumn column(budget, count, width, pass_.input().calls[c].nullable);
      run->fetch_values(c, count, column.taker(width), work);
      keep(column, pass_.shape(c));
    }
    rows = std::make_unique<ResultRows>(plan_.columns(), budget);
    rows->take(batch, std::move(memory));
  }

 private:
  /* The host sorts what is left. */
  bool orders_by(uint32_t column) const {
    return std::any_of(plan_.order().begin(), plan_.order().end(),
                       [column](const TbSortKey& key) { return key.column == column; });
  }

  const ResultPlan& plan_;
  PassInput pass_;
  std::vector<uint8_t> key_of_bit_;
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
    return tb_window_on_gpu(&pass, function.kind, arg) != 0;
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

bool wants_rows_on_device(const ResultPlan& plan) {
  if (plan.passes().size() != 1 || plan.ndistinct() > 0 || plan.with_ties()) return false;
  const TbWindowPass& pass = plan.passes().front();
  const std::vector<ColumnShape> columns = plan.own_columns();
  return is_device_pass(plan, pass) && pass.nkeys <= kMostDeviceWindowKeys &&
         (plan.conditions().empty() || asks_conditions(plan, pass)) &&
         std::none_of(columns.begin(), columns.end(),
                      [](const ColumnShape& column) { return tb_type_is_text(column.type); });
}

bool compute_plan_on_device(const ResultPlan& plan, uint64_t nrows, bool any_order, uint64_t limit, uint64_t unread,
                            std::unique_ptr<ResultRows>& rows, ParallelWork& work, SortPlace& place) {
  const TbWindowPass& pass = plan.passes().front();
  const std::span<const TbSortKey> keys = plan.keys(pass);
  // What the sort takes at most, before anything is known of the keys.
  if (!place.window->pays(nrows, kMostSortWords, work.threads())) return false;
  try {
    std::vector<WindowKey> of_device;
    for (const TbSortKey& key : keys) of_device.push_back({key.column, plan.columns()[key.column].type});
    std::vector<KeyStatistics> statistics;
    for (const WindowKeyRange& range : place.window->key_ranges(of_device)) {
      KeyStatistics& to = statistics.emplace_back();
      to.nulls = range.nulls;
      to.values = range.values;
      to.least = range.least;
      to.greatest = range.greatest;
    }
    const KeyPacking packing(keys, plan.columns(), std::move(statistics));
    std::optional<std::vector<PackedField>> fields = packing.fields_on_device();
    if (!fits_device(packing) || !fields) return false;
    DevicePlan(plan, packing, std::move(*fields), nrows, any_order).run(*place.window, limit, unread, rows, work);
  } catch (const DeviceError& error) {
    if (!place.note_failure(error)) throw;
    return false;
  }
  place.rows_on_device += nrows;
  place.windows_on_device += pass.nfunctions;
  return true;
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
