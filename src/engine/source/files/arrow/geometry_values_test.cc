/*
 * geometry_values_test.cc - well-known binary becomes PostGIS's bytes or is refused, whatever is cut off or flipped;
 * metadata of columns; coordinates of native points. What PostGIS makes of the same values, test/geo_files.py asks.
 */
#include "engine/source/files/arrow/geometry_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "file_values/geo_columns.h"
#include "file_values/wkb.h"
#include "turbine/point_column.h"

namespace turbine {
namespace {

class WkbWriter {
 public:
  template <class T>
  WkbWriter& add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  WkbWriter& head(uint32_t type) { return add(uint8_t{1}).add(type); }
  WkbWriter& points(std::initializer_list<double> coordinates) {
    for (const double value : coordinates) add(value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string square() {
  return WkbWriter().head(kWkbPolygon).add(1u).add(5u).points({0, 0, 4, 0, 4, 4.1, 0, 4, 0, 0}).bytes();
}

/* In memory that ends with the value. */
const char* serialize_exactly(const std::string& wkb, const GeometryTarget& target, std::string& out) {
  const std::unique_ptr<char[]> exact(new char[wkb.size()]);
  memcpy(exact.get(), wkb.data(), wkb.size());
  return serialize_geometry({exact.get(), wkb.size()}, target, out);
}

TEST(Wkb, APolygonHasItsBoxRoundedOutward) {
  std::string bytes;
  ASSERT_EQ(serialize_exactly(square(), {4326, -1}, bytes), nullptr);
  TbBox box;
  int is_point;
  ASSERT_EQ(tb_geometry_extent(reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<uint32_t>(bytes.size()),
                               &is_point, &box),
            TB_EXTENT_BOX);
  EXPECT_EQ(box.ymax, std::nextafterf(4.1f, 4.1f < 4.1 ? 5.0f : 4.1f));
  EXPECT_GE(box.ymax, 4.1);
  EXPECT_EQ(bytes.substr(0, 4), std::string("\x00\x10\xe6\x44", 4));
  EXPECT_EQ(bytes.size(), 4 + 16 + 8 + 8 + 80u);
}

TEST(Wkb, WhatNeedsPostgisIsRefused) {
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string refused[] = {
      WkbWriter().head(kWkbLine).add(1u).points({1, 2}).bytes(),
      WkbWriter().head(kWkbPolygon).add(1u).add(4u).points({0, 0, 1, 0, 1, 1, 0, 1}).bytes(),
      WkbWriter().head(kWkbPolygon).add(1u).add(3u).points({0, 0, 1, 0, 0, 0}).bytes(),
      WkbWriter().head(kWkbLine).add(2u).points({1, 2, infinity, 4}).bytes(),
      WkbWriter().head(kWkbMultiPoint).add(1u).head(kWkbLine).add(0u).bytes(),
      WkbWriter().head(kWkbMultiPoint).add(1u).head(kWkbPoint | kWkbZ).points({1, 2, 3}).bytes(),
      WkbWriter().head(8).add(0u).bytes(),
      WkbWriter().head(5001).points({1, 2}).bytes(),
      WkbWriter().add(uint8_t{2}).add(1u).points({1, 2}).bytes(),
      WkbWriter().head(kWkbPoint | kWkbSrid).add(1000000u).points({1, 2}).bytes(),
      ""};
  std::string bytes;
  for (const std::string& wkb : refused) EXPECT_NE(serialize_exactly(wkb, {}, bytes), nullptr) << wkb.size();
  // Collections in each other.
  std::string deep;
  for (int i = 0; i < 100; i++) deep += WkbWriter().head(kWkbCollection).add(1u).bytes();
  EXPECT_NE(serialize_exactly(deep + WkbWriter().head(kWkbPoint).points({1, 2}).bytes(), {}, bytes), nullptr);
}

TEST(Wkb, DeclaredTypesAreChecked) {
  const std::string point = WkbWriter().head(kWkbPoint).points({1, 2}).bytes();
  const auto typmod = [](uint32_t srid, uint32_t shape, bool z) {
    return static_cast<int32_t>(srid << 8 | shape << 2 | (z ? 2 : 0));
  };
  std::string bytes;
  EXPECT_EQ(serialize_exactly(point, {4326, typmod(4326, 1, false)}, bytes), nullptr);
  EXPECT_EQ(serialize_exactly(point, {0, typmod(4326, 0, false)}, bytes), nullptr);
  EXPECT_EQ(bytes.substr(0, 3), std::string("\x00\x10\xe6", 3)) << "it takes the declared SRID";
  EXPECT_NE(serialize_exactly(point, {3857, typmod(4326, 1, false)}, bytes), nullptr);
  EXPECT_NE(serialize_exactly(point, {4326, typmod(4326, 3, false)}, bytes), nullptr);
  EXPECT_NE(serialize_exactly(point, {4326, typmod(4326, 1, true)}, bytes), nullptr);
}

TEST(Wkb, SpoiltBytesAreReadWithinTheirEnds) {
  std::mt19937 random(1);
  const std::string parts = WkbWriter().head(kWkbCollection).add(2u).bytes() + square() +
                            WkbWriter().head(kWkbMultiLine).add(1u).head(kWkbLine).add(2u).points({1, 2, 3, 4}).bytes();
  std::string bytes;
  ASSERT_EQ(serialize_exactly(parts, {}, bytes), nullptr);
  for (size_t length = 0; length < parts.size(); length++)
    EXPECT_NE(serialize_exactly(parts.substr(0, length), {}, bytes), nullptr) << length;
  for (int i = 0; i < 20000; i++) {
    std::string spoilt = parts.substr(0, random() % (parts.size() + 1));
    for (unsigned flips = random() % 4; flips > 0 && !spoilt.empty(); flips--)
      spoilt[random() % spoilt.size()] = static_cast<char>(random());
    serialize_exactly(spoilt, {}, bytes);
    double coordinates[4];
    read_point(spoilt, {}, 0, 0, coordinates);
  }
}

std::shared_ptr<arrow::Field> geo_field(const std::string& name, std::shared_ptr<arrow::DataType> type,
                                        const std::string& metadata) {
  return arrow::field(
      "g", std::move(type), true,
      arrow::key_value_metadata({"ARROW:extension:name", "ARROW:extension:metadata"}, {name, metadata}));
}

TEST(GeoColumns, FormsDimensionsAndProblems) {
  const auto number = arrow::float64();
  const auto xy = arrow::struct_({arrow::field("x", number), arrow::field("y", number)});
  const auto xym = arrow::struct_({arrow::field("x", number), arrow::field("y", number), arrow::field("m", number)});
  const auto yx = arrow::struct_({arrow::field("y", number), arrow::field("x", number)});
  const auto column = [](const std::shared_ptr<arrow::Field>& field) {
    return geo_columns(*arrow::schema({field}))[0];
  };
  EXPECT_EQ(geometry_typmod(column(geo_field("geoarrow.point", xy, R"({"crs": "EPSG:3857"})"))), "(Point,3857)");
  EXPECT_EQ(geometry_typmod(column(geo_field("geoarrow.linestring", arrow::list(xym), ""))), "(LineStringM)");
  EXPECT_EQ(geometry_typmod(column(geo_field("geoarrow.point", arrow::fixed_size_list(number, 3), "{}"))), "(PointZ)");
  EXPECT_EQ(geometry_typmod(column(geo_field("geoarrow.wkb", arrow::binary(), "{}"))), "");
  EXPECT_NE(column(geo_field("geoarrow.point", yx, "")).problem, "");
  EXPECT_NE(column(geo_field("geoarrow.polygon", arrow::list(xy), "")).problem, "");
  EXPECT_NE(column(geo_field("geoarrow.wkb", arrow::int32(), "")).problem, "");
  EXPECT_NE(column(geo_field("geoarrow.point", xy, R"({"edges": "spherical"})")).problem, "");
  EXPECT_EQ(column(geo_field("geoarrow.box", xy, "")).form, GeoForm::kNone);
  EXPECT_EQ(column(arrow::field("g", xy)).form, GeoForm::kNone);
  EXPECT_EQ(column(geo_field("geoarrow.point", xy, "{\"crs\": ")).srid, 0u);
}

TEST(GeometryValues, NativePointsAreCoordinates) {
  const auto number = arrow::float64();
  const auto xy = arrow::struct_({arrow::field("x", number), arrow::field("y", number)});
  arrow::DoubleBuilder x, y;
  ASSERT_TRUE(x.AppendValues({1, 2, 3}).ok() && y.AppendValues({-1, -2, -3}).ok());
  const auto array = *arrow::StructArray::Make({*x.Finish(), *y.Finish()}, xy->fields());
  WantedColumn wanted;
  wanted.type = TB_TYPE_FLOAT8;
  wanted.name = "g";
  wanted.is_coordinate = true;
  wanted.point_form = tb_point_form(4326, 0, 1);
  GeoColumn geo;
  geo.form = GeoForm::kPoint;
  geo.srid = 4326;
  wanted.geo = std::make_shared<const GeoColumn>(geo);
  ColumnRows rows(TB_TYPE_FLOAT8);
  rows.clear();
  geometry_values(*xy, wanted)->append(*array, 1, 2, rows);
  const auto* values = static_cast<const double*>(rows.data().values);
  EXPECT_EQ(values[0], -2);
  EXPECT_EQ(values[1], -3);
  geo.srid = 3857;
  wanted.geo = std::make_shared<const GeoColumn>(geo);
  EXPECT_THROW(geometry_values(*xy, wanted), FileError) << "another SRID";
  geo.srid = 0;
  geo.dimensions.z = true;
  wanted.geo = std::make_shared<const GeoColumn>(geo);
  EXPECT_THROW(geometry_values(*xy, wanted), FileError) << "other dimensions";
}

}  // namespace
}  // namespace turbine
