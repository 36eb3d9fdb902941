/*
 * geo_columns.cc - see geo_columns.h.
 *
 * Owns nothing. Called when a file is opened or described. JSON is parsed without exceptions; a member that is not of
 * the type that the specifications give it counts as absent.
 */
#include "file_values/geo_columns.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <nlohmann/json.hpp>

namespace turbine {
namespace {

using Json = nlohmann::json;

constexpr char kGeoKey[] = "geo";
constexpr char kExtensionName[] = "ARROW:extension:name", kExtensionMetadata[] = "ARROW:extension:metadata";
constexpr uint32_t kWgs84 = 4326, kMostSrid = 999999;

/* Null if it is no JSON, or too long to be metadata. */
Json parsed(const std::string& text) {
  constexpr size_t kMostBytes = 16 << 20;
  if (text.size() > kMostBytes) return {};
  Json json = Json::parse(text, nullptr, false);
  return json.is_discarded() ? Json() : json;
}

/* Null: there is none. */
const Json* member(const Json& object, const char* name) {
  if (!object.is_object()) return nullptr;
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

std::string_view text_member(const Json& object, const char* name) {
  const Json* text = member(object, name);
  return text && text->is_string() ? std::string_view(text->get_ref<const std::string&>()) : std::string_view();
}

/* 0: it names no number that PostGIS could have. */
uint32_t srid_of_code(std::string_view authority, std::string_view code) {
  if (authority == "OGC" && code == "CRS84") return kWgs84;
  uint32_t srid = 0;
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), srid);
  const bool is_number = error == std::errc() && end == code.data() + code.size() && srid <= kMostSrid;
  return authority == "EPSG" && is_number ? srid : 0;
}

/* PROJJSON, whose `id` has the code, or a text "authority:code". */
uint32_t srid_of(const Json& crs) {
  if (crs.is_string()) {
    const std::string_view text = crs.get_ref<const std::string&>();
    const size_t colon = text.find(':');
    return colon == std::string_view::npos ? 0 : srid_of_code(text.substr(0, colon), text.substr(colon + 1));
  }
  const Json* id = member(crs, "id");
  if (!id) return 0;
  const Json* code = member(*id, "code");
  if (!code) return 0;
  if (code->is_number_unsigned())
    return srid_of_code(text_member(*id, "authority"), std::to_string(code->get<uint64_t>()));
  return code->is_string() ? srid_of_code(text_member(*id, "authority"), code->get_ref<const std::string&>()) : 0;
}

constexpr std::pair<std::string_view, GeoForm> kNativeForms[] = {{"point", GeoForm::kPoint},
                                                                 {"linestring", GeoForm::kLine},
                                                                 {"polygon", GeoForm::kPolygon},
                                                                 {"multipoint", GeoForm::kMultiPoint},
                                                                 {"multilinestring", GeoForm::kMultiLine},
                                                                 {"multipolygon", GeoForm::kMultiPolygon}};

/* As GeoParquet writes the types of shapes; the place is the number. */
constexpr std::string_view kShapes[] = {"",           "Point",           "LineString",   "Polygon",
                                        "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"};

std::optional<GeoForm> native_form(std::string_view name) {
  for (const auto& [known, form] : kNativeForms)
    if (known == name) return form;
  return std::nullopt;
}

void note_edges(const Json& metadata, GeoColumn& column) {
  const std::string_view edges = text_member(metadata, "edges");
  if (!edges.empty() && edges != "planar")
    column.problem = "its edges are " + std::string(edges) + ", and those of geometry are planar";
}

/* What is said of all its values. GeoParquet lists "Point Z" for three dimensions, and has none with m. */
void note_shapes(const Json& metadata, GeoColumn& column) {
  const Json* types = member(metadata, "geometry_types");
  if (!types || !types->is_array() || types->empty()) return;
  bool same_shape = true, same_z = true;
  std::optional<uint32_t> shape;
  std::optional<bool> z;
  for (const Json& type : *types) {
    std::string_view name = type.is_string() ? std::string_view(type.get_ref<const std::string&>()) : "";
    const bool has_z = name.ends_with(" Z");
    if (has_z) name.remove_suffix(2);
    uint32_t number = 0;
    for (uint32_t i = 1; i < std::size(kShapes); i++)
      if (kShapes[i] == name) number = i;
    same_shape = same_shape && number > 0 && shape.value_or(number) == number;
    same_z = same_z && number > 0 && z.value_or(has_z) == has_z;
    shape = number;
    z = has_z;
  }
  column.shape = same_shape ? *shape : 0;
  column.dimensions_known = same_z;
  column.dimensions = {same_z && *z, false};
}

/* A native form that the type does not have is a problem. */
void check_form(const arrow::Field& field, GeoColumn& column) {
  const arrow::DataType* type = field.type().get();
  if (column.form == GeoForm::kWkb) {
    const auto id = type->id();
    if (id != arrow::Type::BINARY && id != arrow::Type::LARGE_BINARY && id != arrow::Type::BINARY_VIEW)
      column.problem = "its type is " + type->ToString() + ", which is not well-known binary";
    return;
  }
  std::string item_name;
  for (int level = list_levels(column.form); level > 0; level--) {
    if (type->id() != arrow::Type::LIST && type->id() != arrow::Type::LARGE_LIST) {
      column.problem = "its type is " + type->ToString() + ", which has too few lists";
      return;
    }
    type = type->field(0)->type().get();
  }
  if (type->num_fields() == 1) item_name = type->field(0)->name();
  if (!coordinate_dimensions(*type, item_name, &column.dimensions)) {
    column.problem = "its type " + type->ToString() + " is none of coordinates";
    return;
  }
  column.dimensions_known = true;
  column.shape = static_cast<uint32_t>(column.form) - static_cast<uint32_t>(GeoForm::kPoint) + 1;
}

/* False: GeoParquet's metadata does not name the field. */
bool read_geoparquet(const Json& geo, const arrow::Field& field, GeoColumn& column) {
  const Json* columns = member(geo, "columns");
  const Json* metadata = columns ? member(*columns, field.name().c_str()) : nullptr;
  if (!metadata) return false;
  const std::string_view encoding = text_member(*metadata, "encoding");
  const auto native = native_form(encoding);
  column.form = native.value_or(GeoForm::kWkb);
  if (!native && encoding != "WKB") column.problem = "its encoding \"" + std::string(encoding) + "\" is not known";
  const Json* crs = member(*metadata, "crs");
  column.srid = crs ? srid_of(*crs) : kWgs84;
  note_edges(*metadata, column);
  if (column.form == GeoForm::kWkb) note_shapes(*metadata, column);
  return true;
}

void read_geoarrow(const arrow::Field& field, GeoColumn& column) {
  if (!field.metadata()) return;
  const std::string name = field.metadata()->Get(kExtensionName).ValueOr("");
  if (name == "geoarrow.wkb" || name == "ogc.wkb") {
    column.form = GeoForm::kWkb;
  } else if (name.starts_with("geoarrow.")) {
    const auto native = native_form(std::string_view(name).substr(9));
    if (!native) return;
    column.form = *native;
  } else {
    return;
  }
  const Json metadata = parsed(field.metadata()->Get(kExtensionMetadata).ValueOr(""));
  if (const Json* crs = member(metadata, "crs")) column.srid = srid_of(*crs);
  note_edges(metadata, column);
}

}  // namespace

int list_levels(GeoForm form) {
  switch (form) {
    case GeoForm::kLine:
    case GeoForm::kMultiPoint: return 1;
    case GeoForm::kPolygon:
    case GeoForm::kMultiLine: return 2;
    case GeoForm::kMultiPolygon: return 3;
    default: return 0;
  }
}

bool coordinate_dimensions(const arrow::DataType& coordinates, const std::string& item_name,
                           GeoDimensions* dimensions) {
  std::string names;
  if (coordinates.id() == arrow::Type::STRUCT) {
    for (const auto& field : coordinates.fields()) {
      if (field->type()->id() != arrow::Type::DOUBLE || field->name().size() != 1) return false;
      names += field->name();
    }
  } else if (coordinates.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(coordinates);
    if (list.value_type()->id() != arrow::Type::DOUBLE) return false;
    // The item's name tells z from m; it need not be there.
    constexpr std::string_view kUsual[] = {"", "", "xy", "xyz", "xyzm"};
    if (list.list_size() < 2 || list.list_size() > 4) return false;
    names = item_name == "xym" ? item_name : std::string(kUsual[list.list_size()]);
    if (names.size() != static_cast<size_t>(list.list_size())) return false;
  }
  if (names != "xy" && names != "xyz" && names != "xym" && names != "xyzm") return false;
  *dimensions = {names.size() > 2 && names[2] == 'z', names.back() == 'm'};
  return true;
}

std::vector<GeoColumn> geo_columns(const arrow::Schema& schema) {
  const Json geo = parsed(schema.metadata() ? schema.metadata()->Get(kGeoKey).ValueOr("") : "");
  std::vector<GeoColumn> columns;
  for (const auto& field : schema.fields()) {
    GeoColumn& column = columns.emplace_back();
    if (!read_geoparquet(geo, *field, column)) read_geoarrow(*field, column);
    if (column.form != GeoForm::kNone && column.problem.empty()) check_form(*field, column);
  }
  return columns;
}

std::string geometry_typmod(const GeoColumn& column) {
  if (!column.dimensions_known || (column.shape == 0 && column.srid == 0 && column.dimensions == GeoDimensions()))
    return "";
  // A type modifier always says which dimensions there are.
  std::string typmod = column.shape == 0 ? "(Geometry" : "(" + std::string(kShapes[column.shape]);
  if (column.dimensions.z) typmod += "Z";
  if (column.dimensions.m) typmod += "M";
  if (column.srid > 0) typmod += "," + std::to_string(column.srid);
  return typmod + ")";
}

}  // namespace turbine
