/*
 * describe.cc - a file's columns and batches, as one frame. Called by main.cc for DESCRIBE;
 * reads no more of the file than that takes.
 */
#include "file_reader/answer.h"
#include "file_reader/frames.h"
#include "file_reader/sql_type.h"
#include "file_values/geo_columns.h"

namespace turbine::file_reader {

namespace {

bool has_bounds(BatchFile& file, int column, size_t batches) {
  for (size_t batch = 0; batch < batches; batch++) {
    if (file.bounds(static_cast<int>(batch), column)) return true;
  }
  return false;
}

}  // namespace

void describe(BatchFile& file, int pipe) {
  ByteBuffer payload;
  const auto sizes = file.batch_sizes();
  const std::vector<GeoColumn> geometries = geo_columns(file.schema());
  payload.native(static_cast<uint32_t>(file.format()));
  payload.native(static_cast<uint32_t>(file.schema().num_fields()));
  for (int column = 0; column < file.schema().num_fields(); column++) {
    const auto& field = *file.schema().field(column);
    payload.text(field.name());
    payload.text(field.type()->ToString());
    payload.text(sql_type(*field.type()));
    const GeoColumn& geometry = geometries[static_cast<size_t>(column)];
    const bool is_geometry = geometry.form != GeoForm::kNone;
    payload.text(is_geometry ? "geometry" + geometry_typmod(geometry) : "");
    payload.text(geometry.problem);
    payload.native(static_cast<uint8_t>(field.nullable()));
    payload.native(static_cast<uint8_t>(has_bounds(file, column, sizes.size())));
    payload.native(file.column_bytes(column));
  }
  payload.native(static_cast<uint32_t>(sizes.size()));
  for (const auto& size : sizes) {
    payload.native(size.rows);
    payload.native(size.bytes);
  }
  send_frame(pipe, TB_FRAME_DESCRIPTION, payload);
  send_frame(pipe, TB_FRAME_DONE, ByteBuffer());
}

}  // namespace turbine::file_reader
