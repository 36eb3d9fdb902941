/* device_columns_test.cc - rows that stay on a GPU become columns: every format, in order, whatever fails. */
#include "engine/device/cuda/exports/device_columns.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/testing/exports_on_host.h"
#include "engine/device/cuda/testing/fake_device.h"
#include "engine/device/cuda/testing/fake_joins.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/store/column_codes.h"

namespace turbine::cuda::testing {
namespace {

constexpr int64_t kEpochDays = 10957, kEpochUs = kEpochDays * 86400 * 1000000;

struct Kind {
  uint8_t type;
  uint32_t format;
};
constexpr Kind kKinds[] = {{TB_TYPE_BOOL, TB_EXPORT_BOOL},
                           {TB_TYPE_INT2, TB_EXPORT_INT16},
                           {TB_TYPE_INT4, TB_EXPORT_INT32},
                           {TB_TYPE_INT8, TB_EXPORT_INT64},
                           {TB_TYPE_FLOAT4, TB_EXPORT_FLOAT32},
                           {TB_TYPE_FLOAT8, TB_EXPORT_FLOAT64},
                           {TB_TYPE_DATE, TB_EXPORT_DATE32},
                           {TB_TYPE_TIMESTAMP, TB_EXPORT_TIMESTAMP},
                           {TB_TYPE_TIMESTAMPTZ, TB_EXPORT_TIMESTAMPTZ},
                           {TB_TYPE_NUM64, TB_EXPORT_DECIMAL128},
                           {TB_TYPE_NUM128, TB_EXPORT_DECIMAL128}};

/* A column's values and NULLs, as they lie on the device. */
struct KindValues {
  std::vector<uint8_t> bytes, valid;
};

class DeviceColumnsTest : public ::testing::Test {
 protected:
  void open(const FakeOptions& options = {}) {
    fake_ = std::make_unique<FakeDriver>(options);
    set_export_kernels(*fake_);
    context_ = std::make_shared<CudaContext>(fake_->table(), 0, 13000, uint64_t{1} << 30);
    context_->enter(context_->driver());
    code_ = std::make_unique<ExportCode>(context_);
  }
  void close() {
    code_.reset();
    context_.reset();
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_->misuse(), std::vector<std::string>());
    fake_.reset();
  }

  /* Random rows of all kinds, each once without and once with NULLs. */
  void make_rows(uint32_t seed, uint64_t nrows) {
    std::mt19937_64 random(seed);
    shape_ = {};
    values_.clear();
    for (const bool nullable : {false, true})
      for (const Kind& kind : kKinds) {
        shape_.columns.push_back({kind.type, 0, nullable});
        const uint32_t width = tb_type_width(kind.type);
        KindValues& column = values_.emplace_back();
        column.bytes.resize(nrows * width);
        column.valid.resize(nullable ? nrows : 0);
        for (uint64_t i = 0; i < nrows; i++) {
          if (nullable) column.valid[i] = random() % 4 != 0;
          uint64_t value = random();
          // Neither infinite nor, once it counts from 1970, too large.
          if (kind.format == TB_EXPORT_BOOL) value = random() % 2;
          if (kind.format == TB_EXPORT_DATE32) value = random() % 1000000;
          if (kind.format == TB_EXPORT_TIMESTAMP || kind.format == TB_EXPORT_TIMESTAMPTZ) value >>= 4;
          // A NULL's value may be anything.
          if (nullable && !column.valid[i]) value = kind.format == TB_EXPORT_BOOL ? 7 : UINT64_MAX >> 1;
          std::memcpy(&column.bytes[i * width], &value, std::min<size_t>(width, sizeof value));
          if (width == 16) std::memcpy(&column.bytes[i * width + 8], &value, sizeof value);
        }
      }
  }

  /* Parts of random sizes, in the order in which `parts` names them. */
  struct Range {
    uint64_t first, count;
  };
  void append(DeviceRows& rows, const Range& range, Stream stream) {
    std::vector<TbColumnData> columns;
    std::vector<Block> blocks;
    auto send = [&](const std::vector<uint8_t>& bytes, uint64_t width) -> DevicePtr {
      Block block = context_->device_memory().allocate(context_->driver(), range.count * width, nullptr);
      context_->driver().check(context_->driver().memcpy_htod_async(block.device(), bytes.data() + range.first * width,
                                                                    range.count * width, stream));
      const DevicePtr at = block.device();
      blocks.push_back(std::move(block));
      return at;
    };
    for (size_t c = 0; c < values_.size(); c++) {
      TbColumnData& column = columns.emplace_back();
      column = {};
      column.values = reinterpret_cast<void*>(send(values_[c].bytes, tb_type_width(shape_.columns[c].type)));
      if (shape_.columns[c].nullable) column.valid = reinterpret_cast<uint8_t*>(send(values_[c].valid, 1));
    }
    TbRowStore store{};
    store.nrows = range.count;
    rows.append(store, columns, stream);
    context_->driver().check(context_->driver().stream_synchronize(stream));
  }

  std::vector<TbColumnLeft> everything() const {
    std::vector<TbColumnLeft> asked;
    for (uint32_t c = 0; c < shape_.columns.size(); c++) asked.push_back({c, kKinds[c % std::size(kKinds)].format});
    return asked;
  }

  std::vector<DeviceColumn> make(const DeviceRows& rows, const TableOrder* order, std::span<const TbColumnLeft> asked,
                                 const Driver& driver, Stream stream) {
    return make_columns(rows, order, asked, {context_, driver, code_->kernels(driver), account_, stream});
  }

  static std::vector<uint8_t> read(const DeviceColumn& column, const ExportRegion& region) {
    std::vector<uint8_t> bytes(region.bytes);
    EXPECT_EQ(pread(column.memory->descriptor(), bytes.data(), bytes.size(), static_cast<off_t>(region.offset)),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

  void expect_column(const DeviceColumn& column, size_t c, uint64_t nrows) {
    SCOPED_TRACE("column " + std::to_string(c));
    const Kind kind = kKinds[c % std::size(kKinds)];
    const KindValues& from = values_[c];
    const uint32_t width = tb_type_width(kind.type), to_width = tb_export_width(kind.format);
    const auto found = read(column, column.regions.values), validity = read(column, column.regions.validity);
    const auto bits = read(column, column.regions.bits);
    ASSERT_EQ(found.size(), nrows * to_width);
    uint64_t nulls = 0;
    for (uint64_t i = 0; i < nrows; i++) {
      const bool valid = from.valid.empty() || from.valid[i];
      nulls += !valid;
      __int128 expected = 0, got = 0;
      std::memcpy(&got, &found[i * to_width], to_width);
      if (valid) std::memcpy(&expected, &from.bytes[i * width], width);
      if (valid && kind.type == TB_TYPE_NUM64) expected = static_cast<int64_t>(expected);
      if (valid && kind.format == TB_EXPORT_DATE32) expected += kEpochDays;
      if (valid && (kind.format == TB_EXPORT_TIMESTAMP || kind.format == TB_EXPORT_TIMESTAMPTZ)) expected += kEpochUs;
      ASSERT_TRUE(got == expected) << "row " << i;
      if (!validity.empty()) {
        ASSERT_EQ(validity[i / 8] >> (i % 8) & 1, valid) << "row " << i;
      }
      if (kind.format == TB_EXPORT_BOOL) {
        ASSERT_EQ(bits[i / 8] >> (i % 8) & 1, expected != 0) << "row " << i;
      }
    }
    EXPECT_EQ(column.nulls, nulls);
    EXPECT_EQ(validity.empty(), nulls == 0);
  }

  std::unique_ptr<FakeDriver> fake_;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<ExportCode> code_;
  MemoryAccount account_{uint64_t{1} << 30};
  KeptRowLayout shape_;
  std::vector<KindValues> values_;
};

TEST_F(DeviceColumnsTest, EveryFormatInOrder) {
  for (const uint64_t nrows : {0, 1, 31, 32, 33, 1000, 5001}) {
    open();
    make_rows(static_cast<uint32_t>(nrows) + 1, nrows);
    {
      const UniqueStream stream(context_->streams(), context_->driver());
      // Parts, which come in any order.
      std::mt19937 random(static_cast<uint32_t>(nrows));
      std::vector<Range> parts;
      for (uint64_t first = 0; first < nrows;) {
        const uint64_t count = std::min<uint64_t>(nrows - first, 1 + random() % 700);
        parts.push_back({first, count});
        first += count;
      }
      std::shuffle(parts.begin(), parts.end(), random);
      DeviceRows rows(*context_, context_->driver(), shape_, account_);
      TableOrder order(1);
      for (const Range& part : parts) {
        append(rows, part, stream.get());
        order.end_segment(0, static_cast<uint32_t>(part.first), static_cast<uint32_t>(part.first + part.count - 1));
        order.end_chunk(0, random(), rows.rows());
      }
      order.finish();
      const auto columns = make(rows, &order, everything(), context_->driver(), stream.get());
      ASSERT_EQ(columns.size(), values_.size());
      for (size_t c = 0; c < columns.size(); c++) expect_column(columns[c], c, nrows);
      // Some of them, one twice.
      const std::vector<TbColumnLeft> some = {{3, TB_EXPORT_INT64}, {0, TB_EXPORT_BOOL}, {3, TB_EXPORT_INT64}};
      const auto picked = make(rows, &order, some, context_->driver(), stream.get());
      expect_column(picked[0], 3, nrows);
      expect_column(picked[1], 0, nrows);
      expect_column(picked[2], 3, nrows);
    }
    close();
  }
}

TEST_F(DeviceColumnsTest, ValuesWithoutAFormOutsideAreAnError) {
  open();
  make_rows(5, 100);
  {
    const UniqueStream stream(context_->streams(), context_->driver());
    for (const size_t c : {6, 7, 8, 17, 18, 19}) {
      const uint32_t width = tb_type_width(shape_.columns[c].type);
      for (const int64_t bad : width == 4 ? std::vector<int64_t>{INT32_MIN, INT32_MAX}
                                          : std::vector<int64_t>{INT64_MIN, INT64_MAX, INT64_MAX - kEpochUs + 1}) {
        const KindValues before = values_[c];
        std::memcpy(&values_[c].bytes[50 * width], &bad, width);
        if (shape_.columns[c].nullable) values_[c].valid[50] = 1;
        DeviceRows rows(*context_, context_->driver(), shape_, account_);
        append(rows, {0, 100}, stream.get());
        const TbColumnLeft asked{static_cast<uint32_t>(c), kKinds[c % std::size(kKinds)].format};
        EXPECT_THROW(make(rows, nullptr, {&asked, 1}, context_->driver(), stream.get()), DeviceError) << bad;
        values_[c] = before;
      }
    }
    DeviceRows rows(*context_, context_->driver(), shape_, account_);
    append(rows, {0, 100}, stream.get());
    for (const TbColumnLeft asked : {TbColumnLeft{99, TB_EXPORT_INT16}, {0, TB_EXPORT_INT16}, {1, TB_EXPORT_UTF8}})
      EXPECT_THROW(make(rows, nullptr, {&asked, 1}, context_->driver(), stream.get()), DeviceError);
  }
  close();
}

TEST_F(DeviceColumnsTest, EveryCallMayFail) {
  for (const Result result : {kOutOfMemory, kInvalidValue}) {
    bool all_passed = false;
    for (uint32_t call = 1; !all_passed; call++) {
      ASSERT_LT(call, 500u);
      open();
      make_rows(3, 200);
      {
        const UniqueStream stream(context_->streams(), context_->driver());
        DeviceRows rows(*context_, context_->driver(), shape_, account_);
        append(rows, {0, 150}, stream.get());
        append(rows, {150, 50}, stream.get());
        auto faults = std::make_shared<FaultInjector>(call, result);
        try {
          const std::vector<TbColumnLeft> some = {{0, TB_EXPORT_BOOL}, {6, TB_EXPORT_DATE32}, {11, TB_EXPORT_BOOL}};
          make(rows, nullptr, some, context_->driver_with(faults), stream.get());
          all_passed = faults->calls() < call;
        } catch (const DeviceError& error) {
          EXPECT_EQ(error.reason, result == kOutOfMemory ? TB_FALLBACK_DEVICE_MEMORY : TB_FALLBACK_DEVICE_LOST);
        }
        EXPECT_FALSE(context_->health().lost());
      }
      close();
    }
  }
}

/* Column 0 of a segment, `kRowsABlock` a block. */
constexpr uint32_t kRowsABlock = 50;
std::shared_ptr<const Segment> segment_at(uint32_t first_block, const std::vector<int32_t>& values) {
  auto segment = std::make_shared<Segment>();
  const auto nrows = static_cast<uint32_t>(values.size());
  segment->first_block = first_block;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    segment->row_start[i + 1] = std::min(nrows, (i + 1) * kRowsABlock);
    if (segment->rows_of(i) > 0) segment->blocks |= BlockMask{1} << i;
  }
  const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(values.data()), nullptr, nullptr};
  const ColumnPiece piece{&origin, 0, nrows, 0};
  segment->columns.emplace_back(0, segment->blocks, encode_column(TB_TYPE_INT4, false, nrows, {&piece, 1}));
  return segment;
}

/* As the real one: tuple by tuple. */
void project_values(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  for (uint64_t i = args.ntuples; i-- > 0;)
    static_cast<int32_t*>(args.store->columns[0].values)[i] = fake_column_value(args, args.tuples[i]);
  args.store->nrows = args.ntuples;
}

/* Rows of segments that are taken in no order come as they lie in their table. */
class ColumnsOfAQuery : public ::testing::Test {
 protected:
  void SetUp() override {
    turbine::testing::ProgramWriter writer;
    writer.outputs = {writer.column(TB_TYPE_INT4)};
    program_ = std::make_shared<const Program>(Program::parse(writer.blob(TB_SINK_PROJECT)));
    make_chunks();
  }

  void make_chunks() {
    chunks_.clear();
    values_.clear();
    std::mt19937 random(9);
    const auto columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
    for (uint32_t c = 0; c < 20; c++) {
      auto morsel = std::make_shared<SegmentMorsel>();
      morsel->columns = columns;
      for (uint32_t s = 0; s < 3; s++) {
        std::vector<int32_t> values(1 + random() % (TB_SEGMENT_BLOCKS * kRowsABlock));
        for (int32_t& value : values) value = static_cast<int32_t>(random() % 1000000);
        const auto segment = segment_at((c * 3 + s) * TB_SEGMENT_BLOCKS, values);
        const BlockMask some = random() % 2 ? ~BlockMask{0} : uint64_t{random()} << 32 | random() | 1;
        const TakenSegment taken{segment, segment->blocks & some};
        each_row_range(*segment, taken.blocks, [&](uint32_t first, uint32_t end) {
          values_.insert(values_.end(), values.begin() + first, values.begin() + end);
        });
        morsel->segments.push_back(taken);
      }
      Chunk chunk;
      chunk.segments = morsel;
      chunks_.push_back(std::move(chunk));
    }
    std::shuffle(chunks_.begin(), chunks_.end(), random);
  }

  std::vector<int32_t> run(FakeDevice& device, bool in_order, uint64_t fault = 0) {
    const auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
    const std::shared_ptr<LoadedCode> code = (*device).load(fake_artifact(), *program_);
    std::unique_ptr<DeviceQuery> query;
    {
      QueryFaultScope scope(fault);
      query = (*device).start(program_, params, code, {}, 0, kNoLimit, nullptr);
    }
    query->leave_columns(in_order);
    for (Chunk& chunk : chunks_) chunk.times_done = 0;
    submit_all(*query, chunks_);
    for (const Chunk& chunk : chunks_) {
      EXPECT_EQ(chunk.times_done, 1);
      if (chunk.error) std::rethrow_exception(chunk.error);
    }
    const uint64_t rows = query->finish();
    const TbColumnLeft asked{0, TB_EXPORT_INT32};
    const std::vector<DeviceColumn> made = query->take_columns({&asked, 1});
    std::vector<int32_t> values(rows);
    EXPECT_EQ(made[0].nulls, 0u);
    EXPECT_EQ(pread(made[0].memory->descriptor(), values.data(), rows * sizeof(int32_t), 0),
              static_cast<ssize_t>(rows * sizeof(int32_t)));
    return values;
  }
  static void set_kernels(FakeDriver& fake) {
    set_export_kernels(fake);
    fake.set_kernel("tb_decode", fake_decode);
    // In no good order.
    fake.set_kernel("tb_probe", [](void* arguments) {
      auto& args = *static_cast<TbPipelineArgs*>(arguments);
      for (uint32_t row = args.nrows; row-- > args.first_row;) {
        args.tuples[args.ntuples++] = tb_test_row_number(&args, row);
        args.rows_passed++;
      }
    });
    fake.set_kernel("tb_project", project_values);
  }

  std::shared_ptr<const Program> program_;
  std::vector<Chunk> chunks_;
  std::vector<int32_t> values_;  // in order
};

TEST_F(ColumnsOfAQuery, InTheirTablesOrderWhereItIsWanted) {
  FakeDevice device({}, set_kernels, uint64_t{32} << 20);
  for (int again = 0; again < 3; again++) {
    EXPECT_EQ(run(device, true), values_);
    auto some = run(device, false), all = values_;
    EXPECT_NE(some, values_);
    std::sort(some.begin(), some.end());
    std::sort(all.begin(), all.end());
    EXPECT_EQ(some, all);
  }
}

TEST_F(ColumnsOfAQuery, PagesHaveNoOrder) {
  FakeDevice device({}, set_kernels);
  auto pages = chunks_of(make_pages(10, 1000));
  chunks_.push_back(std::move(pages[0]));
  EXPECT_THROW(run(device, true), DeviceError);
  EXPECT_GT(run(device, false).size(), values_.size());
}

TEST_F(ColumnsOfAQuery, EveryCallMayFail) {
  uint32_t failed = 0;
  for (uint32_t call = 1; call < 400; call += 29) {
    make_chunks();  // columns know where a device has them
    FakeDevice device({}, set_kernels, uint64_t{32} << 20);
    try {
      EXPECT_TRUE(run(device, true, encode_query_fault(call, kOutOfMemory)) == values_) << "call " << call;
    } catch (const DeviceError&) {
      failed++;
    }
  }
  EXPECT_GT(failed, 5u);
}

}  // namespace
}  // namespace turbine::cuda::testing
