/* Geographies: what bounds decide and what they leave, by distances that are known without PostGIS; spoilt bytes lie in
 * exact allocations, so that ASAN sees a byte read outside. What PostGIS answers, test/geography.py asks. */
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "turbine/functions.h"
#include "turbine/point_column.h"

extern "C" {
bool rt_geography_dwithin(const char*, uint32_t, const char*, uint32_t, double, bool, uint32_t*);
uint32_t rt_point_of_coordinates(uint32_t, double, double, double, double, char*);
}

namespace {

constexpr uint32_t kGeographyForm = 4326 | TB_POINT_GEODETIC;
constexpr double kEquator = 6378137.0 * 3.14159265358979323846 / 180;  // metres of a degree along it
constexpr double kQuarterMeridian = 10001965.7293;

std::string geography_at(double lon, double lat, uint32_t form = kGeographyForm) {
  char place[48];
  return {place, rt_point_of_coordinates(form, lon, lat, 0, 0, place)};
}

/* nullopt: PostgreSQL decides. */
std::optional<bool> geographies_within(const std::string& a, const std::string& b, double distance,
                                       bool on_spheroid = true) {
  const auto exact = [](const std::string& bytes) {
    auto copy = std::make_unique<char[]>(bytes.size());
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    return copy;
  };
  const auto first = exact(a), second = exact(b);
  uint32_t errors = 0;
  const bool within = rt_geography_dwithin(first.get(), static_cast<uint32_t>(a.size()), second.get(),
                                           static_cast<uint32_t>(b.size()), distance, on_spheroid, &errors);
  if (errors != 0) return std::nullopt;
  return within;
}

TEST(Geography, AlongTheEquator) {
  for (const double degrees : {1e-5, 1e-3, 0.1, 1.0, 5.0}) {
    const auto a = geography_at(179.999999, 0), b = geography_at(179.999999 - 360 + degrees, 0);
    const double length = degrees * kEquator, half = length / 2 / 6378137.0;
    // The bounds leave open about 2 % of what a chord is shorter.
    const double open = 4e-5 + 0.03 * 6378137.0 * half * half * half / 3;
    EXPECT_EQ(geographies_within(a, b, length + open), true) << degrees;
    EXPECT_EQ(geographies_within(a, b, length - open), false) << degrees;
    EXPECT_EQ(geographies_within(a, b, length), std::nullopt) << degrees;
  }
}

TEST(Geography, OverThePole) {
  // All meridians meet there, whatever the longitudes.
  const auto pole = geography_at(77, 90), equator = geography_at(-12, 0);
  EXPECT_EQ(geographies_within(pole, geography_at(-100, 90), 1e-3), true);
  EXPECT_EQ(geographies_within(pole, equator, kQuarterMeridian * 1.01), true);
  EXPECT_EQ(geographies_within(pole, equator, kQuarterMeridian * 0.98), false);
  EXPECT_EQ(geographies_within(pole, equator, kQuarterMeridian), std::nullopt);
}

TEST(Geography, OnTheSphere) {
  const double degree = (2 * 6378137.0 + 6356752.314245179498) / 3 * 3.14159265358979323846 / 180;
  const auto a = geography_at(10, 50), b = geography_at(10, 51), opposite = geography_at(-170, -50);
  EXPECT_EQ(geographies_within(a, b, degree + 1e-3, false), true);
  EXPECT_EQ(geographies_within(a, b, degree - 1e-3, false), false);
  EXPECT_EQ(geographies_within(a, opposite, 179 * degree, false), false);
  EXPECT_EQ(geographies_within(a, opposite, 181 * degree, false), std::nullopt);
  EXPECT_EQ(geographies_within(a, b, std::numeric_limits<double>::infinity(), false), true);
}

TEST(Geography, EqualAndEmpty) {
  const auto a = geography_at(10, 50);
  const auto empty = geography_at(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(geographies_within(a, a, 0), true);
  EXPECT_EQ(geographies_within(a, a, -1), false);
  EXPECT_EQ(geographies_within(a, empty, 1e9), false);
  EXPECT_EQ(geographies_within(a, geography_at(10, 50 + 1e-13), 0), std::nullopt);
}

TEST(Geography, LeftToPostgreSql) {
  const auto a = geography_at(10, 50);
  EXPECT_EQ(geographies_within(a, geography_at(10, 50, 4326), 1), std::nullopt) << "a geometry";
  EXPECT_EQ(geographies_within(a, geography_at(10, 50, 4269 | TB_POINT_GEODETIC), 1), std::nullopt) << "another SRID";
  EXPECT_EQ(geographies_within(a, geography_at(180.1, 50), 1), std::nullopt);
  EXPECT_EQ(geographies_within(a, geography_at(10, -90.1), 1), std::nullopt);
  EXPECT_EQ(geographies_within(a, a, std::numeric_limits<double>::quiet_NaN()), std::nullopt);
  for (size_t length = 0; length < a.size(); length++)
    EXPECT_EQ(geographies_within(a, a.substr(0, length), 1), std::nullopt) << length;
}

}  // namespace
