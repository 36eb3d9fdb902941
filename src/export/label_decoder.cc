/*
 * label_decoder.cc - see label_decoder.h.
 *
 * The dictionary is the same in all record batches, whatever labels occur.
 */
#include "export/label_decoder.h"

#include <arrow/array/array_dict.h>
#include <arrow/array/builder_binary.h>
#include <arrow/type.h>

namespace turbine::exporting {

LabelDecoder::LabelDecoder(const std::vector<std::string>& labels, InvalidValue invalid)
    : BuilderDecoder(std::make_shared<arrow::Int32Builder>(), invalid),
      type_(arrow::dictionary(arrow::int32(), arrow::utf8())) {
  arrow::StringBuilder builder;
  for (const std::string& label : labels) {
    places_.emplace(label, static_cast<int32_t>(places_.size()));
    check(builder.Append(label), ExitCode::kValue);
  }
  labels_ = value_of(builder.Finish(), ExitCode::kValue);
}

std::shared_ptr<arrow::Array> LabelDecoder::finish() {
  return value_of(arrow::DictionaryArray::FromArrays(type_, ColumnDecoder::finish(), labels_), ExitCode::kValue);
}

void LabelDecoder::append_value(const char* data, int32_t length) {
  key_.assign(data, static_cast<size_t>(length));
  const auto found = places_.find(key_);
  if (found == places_.end()) return append_unknown(key_);
  keep(builder_->Append(found->second));
}

}  // namespace turbine::exporting
