/*
 * model_test.cc - generated code of TB_EXPR_MODEL against the functions of turbine/model.h, bit by bit, as arguments
 * of aggregates and as a key; and the PTX of the same programs.
 */
#include "turbine/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/growing_groups.h"
#include "engine/program/group_layout.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::CompiledPipeline;
using testing::GrowingGroups;
using testing::ParamWriter;
using testing::PipelineCall;
using testing::ProgramWriter;

constexpr uint32_t kColumns = 3;
constexpr uint32_t kCentroids = 11;
constexpr uint32_t kModelRowCounts[] = {0, 1, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

template <class T>
T model_read_at(const uint8_t* row, uint32_t offset) {
  T v;
  std::memcpy(&v, row + offset, sizeof v);
  return v;
}

/* Rows of kColumns values, some of which are NULL, and two models. */
struct ModelRows {
  std::mt19937_64 random{5};
  std::vector<std::vector<double>> values{kColumns};
  std::vector<std::vector<uint8_t>> valid{kColumns};
  std::vector<double> weights, centroids;

  explicit ModelRows(uint32_t n) {
    std::normal_distribution<> normal;
    for (uint32_t c = 0; c < kColumns; c++)
      for (uint32_t i = 0; i < n; i++) {
        values[c].push_back(normal(random) * 10);
        valid[c].push_back(c == 1 ? random() % 4 != 0 : 1);
      }
    weights = {0.5, 1.25, -2, 0.75};
    for (uint32_t i = 0; i < kCentroids * kColumns; i++) centroids.push_back(normal(random) * 10);
  }

  std::vector<TbColumnData> columns() {
    std::vector<TbColumnData> all;
    for (uint32_t c = 0; c < kColumns; c++) all.push_back({values[c].data(), valid[c].data()});
    return all;
  }
  bool is_null(uint32_t i) const { return !valid[1][i]; }
  std::vector<double> row(uint32_t i) const { return {values[0][i], values[1][i], values[2][i]}; }

  double linear(uint32_t i) const {
    double z = weights[0];
    for (uint32_t c = 0; c < kColumns; c++) z = std::fma(weights[c + 1], values[c][i], z);
    return z;
  }
  uint32_t nearest(uint32_t i, double* distance) const {
    uint32_t found = 0;
    double least = INFINITY;
    const std::vector<double> x = row(i);
    for (uint32_t k = 0; k < kCentroids; k++) {
      const double squared = tb_squared_distance(&centroids[k * kColumns], 1, x.data(), kColumns);
      if (squared < least) {
        least = squared;
        found = k + 1;
      }
    }
    *distance = std::sqrt(least);
    return found;
  }
  double value(uint32_t kind, uint32_t i) const {
    double distance;
    switch (kind) {
      case TB_MODEL_LINEAR: return linear(i);
      case TB_MODEL_LOGISTIC: return tb_logistic(linear(i));
      case TB_MODEL_VARIANCE: return tb_logistic_variance(linear(i));
      case TB_MODEL_SOFTPLUS: return tb_softplus(linear(i));
      case TB_MODEL_PRODUCT: return values[0][i] * values[1][i] * values[2][i];
      default: nearest(i, &distance); return distance;
    }
  }

  /* The array of a parameter: values, then null flags. */
  static std::string array(const std::vector<double>& elements) {
    std::string bytes(reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(double));
    bytes.append(elements.size(), '\0');
    return bytes.append(-bytes.size() % 16, '\0');
  }
  std::string params() const {
    std::vector<double> laid(tb_model_length(TB_MODEL_NEAREST, kColumns, kCentroids), NAN);
    for (uint32_t k = 0; k < kCentroids; k++)
      for (uint32_t c = 0; c < kColumns; c++)
        laid[(k / TB_CENTROID_LANES * kColumns + c) * TB_CENTROID_LANES + k % TB_CENTROID_LANES] =
            centroids[k * kColumns + c];
    ParamWriter p;
    p.text(array(weights));
    p.text(array(laid));
    std::string block = p.block();
    const uint32_t lengths[] = {static_cast<uint32_t>(weights.size()), static_cast<uint32_t>(laid.size())};
    for (size_t i = 0; i < 2; i++)
      std::memcpy(&block[sizeof(TbParamBlock) + i * sizeof(TbParam) + offsetof(TbParam, length)], &lengths[i], 4);
    return block;
  }
};

/* The operands of models in a program. */
struct ModelOperands {
  std::vector<uint32_t> coefficients, centroids;
  explicit ModelOperands(ProgramWriter& w) {
    std::vector<uint32_t> columns;
    for (uint32_t c = 0; c < kColumns; c++) columns.push_back(w.column(TB_TYPE_FLOAT8, true));
    coefficients = {w.param(TB_TYPE_FLOAT8, 0, TB_PARAM_ARRAY)};
    centroids = {w.param(TB_TYPE_FLOAT8, 0, TB_PARAM_ARRAY)};
    coefficients.insert(coefficients.end(), columns.begin(), columns.end());
    centroids.insert(centroids.end(), columns.begin(), columns.end());
  }
};

constexpr uint32_t kModelKinds[] = {TB_MODEL_LINEAR,   TB_MODEL_LOGISTIC, TB_MODEL_VARIANCE,
                                    TB_MODEL_SOFTPLUS, TB_MODEL_DISTANCE, TB_MODEL_PRODUCT};

TEST(Model, ValuesAsArgumentsOfAggregates) {
  ProgramWriter w;
  const ModelOperands operands(w);
  for (const uint32_t kind : kModelKinds)
    if (tb_model_has_array(kind))
      w.aggregate(TB_AGG_MAX, w.expr(TB_EXPR_MODEL, TB_TYPE_FLOAT8, TB_EX_NULLABLE, kind,
                                     tb_model_has_centroids(kind) ? operands.centroids : operands.coefficients));
  w.aggregate(TB_AGG_MAX, w.expr(TB_EXPR_MODEL, TB_TYPE_FLOAT8, TB_EX_NULLABLE, TB_MODEL_PRODUCT,
                                 {operands.centroids.begin() + 1, operands.centroids.end()}));
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_NE(code.ptx().find("fma.rn.f64"), std::string::npos);
  const GroupLayout layout = group_layout(code.program());
  for (const uint32_t n : kModelRowCounts) {
    ModelRows rows(n);
    const std::vector<TbColumnData> columns = rows.columns();
    const std::string params = rows.params();
    EXPECT_NO_THROW(check_params(code.program(), {reinterpret_cast<const uint8_t*>(params.data()), params.size()}));
    GrowingGroups table(layout.row_size, 1, 0);
    PipelineCall run(columns, n, params);
    run.args.groups = &table.t;
    code.pipeline(&run.args);
    for (size_t k = 0; k < std::size(kModelKinds); k++) {
      double largest = -INFINITY;
      for (uint32_t i = 0; i < n; i++)
        if (!rows.is_null(i)) largest = std::max(largest, rows.value(kModelKinds[k], i));
      if (largest == -INFINITY)
        EXPECT_EQ(table.t.rows[layout.states[k].valid_offset], 0);
      else
        EXPECT_EQ(model_read_at<double>(table.t.rows, layout.states[k].value_offset), largest) << kModelKinds[k];
    }
  }
}

/* A key that is dear is kept from its hash to its look-up; a cheap one is evaluated twice. */
TEST(Model, NearestCentroidAsAKey) {
  for (const uint32_t cost : {1u, 1000u}) {
    ProgramWriter w;
    const ModelOperands operands(w);
    w.keys = {w.expr(TB_EXPR_MODEL, TB_TYPE_INT4, TB_EX_NULLABLE, TB_MODEL_NEAREST, operands.centroids)};
    w.exprs.back().cost = cost;
    w.aggregate(TB_AGG_COUNT);
    w.aggregate(TB_AGG_MIN, operands.centroids[1]);
    CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
    EXPECT_NE(code.ptx().find("tb_reserve"), std::string::npos);
    const GroupLayout layout = group_layout(code.program());
    for (const uint32_t n : kModelRowCounts) {
      ModelRows rows(n);
      std::map<uint32_t, std::pair<int64_t, double>> expected;  // 0: NULL
      for (uint32_t i = 0; i < n; i++) {
        double distance;
        auto& [count, least] =
            expected.try_emplace(rows.is_null(i) ? 0 : rows.nearest(i, &distance), 0, INFINITY).first->second;
        count++;
        least = std::min(least, rows.values[0][i]);
      }
      const std::vector<TbColumnData> columns = rows.columns();
      const std::string params = rows.params();
      GrowingGroups table(layout.row_size, 2, 32);
      PipelineCall run(columns, n, params);
      run.args.groups = &table.t;
      run.args.make_room = GrowingGroups::make_room;
      code.pipeline(&run.args);
      ASSERT_EQ(table.t.ngroups, expected.size());
      for (uint64_t g = 0; g < table.t.ngroups; g++) {
        const uint8_t* row = table.t.rows + g * table.t.row_size;
        const uint32_t key = row[layout.keys[0].valid_offset]
                                 ? model_read_at<uint32_t>(row, layout.keys[0].value_offset)
                                 : 0;
        ASSERT_TRUE(expected.contains(key));
        EXPECT_EQ(model_read_at<int64_t>(row, layout.states[0].value_offset), expected[key].first);
        EXPECT_EQ(model_read_at<double>(row, layout.states[1].value_offset), expected[key].second);
      }
    }
  }
}

}  // namespace
}  // namespace turbine
