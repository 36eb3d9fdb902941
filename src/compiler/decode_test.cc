/*
 * decode_test.cc - tb_decode of generated host objects against pages written by
 * an independent writer, over random schemas, values, NULLs, short tuples and
 * varlena forms; damaged pages between guard pages; and the PTX of the same
 * programs.
 */
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "compiler/jit/compile_program.h"
#include "compiler/testing/decoder.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/heap_page_writer.h"
#include "compiler/testing/loaded_object.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::attribute;
using testing::Datum;
using testing::Decoded;
using testing::Decoder;
using testing::GuardedPages;
using testing::numeric_payload;
using testing::PageWriter;
using testing::ParamWriter;
using testing::ProgramWriter;
using testing::TupleWriter;
using testing::VarlenaForm;
using Random = std::mt19937_64;

/* What a column of a random table can be. */
struct Kind {
  int16_t length;
  uint8_t align;
  uint8_t type;  // 0: never referenced
};
constexpr Kind kKinds[] = {
    {1, 1, TB_TYPE_BOOL},
    {2, 2, TB_TYPE_INT2},
    {4, 4, TB_TYPE_INT4},
    {8, 8, TB_TYPE_INT8},
    {8, 8, TB_TYPE_FLOAT8},
    {4, 4, TB_TYPE_DATE},
    {-1, 4, TB_TYPE_NUM64},
    {-1, 4, TB_TYPE_NUM128},
    {-1, 4, TB_TYPE_TEXT},
    {-1, 4, TB_TYPE_BPCHAR},
    {-1, 8, 0},
    {-2, 1, 0},
    {64, 1, 0},
    {16, 8, 0},
    {6, 2, 0},
    {-1, 1, 0},
};

struct Attribute {
  Kind kind;
  int16_t scale = 0;
  bool nullable = false;
  bool dropped = false;
  bool referenced = false;
};

/* A value: its form in a tuple, and the bytes that a column must hold. */
struct Value {
  Datum datum;
  std::string expected;
};

std::string random_bytes(Random& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

std::string random_decimal(Random& random, int digits, int scale) {
  std::string s;
  const int used = digits == 0 ? 0 : static_cast<int>(random() % static_cast<unsigned>(digits + 1));
  for (int i = 0; i < used; i++) s += static_cast<char>('0' + (random() % 3 ? random() % 10 : 0));
  while (static_cast<int>(s.size()) <= scale) s = "0" + s;
  if (scale > 0) s.insert(s.size() - static_cast<size_t>(scale), ".");
  return (random() % 2 ? "-" : "") + s;
}

/* The digits of a decimal string as an integer. */
__int128 scaled_integer(const std::string& decimal) {
  __int128 value = 0;
  for (char c : decimal)
    if (c >= '0' && c <= '9') value = value * 10 + (c - '0');
  return decimal[0] == '-' ? -value : value;
}

VarlenaForm random_form(Random& random) { return random() % 4 == 0 ? VarlenaForm::kLong : VarlenaForm::kAuto; }

Value random_value(Random& random, const Attribute& a) {
  switch (a.kind.type) {
    case TB_TYPE_BOOL: {
      const std::string bytes(1, static_cast<char>(random() % 2));
      return {{bytes}, bytes};
    }
    case TB_TYPE_NUM64:
    case TB_TYPE_NUM128: {
      const bool narrow = a.kind.type == TB_TYPE_NUM64;
      const std::string decimal = random_decimal(random, narrow ? 18 : 38, a.scale);
      const __int128 value = scaled_integer(decimal);
      return {{numeric_payload(decimal, random() % 4 == 0), random_form(random)},
              std::string(reinterpret_cast<const char*>(&value), narrow ? 8 : 16)};
    }
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR:
    case 0: break;
    default: {
      const std::string bytes = random_bytes(random, tb_type_width(a.kind.type));
      return {{bytes}, bytes};
    }
  }
  if (a.kind.length > 0) return {{random_bytes(random, static_cast<size_t>(a.kind.length))}, ""};
  std::string bytes = random_bytes(random, random() % 8 ? random() % 20 : random() % 400);
  if (a.kind.length == -2) {
    for (char& c : bytes) c = static_cast<char>(c | 1);
    return {{bytes}, ""};
  }
  if (a.kind.type == TB_TYPE_BPCHAR && !bytes.empty()) bytes.back() = 'x';
  const std::string blanks(a.kind.type == TB_TYPE_BPCHAR ? random() % 5 : 0, ' ');
  return {{bytes + blanks, random_form(random)}, bytes};
}

struct Table {
  std::vector<Attribute> attributes;
  std::vector<size_t> columns;  // attribute indexes
  ProgramWriter writer;
};

Table random_table(Random& random) {
  Table table;
  const size_t natts = 1 + random() % (random() % 5 == 0 ? 200 : 20);
  const uint64_t one_in = random() % 3 == 0 ? 30 : 2;  // attributes that are referenced
  const unsigned not_null_percent = static_cast<unsigned>(random() % 3 * 50);
  for (size_t i = 0; i < natts; i++) {
    Attribute a;
    a.kind = kKinds[random() % std::size(kKinds)];
    if (tb_type_is_numeric(a.kind.type))
      a.scale = static_cast<int16_t>(random() % (a.kind.type == TB_TYPE_NUM64 ? 19 : 30));
    a.dropped = random() % 10 == 0;
    a.nullable = a.dropped || random() % 100 >= not_null_percent;
    a.referenced = a.kind.type != 0 && !a.dropped && random() % one_in == 0;
    const bool byval = a.kind.length == 1 || a.kind.length == 2 || a.kind.length == 4 || a.kind.length == 8;
    table.writer.attributes.push_back(
        attribute(a.kind.length, a.kind.align,
                  static_cast<uint8_t>((a.nullable ? 0 : TB_ATT_NOTNULL) | (a.dropped ? TB_ATT_DROPPED : 0) |
                                       (byval ? TB_ATT_BYVAL : 0))));
    table.attributes.push_back(a);
    if (!a.referenced) continue;
    table.columns.push_back(i);
    add_column(table.writer, static_cast<uint32_t>(i + 1), a.kind.type, a.scale);
  }
  return table;
}

/* A written row: what must come out. */
struct Expected {
  uint32_t rowid;
  std::vector<std::optional<std::string>> values;  // one a column
};

/* Random pages of a table, with what a decoder must make of them. */
struct Heap {
  std::vector<PageWriter> pages;
  std::vector<Expected> rows;
  std::vector<uint32_t> deferred;
};

/* A row's values; `toasted`: is a referenced one out of line? */
std::vector<std::optional<Value>> random_row(Random& random, const Table& table, unsigned null_percent, bool& toasted) {
  std::vector<std::optional<Value>> row;
  for (const Attribute& a : table.attributes) {
    if (a.nullable && random() % 100 < null_percent) {
      row.push_back({});
      continue;
    }
    Value value = random_value(random, a);
    if (a.kind.length == -1 && random() % 50 == 0) {
      value.datum.form = random() % 2 ? VarlenaForm::kExternal : VarlenaForm::kCompressed;
      if (value.datum.form == VarlenaForm::kCompressed && value.datum.bytes.size() < 4) value.datum.bytes = "\4\1\1\1";
      toasted |= a.referenced;
    }
    row.push_back(value);
  }
  // Attributes added later: the tuple ends before them. Only nullable ones can be so here.
  while (!row.empty() && table.attributes[row.size() - 1].nullable && random() % 4 == 0) {
    row.pop_back();
  }
  return row;
}

void add_random_tuple(Random& random, const Table& table, unsigned null_percent, Heap& heap) {
  bool toasted = false;
  const auto row = random_row(random, table, null_percent, toasted);
  std::vector<std::optional<Datum>> data;
  for (const auto& value : row) data.push_back(value ? std::optional(value->datum) : std::nullopt);
  const TupleWriter tuple(table.writer.attributes, data);
  if (heap.pages.empty() || !heap.pages.back().add(tuple.bytes())) {
    heap.pages.emplace_back();
    if (!heap.pages.back().add(tuple.bytes())) return;  // larger than a page
  }
  const uint32_t id = TB_ROWID(heap.pages.size() - 1, heap.pages.back().lines());
  toasted = false;
  Expected expected = {id, {}};
  for (size_t attribute : table.columns) {
    const bool there = attribute < row.size() && row[attribute];
    expected.values.push_back(there ? std::optional(row[attribute]->expected) : std::nullopt);
    toasted |= there && (row[attribute]->datum.form == VarlenaForm::kExternal ||
                         row[attribute]->datum.form == VarlenaForm::kCompressed);
  }
  if (toasted)
    heap.deferred.push_back(id);
  else
    heap.rows.push_back(expected);
}

Heap random_heap(Random& random, const Table& table) {
  Heap heap;
  const unsigned null_percent = static_cast<unsigned>(random() % 3 * 30);
  const size_t tuples = 1 + random() % 300;
  for (size_t i = 0; i < tuples; i++) {
    if (random() % 10 == 0 && !heap.pages.empty())
      heap.pages.back().add_empty_line(random() % 3 == 0 ? 0 : 2 + random() % 2);
    if (random() % 100 == 0) heap.pages.emplace_back();
    if (random() % 100 == 0) {  // never initialised
      heap.pages.emplace_back();
      heap.pages.back().bytes().assign(TB_PAGE_SIZE, '\0');
      heap.pages.emplace_back();
    }
    add_random_tuple(random, table, null_percent, heap);
  }
  return heap;
}

void expect_rows(const Table& table, Decoder& decoder, const Decoded& out, const Heap& heap) {
  ASSERT_EQ(out.nrows, heap.rows.size());
  EXPECT_EQ(out.deferred, heap.deferred);
  for (uint32_t row = 0; row < out.nrows; row++) {
    ASSERT_EQ(out.rowids[row], heap.rows[row].rowid);
    for (size_t c = 0; c < table.columns.size(); c++) {
      const auto& expected = heap.rows[row].values[c];
      const uint8_t type = table.attributes[table.columns[c]].kind.type;
      const size_t width = tb_type_width(type);
      if (!out.valid[c].empty()) {
        ASSERT_EQ(out.valid[c][row], expected ? 1 : 0) << "row " << row << " column " << c;
      }
      std::string actual(reinterpret_cast<const char*>(out.values[c].data()) + row * width, width);
      if (expected && tb_type_is_text(type)) actual = decoder.text(c, row);
      ASSERT_EQ(actual, expected.value_or(std::string(width, '\0')))
          << "row " << row << " column " << c << " " << tb_type_name(type);
    }
  }
}

void verify_ptx(const Decoder& decoder) {
  const std::string ptx = decoder.ptx();
  EXPECT_NE(ptx.find(".visible .entry tb_decode("), std::string::npos);
  EXPECT_EQ(ptx.find(".extern"), std::string::npos);
  EXPECT_NE(ptx.find("vote.sync.ballot"), std::string::npos);
}

TEST(Decode, RandomTables) {
  const auto seeds = static_cast<uint64_t>(testing::rounds(40));
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Table table = random_table(random);
    Decoder decoder(table.writer);
    for (int i = 0; i < 5; i++) {
      const Heap heap = random_heap(random, table);
      const Decoded out = decoder.run(heap.pages);
      EXPECT_EQ(out.errors, 0u);
      expect_rows(table, decoder, out, heap);
      if (HasFatalFailure()) return;
    }
    if (seed % 6 == 0) verify_ptx(decoder);
  }
}

/* Any page gives rows, deferred rows and a verdict; no fault, no endless loop,
 * and views stay inside the pages. */
TEST(Decode, DamagedPages) {
  uint32_t verdicts = 0;
  for (uint64_t seed = 1; seed <= 12; seed++) {
    Random random(seed * 7919);
    Table table = random_table(random);
    Decoder decoder(table.writer);
    for (int i = 0; i < 150; i++) {
      Heap heap = random_heap(random, table);
      heap.pages.resize(1);
      PageWriter& page = heap.pages[0];
      const bool aim_at_tuples = random() % 2;
      for (uint64_t n = random() % 40 + 1; n > 0; n--)
        page.bytes()[aim_at_tuples ? TB_PAGE_SIZE - 1 - random() % 600 : random() % TB_PAGE_SIZE] = static_cast<char>(
            random() % 3 == 0 ? 0xff : random());
      if (random() % 4 == 0)
        page.bytes().replace(TB_PAGE_SIZE / 2, TB_PAGE_SIZE / 2, random_bytes(random, TB_PAGE_SIZE / 2));
      const Decoded out = decoder.run(heap.pages);
      EXPECT_LE(out.nrows + out.ndeferred, TB_MAX_TUPLES_PER_PAGE);
      verdicts += (out.errors & TB_ERR_CORRUPT) != 0;
      for (size_t c = 0; c < table.columns.size(); c++) {
        if (!tb_type_is_text(decoder.program().columns()[c].type)) continue;
        for (uint32_t row = 0; row < out.nrows; row++) {
          const TbTextView view = value_at<TbTextView>(out, c, row);
          ASSERT_LE(uint64_t{view.offset} + view.length, TB_PAGE_SIZE);
        }
      }
    }
  }
  EXPECT_GT(verdicts, 200u);
}

/* ---- one thing at a time ---- */

TEST(Decode, BadLinePointersAreCorrupt) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL | TB_ATT_BYVAL)};
  add_column(writer, 1, TB_TYPE_INT4);
  Decoder decoder(writer);
  const TupleWriter tuple(writer.attributes, {testing::fixed<int32_t>(42)});
  PageWriter good;
  good.add(tuple.bytes());
  good.add(tuple.bytes());
  const uint32_t word = good.line(0);
  ASSERT_EQ(decoder.run({good}).nrows, 2u);

  const auto normal = [](uint32_t offset, uint32_t length) { return offset | 1u << 15 | length << 17; };
  const uint32_t offset = word & 0x7fff;
  const std::map<const char*, uint32_t> bad = {{"beyond the page", normal(TB_PAGE_SIZE - 8, 28)},
                                               {"far beyond", normal(0x7ff8, 0x7fff)},
                                               {"in the page header", normal(16, 28)},
                                               {"unaligned", normal(offset + 4, 28)},
                                               {"no data", normal(offset, 24)},
                                               {"shorter than a header", normal(offset, 20)},
                                               {"cut in the value", normal(offset, 27)}};
  for (const auto& [what, line] : bad) {
    SCOPED_TRACE(what);
    PageWriter page = good;
    page.set_line(0, line);
    const Decoded out = decoder.run({page});
    EXPECT_EQ(out.errors, TB_ERR_CORRUPT);
    ASSERT_EQ(out.nrows, 1u);
    EXPECT_EQ(out.rowids[0], TB_ROWID(0, 2));
    EXPECT_EQ(value_at<int32_t>(out, 0, 0), 42);
  }
  PageWriter header = good;
  header.bytes()[13] = 0x7f;  // pd_lower
  EXPECT_EQ(decoder.run({header}).errors, TB_ERR_CORRUPT);
  EXPECT_EQ(decoder.run({header, good}).nrows, 2u);
}

/* A tuple that ends in the middle of each attribute, for every length. */
TEST(Decode, CutTuplesAreCorrupt) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL), attribute(-1, 4, TB_ATT_NOTNULL), attribute(-1, 4),
                       attribute(8, 8)};
  add_column(writer, 1, TB_TYPE_INT4);
  add_column(writer, 2, TB_TYPE_TEXT);
  add_column(writer, 3, TB_TYPE_NUM64);
  add_column(writer, 4, TB_TYPE_INT8);
  Decoder decoder(writer);
  for (bool with_null : {false, true}) {
    std::optional<Datum> number = Datum{numeric_payload("12345678"), VarlenaForm::kLong};
    if (with_null) number.reset();
    const TupleWriter tuple(writer.attributes,
                            {testing::fixed<int32_t>(1), Datum{"some text"}, number, testing::fixed<int64_t>(7)});
    const uint32_t full = static_cast<uint32_t>(tuple.bytes().size());
    for (uint32_t length = 24; length <= full; length++) {
      PageWriter page;
      page.add(tuple.bytes());
      page.set_line(0, (page.line(0) & 0x1ffff) | length << 17);
      const Decoded out = decoder.run({page});
      EXPECT_EQ(out.nrows, length == full ? 1u : 0u) << length;
      EXPECT_EQ(out.errors, length == full ? 0u : TB_ERR_CORRUPT) << length;
    }
  }
}

/* Headers that lead out of the tuple. */
TEST(Decode, ImpossibleHeadersAreCorrupt) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4), attribute(-1, 4)};
  add_column(writer, 1, TB_TYPE_INT4);
  add_column(writer, 2, TB_TYPE_TEXT);
  Decoder decoder(writer);
  const TupleWriter tuple(writer.attributes, {testing::fixed<int32_t>(1), Datum{"abc"}});
  const auto errors_with = [&](std::map<size_t, uint8_t> changes) {
    std::string bytes = tuple.bytes();
    for (const auto& [at, byte] : changes) bytes[at] = static_cast<char>(byte);
    PageWriter page;
    page.add(bytes);
    return decoder.run({page}).errors;
  };
  constexpr size_t kNatts = 18, kInfomask = 20, kHoff = 22, kText = 28;
  EXPECT_EQ(errors_with({}), 0u);
  for (int hoff : {0, 8, 16, 23, 25, 40, 248, 255})
    EXPECT_EQ(errors_with({{kHoff, static_cast<uint8_t>(hoff)}}), TB_ERR_CORRUPT) << hoff;
  EXPECT_EQ(errors_with({{kInfomask, 1}, {kNatts, 100}}), TB_ERR_CORRUPT);  // bitmap over the data
  // Varlenas: too long, sizes below a header's, unknown toast pointer, long header at the end.
  EXPECT_EQ(errors_with({{kText, 0xff}}), TB_ERR_CORRUPT);
  for (int size = 0; size < 4; size++)
    EXPECT_EQ(errors_with({{kText, static_cast<uint8_t>(size << 2)}, {29, 0}, {30, 0}, {31, 0}}), TB_ERR_CORRUPT);
  EXPECT_EQ(errors_with({{kText, 0x10}, {29, 0x10}, {30, 0}, {31, 0}}), TB_ERR_CORRUPT);
  EXPECT_EQ(errors_with({{kText, 0xfc}, {29, 0xff}, {30, 0xff}, {31, 0xff}}), TB_ERR_CORRUPT);
  EXPECT_EQ(errors_with({{kText, 0x01}, {29, 0x12}}), TB_ERR_CORRUPT);
  EXPECT_EQ(errors_with({{kText, 0x01}, {29, 0x01}}), TB_ERR_CORRUPT);
}

TEST(Decode, LargeValues) {
  ProgramWriter writer;
  writer.attributes = {attribute(1, 1), attribute(-1, 4), attribute(2, 2)};
  add_column(writer, 2, TB_TYPE_TEXT);
  add_column(writer, 3, TB_TYPE_INT2);
  Decoder decoder(writer);
  for (size_t size : {0, 1, 3, 4, 125, 126, 127, 128, 4095, 4096, 8000}) {
    const std::string text(size, 'q');
    PageWriter page;
    ASSERT_TRUE(
        page.add(TupleWriter(writer.attributes, {testing::fixed<uint8_t>(1), Datum{text}, testing::fixed<int16_t>(-3)})
                     .bytes()));
    const Decoded out = decoder.run({page});
    ASSERT_EQ(out.nrows, 1u);
    EXPECT_EQ(decoder.text(0, 0), text);
    EXPECT_EQ(value_at<int16_t>(out, 1, 0), -3);
  }
}

TEST(Decode, MissingValuesOfShortTuples) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL), attribute(4, 4, TB_ATT_NOTNULL), attribute(-1, 4),
                       attribute(-1, 4, TB_ATT_NOTNULL), attribute(1, 1)};
  add_column(writer, 1, TB_TYPE_INT4);
  add_column(writer, 2, TB_TYPE_INT4, 0, 0);
  add_column(writer, 3, TB_TYPE_NUM128, 2, 1);
  add_column(writer, 4, TB_TYPE_NUM64, 1, 2);
  add_column(writer, 5, TB_TYPE_BOOL, 0, 3);
  writer.params = {{TB_TYPE_INT4, 0, 0},
                   {TB_TYPE_NUM128, TB_PARAM_NULLABLE, 2},
                   {TB_TYPE_NUM64, 0, 1},
                   {TB_TYPE_BOOL, TB_PARAM_NULLABLE, 0}};
  Decoder decoder(writer);
  ParamWriter params;
  const int32_t int4 = -77;
  const __int128 num128 = -(static_cast<__int128>(1) << 100);
  const int64_t num64 = 1234567890123456789;
  const uint8_t truth = 1;
  params.scalar(&int4, 4);
  params.scalar(&num128, 16);
  params.scalar(&num64, 8);
  params.scalar(&truth, 1, /*is_null=*/true);

  const std::vector<std::optional<Datum>> full = {testing::fixed<int32_t>(1), testing::fixed<int32_t>(2), std::nullopt,
                                                  Datum{numeric_payload("3.5")}, testing::fixed<uint8_t>(1)};
  PageWriter page;
  for (size_t natts = 1; natts <= full.size(); natts++)
    page.add(TupleWriter(writer.attributes, {full.begin(), full.begin() + static_cast<long>(natts)}).bytes());
  const Decoded out = decoder.run({page}, params.block());
  ASSERT_EQ(out.errors, 0u);
  ASSERT_EQ(out.nrows, 5u);
  for (uint32_t row = 0; row < 5; row++) {
    EXPECT_EQ(value_at<int32_t>(out, 0, row), 1);
    EXPECT_EQ(value_at<int32_t>(out, 1, row), row >= 1 ? 2 : -77);
    EXPECT_EQ(value_at<__int128>(out, 2, row) == num128, row < 2);
    EXPECT_EQ(out.valid[2][row], row < 2);  // then the tuple itself says NULL
    EXPECT_EQ(value_at<int64_t>(out, 3, row), row >= 3 ? 35 : num64);
    EXPECT_EQ(out.valid[4][row], row >= 4);  // the missing value is NULL
  }
  verify_ptx(decoder);
}

/* A view can not point at a parameter: the backend feeds such a row itself. */
TEST(Decode, MissingTextIsDeferred) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL), attribute(-1, 4)};
  add_column(writer, 2, TB_TYPE_TEXT, 0, 0);
  writer.params = {{TB_TYPE_TEXT, TB_PARAM_NULLABLE, 0}};
  Decoder decoder(writer);
  PageWriter page;
  page.add(TupleWriter(writer.attributes, {testing::fixed<int32_t>(1)}).bytes());
  page.add(TupleWriter(writer.attributes, {testing::fixed<int32_t>(1), Datum{"here"}}).bytes());
  for (const std::string missing : {"gone", ""}) {
    ParamWriter params;
    params.text(missing);
    const Decoded out = decoder.run({page}, params.block());
    EXPECT_EQ(out.ndeferred, missing.empty() ? 0u : 1u);
    ASSERT_EQ(out.nrows, missing.empty() ? 2u : 1u);
    EXPECT_EQ(decoder.text(0, out.nrows - 1), "here");
    EXPECT_EQ(out.valid[0][0], 1);
  }
}

TEST(Decode, NullWhereNoneCanBeIsCorrupt) {
  ProgramWriter writer;
  writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL), attribute(4, 4, TB_ATT_NOTNULL)};
  add_column(writer, 2, TB_TYPE_INT4);
  Decoder decoder(writer);
  PageWriter page;
  page.add(TupleWriter(writer.attributes, {testing::fixed<int32_t>(1)}).bytes());
  page.add(TupleWriter(writer.attributes, {testing::fixed<int32_t>(1), std::nullopt}).bytes());
  page.add(TupleWriter(writer.attributes, {std::nullopt, testing::fixed<int32_t>(5)}).bytes());
  const Decoded out = decoder.run({page});
  EXPECT_EQ(out.errors, TB_ERR_CORRUPT);
}

/* Each number alone: the verdict is the chunk's. */
TEST(Decode, NumericsThatDoNotFit) {
  for (const uint8_t type : {TB_TYPE_NUM64, TB_TYPE_NUM128}) {
    ProgramWriter writer;
    writer.attributes = {attribute(-1, 4)};
    add_column(writer, 1, type, 2);
    Decoder decoder(writer);
    const bool narrow = type == TB_TYPE_NUM64;
    const std::string most64 = "9999999999999999.99", most128 = "1701411834604692317316873037158841057.27";
    const std::map<std::string, bool> fits = {
        {"NaN", false},
        {"Infinity", false},
        {"-Infinity", false},
        {"0.001", false},
        {"1.005", false},
        {"-1.0050", false},
        {"1.00500000001", false},
        {"0", true},
        {"0.00", true},
        {"-0.01", true},
        {"1.10", true},
        {"10000", true},
        {"9999.99", true},
        {"-123456789012.34", true},
        {most64, true},
        {"10000000000000000.00", !narrow},
        {"-92233720368547758.07", !narrow},
        {"123456789012345678901234567890.12", !narrow},
        {most128, !narrow},
        {"1701411834604692317316873037158841057.28", false},
        {"17014118346046923173168730371588410572.00", false},
        {"1" + std::string(60, '0'), false},
        {"1" + std::string(300, '0'), false},
    };
    for (const auto& [decimal, fit] : fits) {
      for (const bool force_long : {false, true}) {
        SCOPED_TRACE(decimal + (narrow ? " as NUM64" : " as NUM128"));
        PageWriter page;
        page.add(TupleWriter(writer.attributes, {Datum{numeric_payload(decimal, force_long)}}).bytes());
        const Decoded out = decoder.run({page});
        EXPECT_EQ(out.errors, fit ? 0u : TB_ERR_UNREPRESENTABLE);
        if (!fit) continue;
        ASSERT_EQ(out.nrows, 1u);
        __int128 value = value_at<int64_t>(out, 0, 0);
        if (!narrow) value = value_at<__int128>(out, 0, 0);
        __int128 expected = scaled_integer(decimal);
        const size_t point = decimal.find('.');
        for (size_t i = point == std::string::npos ? 0 : decimal.size() - point - 1; i < 2; i++) expected *= 10;
        EXPECT_TRUE(value == expected);
      }
    }
  }
}

/* An attribute's value and its display scale, two columns. */
TEST(Decode, DisplayScales) {
  ProgramWriter writer;
  writer.attributes = {attribute(-1, 4)};
  add_column(writer, 1, TB_TYPE_NUM128, 4);
  add_column(writer, 1, TB_TYPE_INT4);
  writer.columns[1].flags |= TB_COL_DISPLAY_SCALE;
  Decoder decoder(writer);
  const std::map<std::string, int32_t> numbers = {
      {"1", 0},     {"1.0", 1}, {"-1.50", 2},         {"0.0000", 4},
      {"10000", 0}, {"0.1", 1}, {"12345.6000000", 7}, {"2." + std::string(63, '0'), 63}};
  for (const auto& [decimal, scale] : numbers) {
    for (const bool force_long : {false, true}) {
      PageWriter page;
      page.add(TupleWriter(writer.attributes, {Datum{numeric_payload(decimal, force_long)}}).bytes());
      page.add(TupleWriter(writer.attributes, {std::nullopt}).bytes());
      const Decoded out = decoder.run({page});
      EXPECT_EQ(out.errors, 0u) << decimal;
      ASSERT_EQ(out.nrows, 2u);
      EXPECT_EQ(value_at<int32_t>(out, 1, 0), scale) << decimal;
      EXPECT_EQ(value_at<int32_t>(out, 1, 1), 0);
      EXPECT_EQ(out.valid[1][0], 1);
      EXPECT_EQ(out.valid[1][1], 0);
    }
  }
  PageWriter page;
  page.add(TupleWriter(writer.attributes, {Datum{numeric_payload("1." + std::string(64, '0'))}}).bytes());
  EXPECT_EQ(decoder.run({page}).errors, TB_ERR_UNREPRESENTABLE);
  EXPECT_NE(decoder.ptx().find("tb_decode"), std::string::npos);
}

/* Of a guessed form the planner counts on its digits. */
TEST(Decode, DigitsOfGuessedForms) {
  ProgramWriter writer;
  writer.attributes = {attribute(-1, 4)};
  add_column(writer, 1, TB_TYPE_NUM64, 2);
  writer.columns[0].digits = 5;
  Decoder decoder(writer);
  for (const auto& [decimal, fits] : std::map<std::string, bool>{
           {"999.99", true}, {"-999.99", true}, {"0", true}, {"1000", false}, {"-1000.00", false}}) {
    PageWriter page;
    page.add(TupleWriter(writer.attributes, {Datum{numeric_payload(decimal)}}).bytes());
    EXPECT_EQ(decoder.run({page}).errors, fits ? 0u : TB_ERR_UNREPRESENTABLE) << decimal;
  }
}

/* numeric(5,-2): the last two digits are not stored in the value. */
TEST(Decode, NegativeScale) {
  ProgramWriter writer;
  writer.attributes = {attribute(-1, 4)};
  add_column(writer, 1, TB_TYPE_NUM64, -2);
  Decoder decoder(writer);
  const std::map<std::string, int64_t> numbers = {{"12300", 123}, {"-100", -1}, {"0", 0}, {"990000", 9900}};
  for (const auto& [decimal, expected] : numbers) {
    PageWriter page;
    page.add(TupleWriter(writer.attributes, {Datum{numeric_payload(decimal)}}).bytes());
    const Decoded out = decoder.run({page});
    EXPECT_EQ(out.errors, 0u) << decimal;
    EXPECT_EQ(value_at<int64_t>(out, 0, 0), expected);
  }
}

TEST(Decode, NoColumnsCountsRows) {
  ProgramWriter writer;
  writer.attributes = {attribute(-1, 4), attribute(4, 4)};
  writer.aggregate(TB_AGG_COUNT);
  Decoder decoder(writer, TB_SINK_AGGREGATE);
  PageWriter page;
  for (int i = 0; i < 100; i++)
    page.add(TupleWriter(writer.attributes, {Datum{"x", VarlenaForm::kExternal}, std::nullopt}).bytes());
  page.add_empty_line(3);
  const Decoded out = decoder.run({page, page});
  EXPECT_EQ(out.nrows, 200u);
  EXPECT_EQ(out.errors, 0u);
}

/* Beside other columns, among line pointers without tuples, and for blocks beyond 2^31. */
TEST(Decode, TupleIds) {
  for (const bool alone : {false, true}) {
    ProgramWriter writer;
    writer.attributes = {attribute(4, 4, TB_ATT_NOTNULL)};
    TbColumn tid{};
    tid.type = TB_TYPE_INT8;
    tid.flags = TB_COL_TID;
    tid.missing_param = TB_NONE;
    writer.columns.push_back(tid);
    if (!alone) add_column(writer, 1, TB_TYPE_INT4);
    const uint32_t output = writer.expr(TB_EXPR_COLUMN, TB_TYPE_INT8, 0, 0, {});
    writer.outputs = {output};
    Decoder decoder(writer, TB_SINK_PROJECT);
    std::vector<PageWriter> pages(3);
    std::vector<int64_t> expected;
    for (uint32_t page = 0; page < pages.size(); page++)
      for (uint32_t line = 1; line < 200; line++) {
        const bool there = (line * 7 + page) % 5 != 0;
        if (there ? !pages[page].add(TupleWriter(writer.attributes, {testing::fixed<int32_t>(1)}).bytes())
                  : !pages[page].add_empty_line(line % 4 == 0 ? 2u : 3u))
          break;
        if (there) expected.push_back(TB_PACKED_TID(Decoder::block_of(page), line));
      }
    const Decoded out = decoder.run(pages);
    ASSERT_EQ(out.nrows, expected.size());
    for (uint32_t row = 0; row < out.nrows; row++) EXPECT_EQ(value_at<int64_t>(out, 0, row), expected[row]) << row;
    EXPECT_EQ(TB_TID_BLOCK(expected.back()), Decoder::block_of(2));
    EXPECT_LT(TB_TID_OFFNUM(expected.back()), 200u);
    EXPECT_NE(decoder.ptx().find("tb_decode"), std::string::npos);
  }
}

TEST(Decode, TypesMustFitTheirAttributes) {
  ProgramWriter writer;
  writer.attributes = {attribute(8, 8)};
  add_column(writer, 1, TB_TYPE_INT4);
  EXPECT_THROW(Decoder{writer}, std::runtime_error);
}

}  // namespace
}  // namespace turbine
