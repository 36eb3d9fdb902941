/* row_stream_test.cc - rows that come in any order leave in one, batch by batch, and never more than the backend
 * allows. */
#include "engine/execution/stream/row_stream.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <thread>

#include "engine/program/testing/program_writer.h"
#include "engine/wire/device_error.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint64_t kStreamBudget = uint64_t{1} << 30;
constexpr uint64_t kDeviceBudget = uint64_t{64} << 20;
constexpr uint32_t kDeviceNumber = 1;

/* What a backend would get. */
class Messages final : public MessageSink {
 public:
  void post(TbMessageType type, std::span<const uint8_t> payload, int) override {
    std::lock_guard lock(mutex_);
    if (type == TB_MSG_FAILED) failed_ = true;
    if (type == TB_MSG_STREAM_BATCH) batches_.emplace_back(payload.begin(), payload.end());
  }
  void post_later(TbMessageType, std::span<const uint8_t>) override {}
  void post_waiting() override {}
  void forget_waiting() override {}
  void wake() override {}

  size_t batches() {
    std::lock_guard lock(mutex_);
    return batches_.size();
  }
  TbStreamBatch head(size_t i) {
    std::lock_guard lock(mutex_);
    TbStreamBatch head{};
    memcpy(&head, batches_[i].data(), sizeof head);
    return head;
  }
  bool failed() {
    std::lock_guard lock(mutex_);
    return failed_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<uint8_t>> batches_;
  bool failed_ = false;
};

template <class Condition>
bool soon(const Condition& condition) {
  for (int i = 0; i < 5000; i++) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/* Memory of a device that is a file. */
class FileOfDevice final : public ExportedMemory {
 public:
  explicit FileOfDevice(uint64_t size) : size_(size), file_(memfd_create("device", MFD_CLOEXEC)) {}
  uint64_t size() const override { return size_; }
  int descriptor() const override { return file_.get(); }
  void write(uint64_t offset, const uint8_t* from, uint64_t bytes) override {
    EXPECT_LE(offset + bytes, size_);
    EXPECT_EQ(pwrite(file_.get(), from, bytes, static_cast<off_t>(offset)), static_cast<ssize_t>(bytes));
  }
  void write_lasting(uint64_t offset, const uint8_t* from, uint64_t bytes) override { write(offset, from, bytes); }
  void flush() override {}
  void seal() override {}

 private:
  const uint64_t size_;
  const UniqueFd file_;
};

/* A device that has nothing but such memory. */
class MemoryDevice final : public Device {
 public:
  ~MemoryDevice() override { EXPECT_TRUE(registered_.empty()); }
  TbDeviceInfo info() const override { return {}; }
  TbTarget target() const override { return TB_TARGET_PTX; }
  std::string cpu() const override { return {}; }
  std::string features() const override { return {}; }
  ChunkShape chunk_shape(uint64_t, bool) const override { return {1, 1}; }
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t>, const Program&) override { return nullptr; }
  std::string machine_code(std::span<const uint8_t>) override { return {}; }
  QueryNeeds needs(const Program&, double, uint32_t, uint32_t) const override { return {0}; }
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program>, std::shared_ptr<const std::string>,
                                     std::shared_ptr<LoadedCode>, JoinTables, double, uint64_t,
                                     QueryProfile*) override {
    return nullptr;
  }
  std::unique_ptr<ExportedMemory> export_memory(uint64_t bytes) override {
    made++;
    return std::make_unique<FileOfDevice>(device_pages(bytes));
  }
  void register_slot_memory(void* base, uint64_t size) override {
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(registered_.emplace(base, size).second);
  }
  void unregister_slot_memory(void* base) override {
    std::lock_guard lock(mutex_);
    EXPECT_EQ(registered_.erase(base), 1u);
  }
  std::atomic<uint32_t> made{0};

 private:
  std::mutex mutex_;
  std::map<void*, uint64_t> registered_;
};

/* A stream of (number, whether it is even or NULL, its text or NULL, a date). */
class RowStreamTest : public ::testing::Test {
 protected:
  RowStreamTest() : admission_({kStreamBudget, kDeviceBudget}), report_(messages_), workers_("test", 3) {
    program_.source = TB_SOURCE_ROWS;
    program_.sink = TB_SINK_PROJECT;
    program_.outputs = {program_.column(TB_TYPE_INT8), program_.column(TB_TYPE_BOOL, true),
                        program_.column(TB_TYPE_TEXT, true), program_.column(TB_TYPE_DATE)};
  }

  RowStream& start(uint64_t rows, uint32_t batches = 2, uint64_t skip = 0, uint32_t ncolumns = 4,
                   Device* device = nullptr) {
    const TbStreamColumn columns[] = {
        {0, TB_EXPORT_INT64}, {1, TB_EXPORT_BOOL}, {2, TB_EXPORT_UTF8}, {3, TB_EXPORT_DATE32}};
    const TbStream head{rows, skip, ncolumns, batches, device ? kDeviceNumber : TB_DEVICE_HOST, 0};
    std::vector<uint8_t> bytes(sizeof head + ncolumns * sizeof columns[0]);
    memcpy(bytes.data(), &head, sizeof head);
    memcpy(bytes.data() + sizeof head, columns, ncolumns * sizeof columns[0]);
    stream_.emplace(parse_stream(bytes, Program::parse(program_.blob())),
                    RowStream::Needs{workers_, admission_, streamed_, report_, device});
    stream_->tell_of_room([this] { told_++; });
    return *stream_;
  }

  struct Rows {
    std::vector<int64_t> numbers;
    std::vector<uint8_t> even, valid, has_text;
    std::vector<TbTextView> views;
    std::vector<int32_t> days;
    std::string bytes;
  };
  static std::string text_of(int64_t number) { return "row " + std::to_string(number); }

  static TaskRows rows(int64_t first, int64_t count, int32_t day = 0) {
    auto own = std::make_shared<Rows>();
    for (int64_t i = first; i < first + count; i++) {
      own->numbers.push_back(i);
      own->even.push_back(i % 2 == 0);
      own->valid.push_back(i % 3 != 0);
      own->has_text.push_back(i % 5 != 0);
      const std::string text = text_of(i);
      own->views.push_back({static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(own->bytes.size())});
      own->bytes += text;
      own->days.push_back(day);
    }
    ResultBatch batch;
    batch.nrows = static_cast<uint64_t>(count);
    const auto at = [](const auto& values) { return reinterpret_cast<const uint8_t*>(values.data()); };
    batch.columns = {{at(own->numbers), 8, nullptr, 1},
                     {at(own->even), 1, own->valid.data(), 1},
                     {at(own->views), sizeof(TbTextView), own->has_text.data(), 1},
                     {at(own->days), 4, nullptr, 1}};
    batch.bytes = at(own->bytes);
    return {std::move(batch), own};
  }

  StreamedBatch take(size_t i) {
    StreamId id;
    memcpy(id.data(), messages_.head(i).id.bytes, id.size());
    return streamed_.take(id);
  }

  template <class T>
  static std::vector<T> region(const StreamedBatch& batch, uint32_t column, uint64_t at, uint64_t count) {
    std::vector<T> values(count);
    const auto bytes = static_cast<ssize_t>(count * sizeof(T));
    int file;
    if (batch.on_device) {
      const ExportRegions& on_device = batch.on_device->regions(column);
      file = batch.on_device->memory(column).descriptor();
      at = at == TB_EXPORT_VALUES_AT     ? on_device.values.offset
           : at == TB_EXPORT_VALIDITY_AT ? on_device.validity.offset
           : at == TB_EXPORT_BYTES_AT    ? on_device.bytes.offset
                                         : on_device.bits.offset;
    } else {
      file = batch.memory->file(column).get();
    }
    EXPECT_EQ(pread(file, values.data(), count * sizeof(T), static_cast<off_t>(at)), bytes);
    return values;
  }

  /* All of the batch are the rows from number `first` on. */
  static void expect_rows(const StreamedBatch& batch, int64_t first) {
    ASSERT_TRUE(batch.memory || batch.on_device);
    const auto n = batch.rows;
    const auto numbers = region<int64_t>(batch, 0, TB_EXPORT_VALUES_AT, n);
    const auto even = region<uint8_t>(batch, 1, TB_EXPORT_VALUES_AT, n);
    const auto bits = region<uint8_t>(batch, 1, TB_EXPORT_BITS_AT, (n + 7) / 8);
    const auto valid = region<uint8_t>(batch, 1, TB_EXPORT_VALIDITY_AT, (n + 7) / 8);
    const auto offsets = region<int64_t>(batch, 2, TB_EXPORT_VALUES_AT, n + 1);
    const auto bytes = region<char>(batch, 2, TB_EXPORT_BYTES_AT, batch.shapes[2].bytes);
    const auto days = region<int32_t>(batch, 3, TB_EXPORT_VALUES_AT, n);
    uint64_t nulls = 0;
    for (uint64_t i = 0; i < n; i++) {
      const int64_t number = first + static_cast<int64_t>(i);
      ASSERT_EQ(numbers[i], number);
      const bool is_there = number % 3 != 0;
      nulls += !is_there;
      ASSERT_EQ(valid[i / 8] >> (i % 8) & 1, is_there);
      ASSERT_EQ(even[i], is_there && number % 2 == 0);
      ASSERT_EQ(bits[i / 8] >> (i % 8) & 1, even[i]);
      const std::string text(bytes.data() + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
      ASSERT_EQ(text, number % 5 != 0 ? text_of(number) : "");
      ASSERT_EQ(days[i], 10957);
    }
    EXPECT_EQ(batch.shapes[1].nulls, nulls);
    EXPECT_EQ(offsets[n], static_cast<int64_t>(batch.shapes[2].bytes));
  }

  testing::ProgramWriter program_;
  Admission admission_;
  StreamedBatches streamed_;
  Messages messages_;
  QueryReport report_;
  WorkerPool workers_;
  std::atomic<int> told_{0};
  std::optional<RowStream> stream_;
};

TEST_F(RowStreamTest, TasksThatEndInAnyOrderGiveOneOrder) {
  RowStream& stream = start(1000, 100);
  // Pieces of one task, backwards; piece 7 has three steps, and piece 3 none.
  for (uint64_t piece = 20; piece-- > 0;) {
    if (piece == 3) {
      stream.piece_ends(3, 0);
    } else if (piece == 7) {
      stream.take({7, 2, false}, rows(7 * 333 + 200, 133));
      stream.piece_ends(7, 3);
      stream.take({7, 0, false}, rows(7 * 333, 100));
      stream.take({7, 1, false}, rows(7 * 333 + 100, 100));
    } else if (piece == 4) {
      stream.take({4, 0, true}, rows(3 * 333, 2 * 333));
    } else {
      stream.take({piece, 0, true}, rows(static_cast<int64_t>(piece) * 333, 333));
    }
  }
  stream.finish();
  ASSERT_TRUE(soon([&] { return messages_.batches() == 7; }));
  EXPECT_EQ(stream.rows(), 20 * 333u);
  for (size_t i = 0; i < 7; i++) {
    const StreamedBatch batch = take(i);
    EXPECT_EQ(batch.rows, i < 6 ? 1000u : 660u);
    expect_rows(batch, static_cast<int64_t>(i) * 1000);
    EXPECT_FALSE(stream.all_taken());
    stream.batch_taken();
  }
  EXPECT_TRUE(stream.all_taken());
  EXPECT_THROW(stream.batch_taken(), ProtocolError);
}

TEST_F(RowStreamTest, NoMoreBatchesThanTheBackendAllows) {
  RowStream& stream = start(100, 2);
  for (uint64_t piece = 0; piece < 5; piece++)
    stream.take({piece, 0, true}, rows(static_cast<int64_t>(piece) * 100, 100));
  stream.finish();
  ASSERT_TRUE(soon([&] { return messages_.batches() == 2; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(messages_.batches(), 2u);
  EXPECT_FALSE(stream.wants_input());
  EXPECT_EQ(told_, 0);
  for (size_t i = 0; i < 5; i++) {
    ASSERT_TRUE(soon([&] { return messages_.batches() > i; }));
    expect_rows(take(i), static_cast<int64_t>(i) * 100);
    stream.batch_taken();
  }
  EXPECT_TRUE(stream.wants_input());
  EXPECT_EQ(told_, 1);
  EXPECT_TRUE(stream.all_taken());
}

TEST_F(RowStreamTest, MemoryIsUsedAgainAndCountsAsLongAsItIsThere) {
  RowStream& stream = start(5000, 2);
  std::map<ino_t, int> files;
  for (uint64_t piece = 0; piece < 10; piece++) {
    stream.take({piece, 0, true}, rows(static_cast<int64_t>(piece) * 5000, 5000));
    ASSERT_TRUE(soon([&] { return messages_.batches() == piece + 1; }));
    const StreamedBatch batch = take(piece);
    struct stat found;
    ASSERT_EQ(fstat(batch.memory->file(0).get(), &found), 0);
    files[found.st_ino]++;
    expect_rows(batch, static_cast<int64_t>(piece) * 5000);
    EXPECT_EQ(pwrite(batch.memory->file(0).get(), "x", 1, 0), -1);
    stream.batch_taken();
  }
  EXPECT_LE(files.size(), 3u);
  EXPECT_GT(admission_.usage(TB_DEVICE_HOST).used, 0u);
  stream.end();
  EXPECT_EQ(admission_.usage(TB_DEVICE_HOST).used, 0u);
}

TEST_F(RowStreamTest, WhatIsHeldOutlivesItsStream) {
  StreamedBatch held;
  {
    RowStream& stream = start(10, 2);
    stream.take({0, 0, true}, rows(0, 20));
    ASSERT_TRUE(soon([&] { return messages_.batches() == 2; }));
    held = take(0);
    stream_.reset();
  }
  // The other one was nobody's.
  EXPECT_FALSE(take(1).memory);
  expect_rows(held, 0);
}

TEST_F(RowStreamTest, RowsThatWereTakenBeforeAreLeftOut) {
  RowStream& stream = start(50, 10, 130);
  for (uint64_t piece = 0; piece < 3; piece++)
    stream.take({piece, 0, true}, rows(static_cast<int64_t>(piece) * 100, 100));
  stream.finish();
  ASSERT_TRUE(soon([&] { return messages_.batches() == 4; }));
  for (size_t i = 0; i < 4; i++) expect_rows(take(i), 130 + static_cast<int64_t>(i) * 50);
}

TEST_F(RowStreamTest, AValueWithoutAFormFailsTheQuery) {
  RowStream& stream = start(50);
  stream.take({0, 0, true}, rows(0, 10, INT32_MAX));
  EXPECT_TRUE(soon([&] { return messages_.failed(); }));
}

TEST_F(RowStreamTest, TwoTasksOfOnePlace) {
  RowStream& stream = start(50);
  stream.take({1, 0, true}, rows(0, 10));
  EXPECT_THROW(stream.take({1, 0, true}, rows(0, 10)), DeviceError);
}

TEST_F(RowStreamTest, ColumnsOfFixedWidthGoToTheirBatchAsTheyAreRead) {
  program_.outputs = {0};
  RowStream& stream = start(1000, 2, 0, 1);
  std::vector<ColumnRows> columns;
  for (const uint8_t type : {TB_TYPE_INT8, TB_TYPE_BOOL, TB_TYPE_TEXT, TB_TYPE_DATE}) columns.emplace_back(type);
  // The pieces of three batches; they are read backwards.
  std::vector<std::unique_ptr<ReadRows>> begun;
  for (uint64_t piece = 0; piece < 4; piece++) {
    RowsPlace place = stream.begin_piece(piece, 500);
    ASSERT_EQ(place.way, RowsPlace::Way::kBatches);
    begun.push_back(std::move(place.to));
  }
  EXPECT_EQ(stream.begin_piece(4, 500).way, RowsPlace::Way::kLater);
  EXPECT_FALSE(stream.wants_input());
  for (uint64_t piece = 4; piece-- > 0;)
    for (int64_t half = 0; half < 2; half++) {
      columns[0].clear();
      columns[0].write_to(begun[piece]->room(0, 250));
      int64_t* const to = columns[0].append<int64_t>(250);
      for (int64_t i = 0; i < 250; i++) to[i] = static_cast<int64_t>(piece) * 500 + half * 250 + i;
      begun[piece]->add(columns, 250);
    }
  ASSERT_TRUE(soon([&] { return messages_.batches() == 2; }));
  for (size_t i = 0; i < 2; i++) {
    const auto numbers = region<int64_t>(take(i), 0, TB_EXPORT_VALUES_AT, 1000);
    for (size_t row = 0; row < 1000; row++) ASSERT_EQ(numbers[row], static_cast<int64_t>(i * 1000 + row));
  }
  stream.batch_taken();
  EXPECT_EQ(told_, 1);
  EXPECT_EQ(stream.begin_piece(4, 500).way, RowsPlace::Way::kBatches);
  // Larger than a batch, and what comes behind it: by tasks.
  EXPECT_EQ(stream.begin_piece(5, 1001).way, RowsPlace::Way::kTasks);
  EXPECT_EQ(stream.begin_piece(6, 10).way, RowsPlace::Way::kTasks);
}

TEST_F(RowStreamTest, BatchesMoveToADevice) {
  MemoryDevice device;
  RowStream& stream = start(1000, 2, 0, 4, &device);
  constexpr int64_t kPieces = 30;
  for (int64_t piece = 0; piece < kPieces; piece++)
    stream.take({static_cast<uint64_t>(piece), 0, true}, rows(piece * 400, 400));
  stream.finish();
  for (size_t i = 0; i < kPieces * 400 / 1000; i++) {
    ASSERT_TRUE(soon([&] { return messages_.batches() > i; }));
    const StreamedBatch batch = take(i);
    ASSERT_TRUE(batch.on_device);
    EXPECT_FALSE(batch.memory);
    EXPECT_EQ(batch.on_device->device(), kDeviceNumber);
    expect_rows(batch, static_cast<int64_t>(i) * 1000);
    stream.batch_taken();
  }
  EXPECT_TRUE(stream.all_taken());
  EXPECT_LE(device.made, 3 * 4u) << "memory is used again";
  EXPECT_GT(admission_.usage(kDeviceNumber).used, 0u);
  stream_.reset();
  EXPECT_EQ(admission_.usage(kDeviceNumber).used, 0u);
  EXPECT_EQ(admission_.usage(TB_DEVICE_HOST).used, 0u);
}

TEST_F(RowStreamTest, BatchesStayWithoutRoomOnTheDevice) {
  MemoryDevice device;
  const Admission::Grant taken = admission_.reserve(kDeviceNumber, kDeviceBudget - (uint64_t{4} << 20));
  RowStream& stream = start(1000, 2, 0, 4, &device);
  stream.take({0, 0, true}, rows(0, 1000));
  stream.finish();
  ASSERT_TRUE(soon([&] { return messages_.batches() == 1; }));
  const StreamedBatch batch = take(0);
  EXPECT_FALSE(batch.on_device);
  expect_rows(batch, 0);
  EXPECT_FALSE(messages_.failed());
  stream.batch_taken();
  stream_.reset();
}

TEST_F(RowStreamTest, RequestsThatCannotBe) {
  const Program program = Program::parse(program_.blob());
  const auto parse = [&](TbStream head, TbStreamColumn column) {
    std::vector<uint8_t> bytes(sizeof head + sizeof column);
    memcpy(bytes.data(), &head, sizeof head);
    memcpy(bytes.data() + sizeof head, &column, sizeof column);
    return parse_stream(bytes, program);
  };
  EXPECT_EQ(parse({1, 0, 1, 1, 0, 0}, {0, TB_EXPORT_INT64}).source_columns.size(), 1u);
  EXPECT_TRUE(parse({1, 0, 1, 1, 0, 0}, {2, TB_EXPORT_UTF8}).source_columns.empty());
  EXPECT_THROW(parse({0, 0, 1, 1, 0, 0}, {0, TB_EXPORT_INT64}), ProtocolError);
  EXPECT_THROW(parse({1, 0, 1, 0, 0, 0}, {0, TB_EXPORT_INT64}), ProtocolError);
  EXPECT_THROW(parse({1, 0, 2, 1, 0, 0}, {0, TB_EXPORT_INT64}), ProtocolError);
  EXPECT_THROW(parse({TB_STREAM_MOST_ROWS + 1, 0, 1, 1, 0, 0}, {0, TB_EXPORT_INT64}), ProtocolError);
  EXPECT_THROW(parse({1, 0, 1, 1, 0, 0}, {4, TB_EXPORT_INT64}), ProtocolError);
  EXPECT_THROW(parse({1, 0, 1, 1, 0, 0}, {0, TB_EXPORT_UTF8}), ProtocolError);
  EXPECT_THROW(parse({1, 0, 1, 1, 0, 0}, {0, 99}), ProtocolError);
}

}  // namespace
}  // namespace turbine
