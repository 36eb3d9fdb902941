/*
 * builder_decoder.h - a column decoder that knows its builder's type: what decoders of one builder are made from.
 */
#pragma once

#include <memory>
#include <utility>

#include "export/column_decoder.h"

namespace turbine::exporting {

template <typename Builder>
class BuilderDecoder : public ColumnDecoder {
 public:
  BuilderDecoder(std::shared_ptr<Builder> builder, InvalidValue invalid)
      : ColumnDecoder(builder, invalid), builder_(builder.get()) {}

 protected:
  /* Throws ValueError unless a value has the bytes that its type takes. */
  static void need(int32_t length, int32_t wanted) {
    if (length != wanted) throw ValueError("its binary form is damaged");
  }

  /* Room for one more value. Arrow's own Append looks for it too, at twice the instructions. */
  void make_room() {
    if (builder_->length() == builder_->capacity()) this->keep(builder_->Reserve(1));
  }

  /* Room for values of so many bytes together, besides their places. */
  void reserve_bytes(int64_t rows, int64_t bytes) {
    this->keep(builder_->Reserve(rows));
    this->keep(builder_->ReserveData(bytes));
  }

  Builder* builder_;
};

}  // namespace turbine::exporting
