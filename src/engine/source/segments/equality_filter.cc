/*
 * equality_filter.cc - see equality_filter.h.
 *
 * Owns copies of parameters. Called once a query. Must never leave a value out that a row may pass with.
 */
#include "engine/source/segments/equality_filter.h"

#include <cstring>
#include <utility>

#include "engine/source/segments/early_filters.h"
#include "turbine/integer_equality.h"

namespace turbine {
namespace {

/* Longer lists cost more than what they leave out. */
constexpr uint32_t kMostValues = 1000;

int64_t integer_at(const uint8_t* bytes, uint32_t width) {
  int64_t value = 0;
  memcpy(&value, bytes, width);
  const uint32_t unused = 64 - 8 * width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

class EqualityReading {
 public:
  EqualityReading(const Program& program, const TbParamBlock* params) : program_(program), params_(params) {}

  /* False: the condition is no such thing. */
  bool read(const TbExpr& filter, ColumnEquality* equality) const {
    if (filter.op != TB_EXPR_OR) return read_comparison(filter, equality);
    // Short lists come as comparisons of one column, ORed.
    for (const uint32_t arg : program_.args(filter)) {
      ColumnEquality one;
      if (!read(program_.expr(arg), &one)) return false;
      const bool is_first = equality->texts.empty() && equality->integers.empty();
      if (!is_first && one.column != equality->column) return false;
      equality->column = one.column;
      equality->integers.insert(equality->integers.end(), one.integers.begin(), one.integers.end());
      equality->texts.insert(equality->texts.end(), one.texts.begin(), one.texts.end());
    }
    return true;
  }

 private:
  bool read_comparison(const TbExpr& filter, ColumnEquality* equality) const {
    const bool is_list = filter.op == TB_EXPR_ANY;
    if (!is_list && filter.op != TB_EXPR_CALL) return false;
    const bool is_text = filter.index == TB_FN_TEXTEQ;
    if (!is_text && !tb_function_equals_integers(filter.index)) return false;
    const TbExpr* left = &program_.expr(program_.args(filter)[0]);
    const TbExpr* right = &program_.expr(program_.args(filter)[1]);
    if (!is_list && left->op == TB_EXPR_PARAM) std::swap(left, right);
    if (left->op != TB_EXPR_COLUMN || right->op != TB_EXPR_PARAM || left->index >= program_.source_columns())
      return false;
    const TbParam& param = *tb_param(params_, right->index);
    if (param.is_null || (is_list && param.length > kMostValues)) return false;
    equality->column = left->index;
    if (is_list)
      add_elements(param, right->type, is_text, equality);
    else if (is_text)
      equality->texts.push_back(text_at(param.offset, param.length));
    else
      equality->integers.push_back(
          integer_at(reinterpret_cast<const uint8_t*>(param.value), integer_width(right->type)));
    // Of NULLs alone no row passes, which others see.
    return !equality->texts.empty() || !equality->integers.empty();
  }
  static uint32_t integer_width(uint32_t type) { return tb_type_width(type) < 8 ? tb_type_width(type) : 8; }
  const uint8_t* bytes() const { return reinterpret_cast<const uint8_t*>(params_); }
  std::string text_at(uint64_t offset, uint32_t length) const {
    return {reinterpret_cast<const char*>(bytes()) + offset, length};
  }
  void add_elements(const TbParam& param, uint32_t type, bool is_text, ColumnEquality* equality) const {
    const uint8_t* const elements = bytes() + param.offset;
    const uint8_t* const nulls = elements + uint64_t{param.length} * tb_type_width(type);
    for (uint32_t i = 0; i < param.length; i++) {
      if (nulls[i]) continue;
      const uint8_t* const element = elements + uint64_t{i} * tb_type_width(type);
      if (!is_text) {
        equality->integers.push_back(integer_at(element, integer_width(type)));
        continue;
      }
      TbTextView view;
      memcpy(&view, element, sizeof view);
      equality->texts.push_back(text_at(view.offset, view.length));
    }
  }

  const Program& program_;
  const TbParamBlock* const params_;
};

}  // namespace

EqualityFilter::EqualityFilter(const Program& program, const TbParamBlock* params) {
  const EqualityReading reading(program, params);
  visit_early_filters(program, [&](const TbExpr& filter) {
    ColumnEquality equality;
    if (reading.read(filter, &equality)) equalities_.push_back(std::move(equality));
  });
}

}  // namespace turbine
