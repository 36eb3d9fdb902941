/*
 * ssb.cc - the fact table of the Star Schema Benchmark, and cardinalities.
 *
 * Formulas are those of the benchmark's paper and of TPC-H, from which it
 * derives: 1,500,000 orders a scale factor with 1 to 7 lines each, order keys
 * with 8 of every 32 used, prices in cents.
 */
#include <algorithm>
#include <array>
#include <cmath>

#include "random.h"
#include "tables.h"

namespace turbine::datagen {
namespace {

constexpr uint64_t kOrderTable = 2;
constexpr int kMaxLines = 7;
constexpr int kLastOrderDay = 2405;  // 1998-08-02: later ones could not be shipped within the calendar
constexpr const char* kPriorities[] = {"1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"};
constexpr const char* kShipModes[] = {"REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"};

int64_t scaled(double factor, double unit) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::llround(factor * unit)));
}

struct Line {
  int64_t part, supplier, quantity, discount, tax, price, revenue;
  int32_t commit_day;
  const char* mode;
};

Line make_line(const Scale& scale, int32_t order_day, RowRandom& random) {
  Line line;
  line.part = random.between(1, scale.parts());
  line.supplier = random.between(1, scale.suppliers());
  line.quantity = random.between(1, 50);
  line.discount = random.between(0, 10);
  line.tax = random.between(0, 8);
  line.price = line.quantity * retail_price(line.part);
  line.revenue = line.price * (100 - line.discount) / 100;
  line.commit_day = order_day + static_cast<int32_t>(random.between(30, 90));
  line.mode = kShipModes[random.between(0, std::size(kShipModes) - 1)];
  return line;
}

/* Customers whose number is a multiple of 3 never order, as in TPC-H. */
int64_t ordering_customer(const Scale& scale, RowRandom& random) {
  int64_t customer = random.between(1, scale.customers());
  if (customer % 3 == 0) customer += customer < scale.customers() ? 1 : -1;
  return std::max<int64_t>(customer, 1);
}

int64_t sparse_order_key(int64_t order) { return (order / 8) * 32 + order % 8 + 1; }

}  // namespace

int64_t Scale::customers() const { return scaled(factor, 30'000); }
int64_t Scale::suppliers() const { return scaled(factor, 2'000); }
int64_t Scale::orders() const { return scaled(factor, 1'500'000); }
int64_t Scale::parts() const {
  if (factor < 1) return scaled(factor, 200'000);
  return 200'000 * static_cast<int64_t>(1 + std::floor(std::log2(factor)));
}

int64_t retail_price(int64_t partkey) { return 90'000 + (partkey / 10) % 20'001 + (partkey % 1'000) * 100; }

void write_lineorder(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  for (int64_t order = first; order < first + count; order++) {
    RowRandom random(scale.seed, kOrderTable, static_cast<uint64_t>(order));
    int64_t customer = ordering_customer(scale, random);
    int32_t day = static_cast<int32_t>(random.between(0, kLastOrderDay));
    const char* priority = kPriorities[random.between(0, std::size(kPriorities) - 1)];
    int lines = static_cast<int>(random.between(1, kMaxLines));
    std::array<Line, kMaxLines> line;
    int64_t total = 0;
    for (int i = 0; i < lines; i++) {
      line[i] = make_line(scale, day, random);
      total += line[i].revenue * (100 + line[i].tax) / 100;
    }
    for (int i = 0; i < lines; i++) {
      out.begin_row(17);
      out.int8(sparse_order_key(order));
      out.int4(i + 1);
      out.int4(static_cast<int32_t>(customer));
      out.int4(static_cast<int32_t>(line[i].part));
      out.int4(static_cast<int32_t>(line[i].supplier));
      out.int4(date_key(day));
      out.text(priority);
      out.text("0");
      out.int4(static_cast<int32_t>(line[i].quantity));
      out.int4(static_cast<int32_t>(line[i].price));
      out.int4(static_cast<int32_t>(total));
      out.int4(static_cast<int32_t>(line[i].discount));
      out.int4(static_cast<int32_t>(line[i].revenue));
      out.int4(static_cast<int32_t>(6 * retail_price(line[i].part) / 10));
      out.int4(static_cast<int32_t>(line[i].tax));
      out.int4(date_key(line[i].commit_day));
      out.text(line[i].mode);
    }
  }
}

}  // namespace turbine::datagen
