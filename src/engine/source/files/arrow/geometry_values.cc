/*
 * geometry_values.cc - see geometry_values.h.
 *
 * A class for each way in which values are converted; file_values/ has the rules. What it refuses goes to PostGIS row
 * by row.
 */
#include "engine/source/files/arrow/geometry_values.h"

#include <algorithm>
#include <cmath>

#include <arrow/array.h>
#include <arrow/type.h>

#include "engine/source/files/arrow/value_forms.h"
#include "file_values/native_geometry.h"
#include "file_values/wkb.h"
#include "turbine/point_column.h"

namespace turbine {
namespace {

[[noreturn]] void refuse_geometry(const WantedColumn& wanted, const std::string& what) {
  throw FileError("column \"" + wanted.name + "\": " + what);
}

/* Well-known binary of any layout. */
class WkbValues {
 public:
  explicit WkbValues(const arrow::Array& array) : array_(array) {}

  std::string_view at(int64_t row, const WantedColumn& wanted) const {
    switch (array_.type_id()) {
      case arrow::Type::BINARY: return checked(static_cast<const arrow::BinaryArray&>(array_), row, wanted);
      case arrow::Type::LARGE_BINARY: return checked(static_cast<const arrow::LargeBinaryArray&>(array_), row, wanted);
      default: return static_cast<const arrow::BinaryViewArray&>(array_).GetView(row);
    }
  }
  /* Once an array: views lead anywhere. */
  void check(const WantedColumn& wanted) const {
    if (array_.type_id() == arrow::Type::BINARY_VIEW && !array_.ValidateFull().ok())
      refuse_geometry(wanted, "views of geometries leave their buffers");
  }

 private:
  template <class Array>
  static std::string_view checked(const Array& array, int64_t row, const WantedColumn& wanted) {
    const auto* offsets = array.raw_value_offsets();
    const int64_t size = array.value_data() ? array.value_data()->size() : 0;
    const int64_t begin = offsets[row], end = offsets[row + 1];
    if (begin < 0 || end < begin || end > size) refuse_geometry(wanted, "offsets of geometries leave their buffer");
    if (end == begin) return {};
    return {reinterpret_cast<const char*>(array.value_data()->data()) + begin, static_cast<size_t>(end - begin)};
  }

  const arrow::Array& array_;
};

/* Values of geometry, from either form. */
class Geometries final : public ColumnValues {
 public:
  explicit Geometries(const WantedColumn& wanted) : wanted_(wanted) {}

  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const bool native = wanted_.geo->form != GeoForm::kWkb;
    const WkbValues stored(array);
    NativeGeometries shapes(*wanted_.geo);
    if (const char* problem = native ? shapes.bind(array) : nullptr) refuse_geometry(wanted_, problem);
    if (!native) stored.check(wanted_);
    const GeometryTarget target{wanted_.geo->srid, wanted_.typmod};
    std::string wkb, bytes;
    auto* to = rows.append<TbTextView>(count);
    for (uint32_t i = 0; i < count; i++) {
      to[i] = TbTextView{};
      if (array.IsNull(from + i)) continue;
      const char* problem = native ? shapes.write_wkb(from + i, wkb) : nullptr;
      if (!problem) problem = serialize_geometry(native ? wkb : stored.at(from + i, wanted_), target, bytes);
      if (problem) refuse_geometry(wanted_, problem);
      if (!append_text(bytes, rows.bytes(), &to[i])) refuse_geometry(wanted_, kTextTooLong);
    }
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  const WantedColumn wanted_;
};

/* A coordinate of points that are well-known binary. */
class WkbCoordinates final : public ColumnValues {
 public:
  explicit WkbCoordinates(const WantedColumn& wanted) : wanted_(wanted) {}

  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const uint32_t form = wanted_.point_form;
    const GeoDimensions dimensions{(tb_point_flags(form) & TB_GEOMETRY_Z) != 0,
                                   (tb_point_flags(form) & TB_GEOMETRY_M) != 0};
    const WkbValues stored(array);
    stored.check(wanted_);
    auto* to = rows.append<double>(count);
    double coordinates[TB_MOST_COORDINATES];
    for (uint32_t i = 0; i < count; i++) {
      to[i] = 0;
      if (array.IsNull(from + i)) continue;
      if (const char* problem = read_point(stored.at(from + i, wanted_), dimensions, tb_point_srid(form),
                                           wanted_.geo->srid, coordinates))
        refuse_geometry(wanted_, problem);
      to[i] = coordinates[tb_point_coordinate(form)];
    }
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  const WantedColumn wanted_;
};

/* A coordinate of points that are structs, or lists of fixed size. */
class NativeCoordinates final : public ColumnValues {
 public:
  explicit NativeCoordinates(const WantedColumn& wanted) : wanted_(wanted) {}

  void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const override {
    const uint32_t which = tb_point_coordinate(wanted_.point_form);
    auto* to = rows.append<double>(count);
    if (array.type_id() == arrow::Type::STRUCT) {
      const auto holder = static_cast<const arrow::StructArray&>(array).field(static_cast<int>(which));
      const auto& numbers = static_cast<const arrow::DoubleArray&>(*holder);
      if (numbers.length() < from + count) refuse_geometry(wanted_, "fewer coordinates than points");
      std::copy_n(numbers.raw_values() + from, count, to);
      check_nulls(array, from, numbers, from, 1, count);
    } else {
      const auto& points = static_cast<const arrow::FixedSizeListArray&>(array);
      const auto& numbers = static_cast<const arrow::DoubleArray&>(*points.values());
      const int64_t stride = points.list_type()->list_size(), first = points.value_offset(from) + which;
      if (numbers.length() < points.value_offset(from + count))
        refuse_geometry(wanted_, "fewer coordinates than points");
      for (uint32_t i = 0; i < count; i++) to[i] = numbers.raw_values()[first + i * stride];
      check_nulls(array, from, numbers, first, stride, count);
    }
    mark_nulls(array, from, count, wanted_, rows);
  }

 private:
  /* Only of a NULL point a coordinate is NULL. */
  void check_nulls(const arrow::Array& points, int64_t from, const arrow::Array& numbers, int64_t first, int64_t stride,
                   uint32_t count) const {
    if (numbers.null_count() == 0) return;
    for (uint32_t i = 0; i < count; i++)
      if (numbers.IsNull(first + i * stride) && points.IsValid(from + i))
        refuse_geometry(wanted_, "a NULL within a shape");
  }

  const WantedColumn wanted_;
};

/* Of a declared type of points, the file has points of these dimensions. */
void check_point_form(const WantedColumn& wanted) {
  const GeoColumn& geo = *wanted.geo;
  const uint32_t form = wanted.point_form;
  const GeoDimensions declared{(tb_point_flags(form) & TB_GEOMETRY_Z) != 0,
                               (tb_point_flags(form) & TB_GEOMETRY_M) != 0};
  if (geo.srid != 0 && geo.srid != tb_point_srid(form)) refuse_geometry(wanted, "an SRID that is not the column's");
  if (geo.form == GeoForm::kWkb) return;
  if (geo.form != GeoForm::kPoint || !(geo.dimensions == declared))
    refuse_geometry(wanted, "shapes that are not of the column's type");
}

}  // namespace

bool is_stored_coordinate(const WantedColumn& wanted, const arrow::DataType& type) {
  return wanted.is_coordinate && wanted.geo && wanted.geo->form == GeoForm::kPoint && type.id() == arrow::Type::STRUCT;
}

std::unique_ptr<const ColumnValues> geometry_values(const arrow::DataType& type, const WantedColumn& wanted) {
  const bool is_binary = type.id() == arrow::Type::BINARY || type.id() == arrow::Type::LARGE_BINARY ||
                         type.id() == arrow::Type::BINARY_VIEW;
  if (!wanted.geo || wanted.geo->form == GeoForm::kNone) return nullptr;
  if (!wanted.geo->problem.empty()) refuse_geometry(wanted, wanted.geo->problem);
  if (is_binary != (wanted.geo->form == GeoForm::kWkb)) return nullptr;
  if (!wanted.is_coordinate) return std::make_unique<Geometries>(wanted);
  check_point_form(wanted);
  if (is_binary) return std::make_unique<WkbCoordinates>(wanted);
  return std::make_unique<NativeCoordinates>(wanted);
}

}  // namespace turbine
