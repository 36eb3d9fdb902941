/*
 * label_decoder.h - values of an enum as indexes of a dictionary with all of its labels.
 */
#pragma once

#include <arrow/array/builder_primitive.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "export/builder_decoder.h"

namespace turbine::exporting {

class LabelDecoder : public BuilderDecoder<arrow::Int32Builder> {
 public:
  LabelDecoder(const std::vector<std::string>& labels, InvalidValue invalid);

  std::shared_ptr<arrow::DataType> type() const override { return type_; }
  std::shared_ptr<arrow::Array> finish() override;

 protected:
  /* A label that was not among them: adds a value, or throws ValueError. */
  virtual void append_unknown(const std::string& label) = 0;

 private:
  void append_value(const char* data, int32_t length) override;

  std::shared_ptr<arrow::DataType> type_;
  std::unordered_map<std::string, int32_t> places_;
  std::shared_ptr<arrow::Array> labels_;
  std::string key_;
};

}  // namespace turbine::exporting
