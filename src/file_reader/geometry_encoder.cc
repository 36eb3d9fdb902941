/*
 * geometry_encoder.cc - geometries, as well-known binary with an SRID.
 *
 * That is what geometry's receive function takes, so PostGIS itself makes the values and raises the errors. Columns of
 * text are passed on as they are: the backend has the input function take them. Binary columns of which the file says
 * nothing are well-known binary of no SRID.
 */
#include <arrow/array.h>

#include "file_reader/value_encoder.h"
#include "file_values/native_geometry.h"
#include "file_values/wkb.h"

namespace turbine::file_reader {

namespace {

template <typename ArrayType>
class WkbEncoder final : public ArrayEncoder<ArrayType> {
 public:
  explicit WkbEncoder(uint32_t srid) : srid_(srid) {}

 private:
  void value(int64_t row, ByteBuffer& out) override {
    if (!add_srid(std::string_view(this->array_->GetView(row)), srid_, ewkb_))
      throw ReaderError(sqlstate::corrupt, "a geometry is no well-known binary");
    out.field(std::string_view(ewkb_));
  }

  const uint32_t srid_;
  std::string ewkb_;
};

class NativeEncoder final : public ArrayEncoder<arrow::Array> {
 public:
  explicit NativeEncoder(const GeoColumn& column) : shapes_(column), srid_(column.srid) {}

 private:
  static void check(const char* problem) {
    if (problem) throw ReaderError(sqlstate::corrupt, std::string("a geometry has ") + problem);
  }
  void bound() override { check(shapes_.bind(*array_)); }
  void value(int64_t row, ByteBuffer& out) override {
    check(shapes_.write_wkb(row, wkb_));
    add_srid(wkb_, srid_, ewkb_);
    out.field(std::string_view(ewkb_));
  }

  NativeGeometries shapes_;
  const uint32_t srid_;
  std::string wkb_, ewkb_;
};

EncoderPtr make_wkb(arrow::Type::type type, uint32_t srid) {
  switch (type) {
    case arrow::Type::BINARY: return std::make_unique<WkbEncoder<arrow::BinaryArray>>(srid);
    case arrow::Type::LARGE_BINARY: return std::make_unique<WkbEncoder<arrow::LargeBinaryArray>>(srid);
    case arrow::Type::BINARY_VIEW: return std::make_unique<WkbEncoder<arrow::BinaryViewArray>>(srid);
    default: return nullptr;
  }
}

}  // namespace

EncoderPtr make_geometry_encoder(const arrow::DataType& type, const GeoColumn& column) {
  if (!column.problem.empty())
    throw ReaderError(sqlstate::wrong_type, "the file's column is no geometry: " + column.problem, "",
                      "Declare the column with the type that IMPORT FOREIGN SCHEMA takes for it.");
  EncoderPtr encoder;
  if (column.form > GeoForm::kWkb)
    encoder = std::make_unique<NativeEncoder>(column);
  else
    encoder = make_wkb(type.id(), column.srid);
  if (!encoder) encoder = make_bytes_encoder(type, Target{TB_TARGET_TEXT, {}, {}});
  if (!encoder)
    throw ReaderError(
        sqlstate::wrong_type, "type " + type.ToString() + " of the file does not fit geometry", "",
        "A geometry is well-known binary or text, or a column that the file's metadata calls a geometry.");
  return encoder;
}

}  // namespace turbine::file_reader
