/*
 * join_table_cases.h - rows and the join tables made of them, compared with what the contract
 * says a look-up finds; for the tests of whatever builds tables.
 *
 * Who includes it defines make_table().
 */
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/host/kept_parts.h"
#include "engine/device/join_table.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

std::shared_ptr<const JoinTable> make_table(const KeptRowLayout& shape, KeptParts::Stores stores, WorkerPool& pool,
                                            MemoryBudget& budget);

constexpr uint64_t kPlenty = 8ull << 30;

[[maybe_unused]] uint64_t hash_of(int64_t key) {
  uint64_t hash = (static_cast<uint64_t>(key) + 1) * 0x9fb21c651e98df25ull;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
  return hash ^ hash >> 32;
}

uint64_t hash_of(const std::string& bytes) { return std::hash<std::string>()(bytes); }

/* A value of any type, as its bytes; of text, the text. */
using Value = std::string;

template <class T>
Value value_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

class TableTest : public ::testing::Test {
 protected:
  KeptRowLayout shape_;
  MemoryBudget budget_{kPlenty};
  WorkerPool pool_{"worker", 4};
  KeptParts::Stores stores_;
  std::shared_ptr<const JoinTable> table_;
  /* What each row holds, by its keys: outputs as text, "-" where NULL. */
  std::multimap<std::vector<Value>, std::vector<Value>> rows_;

  void shape(std::vector<uint8_t> keys, std::vector<KeptColumn> outputs, bool keep_null_keys = false) {
    shape_.nkeys = keys.size();
    shape_.keeps_null_keys = keep_null_keys;
    for (uint8_t key : keys) shape_.columns.push_back({key, 0, keep_null_keys});
    shape_.columns.insert(shape_.columns.end(), outputs.begin(), outputs.end());
    for (int i = 0; i < 3; i++) stores_.push_back(std::make_unique<HostRowStore>(shape_, !keys.empty(), 16, budget_));
  }

  void put(HostRowStore& store, size_t column, const Value& value, bool null) {
    TbRowStore& raw = *store.raw();
    const KeptColumn& c = shape_.columns[column];
    const uint32_t width = tb_type_width(c.type);
    uint8_t* at = static_cast<uint8_t*>(raw.columns[column].values) + raw.nrows * width;
    if (c.nullable) raw.columns[column].valid[raw.nrows] = !null;
    if (!tb_type_is_text(c.type)) {
      memcpy(at, value.data(), width);
      return;
    }
    // Where NULL, the view is whatever was there before.
    TbTextView view{12345, 1, 2, 0xfffffff0u};
    if (!null) {
      store.ensure_bytes(value.size());
      view = {static_cast<uint32_t>(value.size()), 0, 0, static_cast<uint32_t>(raw.arena_used)};
      memcpy(&view.prefix, value.data(), std::min<size_t>(value.size(), 4));
      memcpy(raw.arena + raw.arena_used, value.data(), value.size());
      raw.arena_used += value.size();
    }
    memcpy(at, &view, sizeof view);
  }

  /* A row of some worker; outputs that are "-" are NULL. */
  void add(const std::vector<Value>& keys, const std::vector<Value>& outputs, size_t worker = 0, bool remember = true) {
    HostRowStore& store = *stores_[worker];
    store.ensure_rows(1);
    std::string all;
    for (size_t i = 0; i < keys.size(); i++) {
      put(store, i, keys[i] == "-" ? Value(16, '\x5a') : keys[i], keys[i] == "-");
      all += keys[i] + '\0';
    }
    for (size_t i = 0; i < outputs.size(); i++) put(store, keys.size() + i, outputs[i], outputs[i] == "-");
    if (!keys.empty()) store.raw()->hashes[store.size()] = hash_of(all);
    store.raw()->nrows++;
    if (remember) rows_.emplace(keys, outputs);
  }

  const TbJoinTable* build() {
    std::erase_if(stores_, [](const auto& store) { return store->size() == 0; });
    table_ = make_table(shape_, std::move(stores_), pool_, budget_);
    return table_->raw();
  }

  template <class T>
  const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(table_->raw()) + offset);
  }
  Value read(size_t column, uint32_t row) const {
    const auto& c = table_->raw()->columns[column];
    if (c.valid && !at<uint8_t>(c.valid)[row]) return "-";
    const uint32_t type = shape_.columns[column].type;
    const uint32_t width = tb_type_width(type);
    const uint8_t* value = at<uint8_t>(c.values) + uint64_t{row} * width;
    if (!tb_type_is_text(type)) return {reinterpret_cast<const char*>(value), width};
    TbTextView view;
    memcpy(&view, value, sizeof view);
    EXPECT_LE(uint64_t{view.offset} + view.length, table_->raw()->bytes_size);
    return {at<char>(table_->raw()->bytes) + view.offset, view.length};
  }

  static uint32_t rank_of(TbRankWord word, unsigned bit) {
    if (!(word.bits >> bit & 1)) return TB_NONE;
    uint32_t rank = word.before;
    for (unsigned i = 0; i < bit; i++) rank += word.bits >> i & 1;
    return rank;
  }

  uint32_t first_match(const std::vector<Value>& keys, int64_t key) const {
    const TbJoinTable& t = *table_->raw();
    const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(t.key_min);
    if (t.nrows == 0) return TB_NONE;
    switch (t.kind) {
      case TB_TABLE_ALL: return 0;
      case TB_TABLE_DENSE:
        if (place >= t.key_span) return TB_NONE;
        return rank_of(at<TbRankWord>(t.buckets)[place / 32], place % 32);
      case TB_TABLE_DIRECT: return place < t.key_span ? at<uint32_t>(t.buckets)[place] - 1 : TB_NONE;
      default: break;
    }
    std::string all;
    for (const Value& k : keys) all += k + '\0';
    const uint64_t hash = hash_of(all);
    for (uint64_t i = hash & t.bucket_mask;; i = (i + 1) & t.bucket_mask) {
      const uint64_t bucket = at<uint64_t>(t.buckets)[i];
      if (bucket == 0) return TB_NONE;
      const auto row = static_cast<uint32_t>(bucket) - 1;
      if (bucket >> 32 != hash >> 32) continue;
      bool same = true;
      for (size_t k = 0; k < keys.size(); k++) same &= read(k, row) == keys[k];
      if (same) return row;
    }
  }

  /* Outputs of the rows that a look-up finds. */
  std::multiset<std::vector<Value>> look_up(const std::vector<Value>& keys, int64_t key = 0) const {
    const TbJoinTable& t = *table_->raw();
    std::multiset<std::vector<Value>> found;
    uint32_t row = first_match(keys, key);
    while (row != TB_NONE) {
      EXPECT_LT(row, t.nrows);
      std::vector<Value> outputs;
      for (size_t i = shape_.nkeys; i < shape_.columns.size(); i++) outputs.push_back(read(i, row));
      found.insert(outputs);
      if (found.size() > rows_.size()) {
        ADD_FAILURE() << "a chain without an end";
        break;
      }
      if (t.kind == TB_TABLE_ALL)
        row = row + 1 < t.nrows ? row + 1 : TB_NONE;
      else
        row = t.next ? at<uint32_t>(t.next)[row] - 1 : TB_NONE;
    }
    return found;
  }

  std::multiset<std::vector<Value>> expected(const std::vector<Value>& keys) const {
    std::multiset<std::vector<Value>> result;
    const auto [begin, end] = rows_.equal_range(keys);
    for (auto it = begin; it != end; ++it) result.insert(it->second);
    return result;
  }
};

/* int8 keys -> int4; -1 and on. */
TEST_F(TableTest, DenseRowsAreFoundByRank) {
  shape({TB_TYPE_INT8}, {{TB_TYPE_INT4, 0, false}, {TB_TYPE_TEXT, 0, true}});
  const int64_t base = std::numeric_limits<int64_t>::min();
  for (int64_t i = 0; i < 3000; i += 3)
    add({value_of(base + i)}, {value_of(static_cast<int32_t>(i)), i % 2 ? "-" : "text " + std::to_string(i)},
        i % 3 ? 1 : 2);
  const TbJoinTable* t = build();
  ASSERT_EQ(t->kind, TB_TABLE_DENSE);
  EXPECT_EQ(t->key_min, base);
  EXPECT_EQ(t->nrows, 1000u);
  EXPECT_EQ(t->next, 0u);
  EXPECT_EQ(t->columns[0].values, 0u) << "the key is not kept";
  EXPECT_EQ(table_->rows(), 1000u);
  for (int64_t i = -5; i < 3005; i++) {
    const auto key = static_cast<int64_t>(static_cast<uint64_t>(base) + static_cast<uint64_t>(i));
    EXPECT_EQ(look_up({value_of(key)}, key), expected({value_of(key)})) << i;
  }
}

TEST_F(TableTest, RepeatedKeysThatLieCloseAreDirect) {
  shape({TB_TYPE_DATE}, {{TB_TYPE_INT8, 0, true}});
  std::mt19937 random(3);
  for (int i = 0; i < 50000; i++) {
    const auto key = static_cast<int32_t>(random() % 9000) - 4000;
    add({value_of(key)}, {i % 7 ? value_of(int64_t{i}) : "-"}, random() % 3);
  }
  const TbJoinTable* t = build();
  ASSERT_EQ(t->kind, TB_TABLE_DIRECT);
  EXPECT_NE(t->next, 0u);
  EXPECT_FALSE(table_->unique());
  for (int32_t key = -4100; key < 5100; key++)
    ASSERT_EQ(look_up({value_of(key)}, key), expected({value_of(key)})) << key;
}

TEST_F(TableTest, KeysFarApartAreHashed) {
  shape({TB_TYPE_INT4}, {{TB_TYPE_INT2, 0, false}});
  for (int32_t i = 0; i < 60000; i++) add({value_of(i * 30000)}, {value_of(static_cast<int16_t>(i))}, i % 3u);
  const TbJoinTable* t = build();
  ASSERT_EQ(t->kind, TB_TABLE_HASH);
  EXPECT_EQ(t->next, 0u);
  EXPECT_TRUE(table_->unique());
  EXPECT_GE(t->bucket_mask + 1, 2 * t->nrows);
  for (int32_t i = 0; i < 60000; i++) ASSERT_EQ(look_up({value_of(i * 30000)}).size(), 1u);
  EXPECT_TRUE(look_up({value_of(1)}).empty());
}

TEST_F(TableTest, ExtremesAreNotARange) {
  shape({TB_TYPE_INT8}, {});
  for (int64_t key : {std::numeric_limits<int64_t>::min(), int64_t{0}, std::numeric_limits<int64_t>::max()})
    add({value_of(key)}, {});
  EXPECT_EQ(build()->kind, TB_TABLE_HASH);
  EXPECT_EQ(look_up({value_of(std::numeric_limits<int64_t>::max())}).size(), 1u);
}

TEST_F(TableTest, TextAndCompositeKeys) {
  shape({TB_TYPE_TEXT, TB_TYPE_NUM128, TB_TYPE_BOOL}, {{TB_TYPE_TEXT, 0, true}, {TB_TYPE_BPCHAR, 0, false}});
  std::mt19937 random(5);
  for (int i = 0; i < 30000; i++) {
    // Texts that are equal in their first bytes, or as long as a prefix.
    const std::string text = std::string(random() % 3, 'a') + "key" + std::to_string(random() % 500);
    add({text.substr(0, random() % 2 ? 4 : 100), value_of(static_cast<__int128>(random() % 4) << 70),
         value_of(static_cast<uint8_t>(random() % 2))},
        {i % 3 ? "output " + std::to_string(i) : "-", ""}, random() % 3);
  }
  const TbJoinTable* t = build();
  ASSERT_EQ(t->kind, TB_TABLE_HASH);
  EXPECT_NE(t->next, 0u);
  for (auto it = rows_.begin(); it != rows_.end(); it = rows_.upper_bound(it->first))
    ASSERT_EQ(look_up(it->first), expected(it->first));
  EXPECT_TRUE(look_up({"nothing", value_of(static_cast<__int128>(0)), value_of(uint8_t{0})}).empty());
}

/* For FULL joins: rows with NULL keys are there, with their outputs, but not found. */
class NullKeyTest : public TableTest, public ::testing::WithParamInterface<uint32_t> {};

TEST_P(NullKeyTest, StayAndAreNotFound) {
  const uint32_t kind = GetParam();
  shape({TB_TYPE_INT4}, {{TB_TYPE_INT8, 0, false}}, true);
  std::multiset<Value> all;
  std::set<int32_t> keys;
  for (int64_t i = 0; i < 40000; i++) {
    const bool null = kind != TB_TABLE_DENSE && i % 5 == 0;
    const int32_t key = static_cast<int32_t>(kind == TB_TABLE_HASH ? i * 40000 : kind == TB_TABLE_DENSE ? i : i / 3);
    add({null ? "-" : value_of(key)}, {value_of(i)}, i % 3u, !null);
    all.insert(value_of(i));
    if (!null) keys.insert(key);
  }
  const TbJoinTable* t = build();
  ASSERT_EQ(t->kind, kind);
  ASSERT_EQ(t->nrows, 40000u);
  for (int32_t key : keys) ASSERT_EQ(look_up({value_of(key)}, key), expected({value_of(key)})) << key;
  // What the keys' memory has where they are NULL.
  EXPECT_TRUE(look_up({value_of(0x5a5a5a5a)}, 0x5a5a5a5a).empty());
  std::multiset<Value> found;
  for (uint32_t row = 0; row < t->nrows; row++) found.insert(read(1, row));
  EXPECT_EQ(found, all);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NullKeyTest, ::testing::Values(TB_TABLE_HASH, TB_TABLE_DIRECT, TB_TABLE_DENSE));

TEST_F(TableTest, OnlyNullKeysOrSomeOfSeveral) {
  for (bool several : {false, true}) {
    shape_ = {};
    rows_.clear();
    shape(several ? std::vector<uint8_t>{TB_TYPE_TEXT, TB_TYPE_INT4} : std::vector<uint8_t>{TB_TYPE_INT4},
          {{TB_TYPE_TEXT, 0, true}}, true);
    for (int32_t i = 0; i < 90; i++) {
      const Value output = i % 4 ? "row " + std::to_string(i) : "-";
      if (!several) add({"-"}, {output}, i % 3u, false);
      if (several) add({i % 2 ? "-" : "key", i % 3 ? "-" : value_of(i)}, {output}, i % 3u, i % 6 == 0);
    }
    ASSERT_EQ(build()->nrows, 90u);
    for (int32_t i = 0; i < 90; i++) {
      const std::vector<Value> keys = several ? std::vector<Value>{"key", value_of(i)}
                                              : std::vector<Value>{value_of(i)};
      EXPECT_EQ(look_up(keys, i), expected(keys));
    }
  }
}

TEST_F(TableTest, WithoutKeysEveryRowIsFound) {
  shape({}, {{TB_TYPE_FLOAT8, 0, true}});
  for (int i = 0; i < 100; i++) add({}, {i % 4 ? value_of(double(i)) : "-"}, i % 3u);
  EXPECT_EQ(build()->kind, TB_TABLE_ALL);
  EXPECT_EQ(look_up({}), expected({}));
  EXPECT_FALSE(table_->unique());
}

TEST_F(TableTest, EmptyTables) {
  for (std::vector<uint8_t> keys : {std::vector<uint8_t>{}, {TB_TYPE_INT4}, {TB_TYPE_TEXT, TB_TYPE_INT4}}) {
    shape_ = {};
    stores_.clear();
    shape(keys, {{TB_TYPE_TEXT, 0, true}, {TB_TYPE_INT4, 0, false}});
    const TbJoinTable* t = build();
    EXPECT_EQ(t->nrows, 0u);
    EXPECT_NE(t->columns[keys.size()].valid, 0u) << "programs take it for nullable";
    EXPECT_TRUE(look_up(std::vector<Value>(keys.size(), value_of(int32_t{1})), 1).empty());
    EXPECT_TRUE(table_->unique());
    EXPECT_LE(t->total_size, table_->charged_bytes());
  }
}

/* Of every kind of table, with many rows and few, over all workers' rows. */
TEST_F(TableTest, BoundsAreThoseOfAllRows) {
  for (int64_t step : {int64_t{1}, int64_t{0}, int64_t{1} << 40}) {
    for (int64_t n : {1, 40000}) {
      shape_ = {};
      shape({TB_TYPE_INT8}, {});
      for (int64_t i = 0; i < n; i++) add({value_of(i * step - 77)}, {}, i % 3u, false);
      build();
      ASSERT_EQ(table_->bounds().size(), 1u);
      EXPECT_FALSE(table_->bounds()[0].empty());
      EXPECT_EQ(table_->bounds()[0].min, -77);
      EXPECT_EQ(table_->bounds()[0].max, (n - 1) * step - 77);
    }
  }
}

TEST_F(TableTest, BoundsOfTheFirstIntegerKeys) {
  shape({TB_TYPE_TEXT, TB_TYPE_INT2, TB_TYPE_TIMESTAMPTZ, TB_TYPE_DATE, TB_TYPE_INT4}, {});
  const int64_t last = std::numeric_limits<int64_t>::max();
  add({"a", value_of(int16_t{-3}), value_of(int64_t{5}), value_of(int32_t{9}), value_of(int32_t{1})}, {}, 0, false);
  add({"b", value_of(int16_t{4}), value_of(last), value_of(int32_t{-9}), value_of(int32_t{2})}, {}, 1, false);
  build();
  const std::vector<KeyBounds>& bounds = table_->bounds();
  ASSERT_EQ(bounds.size(), static_cast<size_t>(TB_MAX_KEY_BOUNDS));
  EXPECT_TRUE(bounds[0].empty()) << "of a text";
  EXPECT_EQ(bounds[1].min, -3);
  EXPECT_EQ(bounds[1].max, 4);
  EXPECT_EQ(bounds[2].min, 5);
  EXPECT_EQ(bounds[2].max, last);
  EXPECT_EQ(bounds[3].min, -9);
  EXPECT_EQ(bounds[3].max, 9);
}

TEST_F(TableTest, WithoutRowsOrKeysThereAreNoBounds) {
  shape({TB_TYPE_INT4}, {});
  build();
  ASSERT_EQ(table_->bounds().size(), 1u);
  EXPECT_TRUE(table_->bounds()[0].empty());

  shape_ = {};
  stores_.clear();
  shape({TB_TYPE_INT4}, {}, true);
  for (int i = 0; i < 10; i++) add({"-"}, {}, 0, false);
  build();
  EXPECT_TRUE(table_->bounds()[0].empty()) << "rows with NULL keys only";
  EXPECT_TRUE(table_->bounds()[0].nulls);

  shape_ = {};
  stores_.clear();
  shape({}, {{TB_TYPE_INT4, 0, false}});
  add({}, {value_of(int32_t{1})}, 0, false);
  build();
  EXPECT_TRUE(table_->bounds().empty());
}

}  // namespace
}  // namespace turbine
