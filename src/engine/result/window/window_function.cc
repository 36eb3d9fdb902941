/*
 * window_function.cc - what a window function takes and makes.
 *
 * Called by the check of result plans, and by whoever runs their functions. Owns nothing.
 */
#include "engine/result/window/window_function.h"

#include <string>

namespace turbine {
namespace {

[[noreturn]] void fail_function(const std::string& what) { throw ProgramError("window function: " + what); }

class FunctionCheck {
 public:
  FunctionCheck(const TbWindowFunction& function, const TbWindowPass& pass, const std::vector<ColumnShape>& columns)
      : f_(function), pass_(pass), columns_(columns) {}

  ColumnShape run() const {
    if (f_.reserved != 0) fail_function("reserved field");
    for (uint32_t column : {f_.arg, f_.other, f_.filter})
      if (column != TB_NONE && column >= columns_.size()) fail_function("no such column");
    const bool aggregate = f_.kind >= TB_WINDOW_COUNT && f_.kind <= TB_WINDOW_MAX;
    if (f_.filter != TB_NONE && (!aggregate || columns_[f_.filter].type != TB_TYPE_BOOL)) fail_function("filter");
    const bool shifted = f_.kind == TB_WINDOW_LAG || f_.kind == TB_WINDOW_LEAD;
    if (f_.other != TB_NONE && !shifted) fail_function("second argument");
    return result();
  }

 private:
  ColumnShape result() const {
    switch (f_.kind) {
      case TB_WINDOW_ROW_NUMBER:
      case TB_WINDOW_RANK:
      case TB_WINDOW_DENSE_RANK: return without_argument(TB_TYPE_INT8);
      case TB_WINDOW_PERCENT_RANK:
      case TB_WINDOW_CUME_DIST: return without_argument(TB_TYPE_FLOAT8);
      case TB_WINDOW_NTILE:
        if (f_.n < 1 || f_.n > INT32_MAX) fail_function("number of buckets");
        return without_argument(TB_TYPE_INT4);
      case TB_WINDOW_LAG:
      case TB_WINDOW_LEAD: return shifted();
      case TB_WINDOW_NTH_VALUE:
        if (f_.n < 1) fail_function("number of the row");
        return argument();
      case TB_WINDOW_FIRST_VALUE:
      case TB_WINDOW_LAST_VALUE: return argument();
      case TB_WINDOW_COUNT: return {TB_TYPE_INT8, 0, false};
      case TB_WINDOW_SUM: return sum();
      case TB_WINDOW_MIN:
      case TB_WINDOW_MAX:
        if (argument().type == TB_TYPE_BOOL) fail_function("type of its argument");
        return argument();
      default: fail_function("unknown kind");
    }
  }

  ColumnShape without_argument(uint32_t type) const {
    if (f_.arg != TB_NONE) fail_function("takes no argument");
    return {type, 0, false};
  }

  ColumnShape argument() const {
    if (f_.arg == TB_NONE) fail_function("has no argument");
    return {columns_[f_.arg].type, columns_[f_.arg].scale, true};
  }

  ColumnShape shifted() const {
    const ColumnShape shape = argument();
    if (f_.other == TB_NONE) return shape;
    const ColumnShape& other = columns_[f_.other];
    const bool both_text = tb_type_is_text(shape.type) && tb_type_is_text(other.type);
    if ((other.type != shape.type && !both_text) || other.scale != shape.scale) fail_function("type of its default");
    return shape;
  }

  ColumnShape sum() const {
    const ColumnShape shape = argument();
    switch (shape.type) {
      case TB_TYPE_INT2:
      case TB_TYPE_INT4: return {TB_TYPE_INT8, 0, true};
      case TB_TYPE_INT8:
        if (f_.n == 1) return {TB_TYPE_INT8, 0, true};
        return {TB_TYPE_NUM128, 0, true};
      case TB_TYPE_NUM64:
      case TB_TYPE_NUM128: return {TB_TYPE_NUM128, shape.scale, true};
      case TB_TYPE_FLOAT4:
      case TB_TYPE_FLOAT8:
        // What leaves a frame cannot be taken off a float sum without a trace.
        if (pass_.start_bound != TB_BOUND_UNBOUNDED_PRECEDING || pass_.exclusion != TB_EXCLUDE_NONE)
          fail_function("a float sum over a frame that moves");
        return {TB_TYPE_FLOAT8, 0, true};
      default: fail_function("type of its argument");
    }
  }

  const TbWindowFunction& f_;
  const TbWindowPass& pass_;
  const std::vector<ColumnShape>& columns_;
};

}  // namespace

ColumnShape window_column(const TbWindowFunction& function, const TbWindowPass& pass,
                          const std::vector<ColumnShape>& columns) {
  return FunctionCheck(function, pass, columns).run();
}

}  // namespace turbine
