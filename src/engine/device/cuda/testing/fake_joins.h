/*
 * fake_joins.h - join tables for the join shapes of fake_kernels.h, host
 * functions that probe and project, and the answers to expect; for tests only.
 *
 *   FROM chunks JOIN inner ON inner.key = v LEFT JOIN outer ON outer.key = v
 *
 * `inner` has payload p and text t (maybe NULL), `outer` has q, one row a key.
 * All kernels filter v < 0 away, and deliver in no good order.
 */
#pragma once

#include <optional>

#include "engine/device/cuda/testing/fake_kernels.h"
#include "engine/device/join_table.h"

namespace turbine::cuda::testing {

struct InnerRow {
  int32_t key;
  int32_t value;  // p, or q
  std::optional<std::string> text;
};

/* As DIRECT, with key_min 0; columns: key (not kept), value, text. */
inline std::shared_ptr<const JoinTable> make_join_table(const std::vector<InnerRow>& rows, bool with_text) {
  int32_t span = 1;
  std::string bytes;
  for (const InnerRow& row : rows) {
    span = std::max(span, row.key + 1);
    if (row.text) bytes += *row.text;
  }
  const uint64_t n = rows.size(), ncolumns = with_text ? 3 : 2;
  uint64_t size = 0;
  auto place = [&size](uint64_t length) {
    const uint64_t at = (size + 63) / 64 * 64;
    size = at + length;
    return at;
  };
  TbJoinTable header{};
  place(sizeof header + ncolumns * 2 * sizeof(uint64_t));
  header.kind = TB_TABLE_DIRECT;
  header.ncolumns = static_cast<uint32_t>(ncolumns);
  header.nrows = n;
  header.key_span = static_cast<uint64_t>(span);
  header.buckets = place(header.key_span * sizeof(uint32_t));
  const uint64_t next = place(n * sizeof(uint32_t)), values = place(n * sizeof(int32_t));
  const uint64_t views = place(n * sizeof(TbTextView)), valid = place(n);
  header.bytes = place(bytes.size());
  header.bytes_size = bytes.size();
  header.total_size = place(0);

  static MemoryBudget unlimited(UINT64_MAX);
  HostBuffer block(unlimited, header.total_size);
  auto* buckets = reinterpret_cast<uint32_t*>(block.data() + header.buckets);
  auto* chain = reinterpret_cast<uint32_t*>(block.data() + next);
  bool chained = false;
  uint32_t offset = 0;
  for (size_t i = 0; i < n; i++) {
    chained = chained || buckets[rows[i].key] != 0;
    chain[i] = buckets[rows[i].key];  // the newest comes first
    buckets[rows[i].key] = static_cast<uint32_t>(i + 1);
    reinterpret_cast<int32_t*>(block.data() + values)[i] = rows[i].value;
    if (!rows[i].text) continue;
    TbTextView view{static_cast<uint32_t>(rows[i].text->size()), 0, 0, offset};
    std::memcpy(&view.prefix, rows[i].text->data(), std::min<size_t>(4, rows[i].text->size()));
    reinterpret_cast<TbTextView*>(block.data() + views)[i] = view;
    block.data()[valid + i] = 1;
    std::memcpy(block.data() + header.bytes + offset, rows[i].text->data(), rows[i].text->size());
    offset += view.length;
  }
  header.next = chained ? next : 0;
  std::memcpy(block.data(), &header, sizeof header);
  auto* columns = reinterpret_cast<TbJoinTable*>(block.data())->columns;
  columns[0] = {0, 0};
  columns[1] = {values, 0};
  if (with_text) columns[2] = {views, valid};
  KeptRowLayout shape;
  shape.nkeys = 1;
  shape.columns = {{TB_TYPE_INT4, 0, false}, {TB_TYPE_INT4, 0, false}};
  if (with_text) shape.columns.push_back({TB_TYPE_TEXT, 0, true});
  return std::make_shared<const JoinTable>(std::move(block), std::move(shape), n);
}

/* How many rows of `inner` have a key: none or one, some, or for key 7 so many
 * that one row's tuples do not fit a chunk's. */
enum class Matches { UNIQUE, SEVERAL, BURST };
inline constexpr int32_t kInnerKeys = 1000;
inline constexpr int32_t kBurst = 6000;

inline int32_t matches_of(int32_t key, Matches matches) {
  if (key < 0 || key >= kInnerKeys) return 0;
  if (matches == Matches::UNIQUE) return key % 4 != 3;
  return matches == Matches::BURST && key == 7 ? kBurst : key % 4;
}
inline InnerRow inner_row(int32_t key, int32_t match) {
  const int32_t p = key * 3 + match;
  if (p % 5 == 0) return {key, p, std::nullopt};
  return {key, p, std::string(static_cast<size_t>(p % 100), static_cast<char>('a' + p % 26)) + std::to_string(p)};
}
inline std::optional<int32_t> outer_value(int32_t key) {
  return key >= 0 && key < kInnerKeys && key % 2 == 0 ? std::optional<int32_t>(key + 1000000) : std::nullopt;
}

inline JoinTables fake_tables(Matches matches) {
  std::vector<InnerRow> inner, outer;
  for (int32_t key = 0; key < kInnerKeys; key++) {
    for (int32_t match = 0; match < matches_of(key, matches); match++) inner.push_back(inner_row(key, match));
    if (auto q = outer_value(key)) outer.push_back({key, *q, std::nullopt});
  }
  return {make_join_table(inner, true), make_join_table(outer, false)};
}

template <class T>
const T* in_table(const TbJoinTable* table, uint64_t offset) {
  return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(table) + offset);
}

/* The first row with the key, + 1. */
inline uint32_t first_match(const TbJoinTable* table, int32_t key) {
  if (static_cast<uint64_t>(static_cast<int64_t>(key)) >= table->key_span) return 0;
  return in_table<uint32_t>(table, table->buckets)[key];
}

inline void fake_probe(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  const uint64_t room = args.tuple_capacity;
  for (uint32_t row = args.nrows; row-- > args.first_row;) {
    const uint32_t number = tb_test_row_number(&args, row);
    const int32_t value = fake_column_value(args, number);
    if (value < 0) continue;
    args.rows_passed++;
    const TbJoinTable* inner = args.tables[0];
    for (uint32_t match = first_match(inner, value); match != 0;
         match = inner->next ? in_table<uint32_t>(inner, inner->next)[match - 1] : 0) {
      args.join_rows[0]++;
      args.join_rows[1]++;
      const uint64_t at = args.ntuples++;
      if (at >= room) continue;
      args.tuples[at] = number;
      args.tuples[room + at] = match - 1;
      args.tuples[2 * room + at] = first_match(args.tables[1], value) - 1;  // 0: TB_NONE
    }
  }
}

/* Outputs v, p, t, q. */
inline void fake_project(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  TbRowStore& store = *args.store;
  const uint64_t room = args.tuple_capacity;
  const TbJoinTable *inner = args.tables[0], *outer = args.tables[1];
  for (uint64_t i = args.ntuples; i-- > 0;) {
    const uint32_t row = args.tuples[i], match = args.tuples[room + i], other = args.tuples[2 * room + i];
    const uint64_t at = store.nrows++;
    if (at >= store.capacity) throw FakeDriver::KernelFault{kIllegalAddress};
    static_cast<int32_t*>(store.columns[0].values)[at] = fake_column_value(args, row);
    static_cast<int32_t*>(store.columns[1].values)[at] = in_table<int32_t>(inner, inner->columns[1].values)[match];
    TbTextView view = in_table<TbTextView>(inner, inner->columns[2].values)[match];
    const uint8_t valid = in_table<uint8_t>(inner, inner->columns[2].valid)[match];
    if (valid) {
      if (store.arena_used + view.length > store.arena_capacity) {
        store.full = 1;
        return;
      }
      std::memcpy(store.arena + store.arena_used, in_table<uint8_t>(inner, inner->bytes) + view.offset, view.length);
      view.offset = static_cast<uint32_t>(store.arena_used);
      store.arena_used += view.length;
    }
    static_cast<TbTextView*>(store.columns[2].values)[at] = valid ? view : TbTextView{};
    store.columns[2].valid[at] = valid;
    if (other != TB_NONE)
      static_cast<int32_t*>(store.columns[3].values)[at] = in_table<int32_t>(outer, outer->columns[1].values)[other];
    store.columns[3].valid[at] = other != TB_NONE;
  }
}

inline std::string projected_row(int32_t v, int32_t p, const std::optional<std::string>& t, std::optional<int32_t> q) {
  return std::to_string(v) + '|' + std::to_string(p) + '|' + t.value_or("NULL") + '|' +
         (q ? std::to_string(*q) : std::string("NULL"));
}

/* What the shapes give for the values. */
struct ExpectedJoin {
  std::map<int32_t, int64_t> counts;  // by p
  int64_t count = 0, sum = 0, rows_passed = 0;
  std::map<std::string, int64_t> rows;
};
inline ExpectedJoin expected_join(const std::vector<FakePage>& pages, Matches matches) {
  ExpectedJoin expected;
  for (const FakePage& page : pages)
    for (uint32_t i = 0; i < page.nrows; i++) {
      const int32_t v = page.values[i];
      expected.rows_passed += v >= 0;
      for (int32_t match = 0; match < matches_of(v, matches); match++) {
        const InnerRow row = inner_row(v, match);
        expected.counts[row.value]++;
        expected.count++;
        expected.sum += row.value;
        expected.rows[projected_row(v, row.value, row.text, outer_value(v))]++;
      }
    }
  return expected;
}

}  // namespace turbine::cuda::testing
