/*
 * file_reader_user.cc - turbine-file-reader over a spoilt file: what it answers to DESCRIBE and SCAN.
 *
 * Owns the declared columns, and stands in for the pipe to the backend (frames.h): every frame is taken apart as the
 * backend does, value by value. Rows beyond kMostRows are not read, since a query of them can be cancelled.
 */
#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include <arrow/extension_type.h>
#include <arrow/io/file.h>
#include <arrow/memory_pool.h>
#include <arrow/type.h>
#include <parquet/exception.h>

#include "file_reader/answer.h"
#include "file_reader/batch_file.h"
#include "file_reader/frames.h"
#include "file_reader/value_encoder.h"
#include "memory_file.h"
#include "random_numbers.h"
#include "readers.h"

namespace turbine::file_reader {
namespace {

constexpr int64_t kMostRows = 200000;
constexpr int64_t kMemory = 256 << 20;  // as pg_turbine.file_reader_memory's default

/* What the frames of one answer say. */
struct Frames {
  uint32_t columns = 0;
  uint64_t rows = 0, digest = 0;
  bool done = false;
};
Frames* frames = nullptr;

class PayloadReader {
 public:
  explicit PayloadReader(const ByteBuffer& payload) : at_(payload.data()), end_(at_ + payload.size()) {}

  uint32_t native() {
    uint32_t value;
    memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  void skip_value() {
    const int32_t length = static_cast<int32_t>(__builtin_bswap32(native()));
    if (length == -1) return;
    if (length < 0) throw std::logic_error("a value of a negative length");
    const uint8_t* bytes = take(static_cast<size_t>(length));
    for (int32_t i = 0; i < length; i++) digest = (digest ^ bytes[i]) * 0x100000001b3u;
  }
  bool at_end() const { return at_ == end_; }
  uint64_t digest = 0xcbf29ce484222325u;

 private:
  const uint8_t* take(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) throw std::logic_error("a frame ends within a value");
    at_ += count;
    return at_ - count;
  }
  const uint8_t* at_;
  const uint8_t* const end_;
};

}  // namespace

arrow::MemoryPool* reader_pool() {
  static arrow::CappedMemoryPool pool(arrow::system_memory_pool(), kMemory);
  return &pool;
}

void send_frame(int, TbReaderFrameKind kind, const ByteBuffer& payload) {
  if (frames->done) throw std::logic_error("a frame behind the last");
  if (kind == TB_FRAME_DONE) frames->done = true;
  if (kind != TB_FRAME_ROWS) return;
  PayloadReader reader(payload);
  const uint32_t rows = reader.native();
  for (uint32_t row = 0; row < rows; row++)
    for (uint32_t column = 0; column < frames->columns; column++) reader.skip_value();
  if (!reader.at_end()) throw std::logic_error("a frame longer than its rows");
  frames->rows += rows;
  frames->digest = frames->digest * 31 + reader.digest;
}

}  // namespace turbine::file_reader

namespace turbine::file_mutations {
namespace {

using namespace file_reader;

/* A file of which no more rows are read than the test has time for. */
class ShortFile final : public BatchFile {
 public:
  explicit ShortFile(BatchFile& file) : file_(file) {}
  FileFormat format() const override { return file_.format(); }
  const arrow::Schema& schema() const override { return file_.schema(); }
  std::vector<BatchSize> batch_sizes() override { return file_.batch_sizes(); }
  int64_t column_bytes(int column) override { return file_.column_bytes(column); }
  std::optional<BatchBounds> bounds(int batch, int column) override { return file_.bounds(batch, column); }
  std::shared_ptr<arrow::Array> as_declared(int column, const std::shared_ptr<arrow::Array>& stored) const override {
    return file_.as_declared(column, stored);
  }
  void read(const std::vector<int>& columns, const Wanted& wanted, const Consume& consume) override {
    int64_t rows = 0;
    file_.read(columns, wanted, [&](int batch, const arrow::RecordBatch& piece) {
      rows += piece.num_rows();
      if (rows > kMostRows) throw ReaderError(sqlstate::too_large, "more rows than are read here");
      consume(batch, piece);
    });
  }

 private:
  BatchFile& file_;
};

std::optional<Target> target_of(const arrow::DataType& type);

/* The target for items or fields, if each has one. */
std::optional<Target> nested_target(const arrow::DataType& type, TbReaderTarget kind) {
  Target target{kind, {}, {}};
  for (const auto& field : type.fields()) {
    const auto part = target_of(*field->type());
    if (!part) return std::nullopt;
    target.parts.push_back(*part);
    if (kind == TB_TARGET_COMPOSITE) target.names.push_back(field->name());
  }
  // An array of arrays is one array of more dimensions.
  if (kind == TB_TARGET_ARRAY && target.parts.size() == 1 && target.parts[0].kind == TB_TARGET_ARRAY)
    target.parts = target.parts[0].parts;
  return target;
}

bool fits(const arrow::DataType& type, const Target& target) {
  try {
    return make_encoder(type, target) != nullptr;
  } catch (const ReaderError&) {
    return false;
  }
}

/* All that the type fits; of numbers in nested types only numeric, which holds every one. */
std::vector<Target> targets_of(const arrow::DataType& type) {
  std::vector<Target> targets;
  const auto add = [&](const Target& target) {
    if (fits(type, target)) targets.push_back(target);
  };
  for (const TbReaderTarget kind :
       {TB_TARGET_BOOL, TB_TARGET_NUMERIC, TB_TARGET_INT2, TB_TARGET_INT4, TB_TARGET_INT8, TB_TARGET_FLOAT4,
        TB_TARGET_FLOAT8, TB_TARGET_DATE, TB_TARGET_TIME, TB_TARGET_TIMESTAMP, TB_TARGET_TIMESTAMPTZ,
        TB_TARGET_INTERVAL, TB_TARGET_UUID, TB_TARGET_BYTEA, TB_TARGET_TEXT})
    add({kind, {}, {}});
  if (type.num_fields() > 0)
    for (const TbReaderTarget kind : {TB_TARGET_ARRAY, TB_TARGET_COMPOSITE})
      if (const auto target = nested_target(type, kind)) add(*target);
  add({TB_TARGET_JSON, {}, {}});
  return targets;
}

std::optional<Target> target_of(const arrow::DataType& type) {
  const std::vector<Target> targets = targets_of(type);
  return targets.empty() ? std::nullopt : std::optional(targets[0]);
}

class FileReaderUser final : public FileUser {
 public:
  explicit FileReaderUser(const std::string& content) {
    const MemoryFile file(content);
    const auto opened = open_batch_file(*arrow::io::ReadableFile::Open(dup(file.fd())));
    for (const auto& field : opened->schema().fields()) {
      std::vector<WantedColumn> some;
      for (const Target& target : targets_of(*field->type()))
        if (can_read(*opened, {field->name(), target})) some.push_back({field->name(), target});
      if (!some.empty()) declared_.push_back(some);
    }
    if (declared_.empty()) throw std::runtime_error("no column can be read");
  }

  Outcome use(int fd, uint64_t choice) override {
    Outcome outcome;
    RandomNumbers random(choice);
    try {
      answer(fd, random, outcome);
    } catch (const ReaderError& error) {
      fail(outcome, error.what());
    } catch (const std::bad_alloc&) {
      fail(outcome, "out of memory");
    } catch (const parquet::ParquetException& error) {
      fail(outcome, error.what());
    } catch (const std::logic_error&) {
      throw;
    } catch (const std::exception& error) {
      fail(outcome, error.what());
    }
    return outcome;
  }

 private:
  /* Whether all values of the sound file fit the target. */
  static bool can_read(BatchFile& file, const WantedColumn& column) {
    Frames answer{1};
    file_reader::frames = &answer;
    try {
      scan(file, Request{TB_READER_SCAN, -1, "sound", {column}, {}}, -1);
      return true;
    } catch (const ReaderError&) {
      return false;
    }
  }

  static void fail(Outcome& outcome, const std::string& message) {
    outcome.is_error = true;
    outcome.message = message;
  }

  void answer(int fd, RandomNumbers& random, Outcome& outcome) const {
    const auto file = check(arrow::io::ReadableFile::Open(dup(fd), reader_pool()));
    const auto opened = open_batch_file(file);
    ShortFile batches(*opened);
    Frames answer;
    file_reader::frames = &answer;
    if (random.one_in(2)) {
      describe(batches, -1);
      if (!answer.done) throw std::logic_error("a description without an end");
    }
    const Request request = scan_request(random);
    answer = Frames{static_cast<uint32_t>(request.columns.size())};
    scan(batches, request, -1);
    if (!answer.done) throw std::logic_error("rows without an end");
    outcome.rows = answer.rows;
    outcome.digest = answer.digest;
  }

  Request scan_request(RandomNumbers& random) const {
    Request request{TB_READER_SCAN, -1, "spoilt", {}, {}};
    const bool all = !random.one_in(4);
    for (const auto& some : declared_)
      if (all || random.one_in(2)) request.columns.push_back(some[random.below(some.size())]);
    if (request.columns.empty()) request.columns.push_back(declared_[0][0]);
    if (random.one_in(4)) add_bound(random, request);
    return request;
  }

  static void add_bound(RandomNumbers& random, Request& request) {
    const auto column = static_cast<uint32_t>(random.below(request.columns.size()));
    switch (request.columns[column].target.kind) {
      case TB_TARGET_INT2:
      case TB_TARGET_INT4:
      case TB_TARGET_INT8:
      case TB_TARGET_FLOAT8:
      case TB_TARGET_NUMERIC:
      case TB_TARGET_DATE:
      case TB_TARGET_TIMESTAMP:
      case TB_TARGET_TIMESTAMPTZ:
      case TB_TARGET_TEXT: break;
      default: return;
    }
    const auto compare = static_cast<TbReaderCompare>(1 + random.below(5));
    request.bounds.push_back({column, compare, {std::to_string(random.below(1000))}});
  }

  std::vector<std::vector<WantedColumn>> declared_;  // by field: ways to declare it
};

}  // namespace

std::unique_ptr<FileUser> make_file_reader_user(const std::string& content) {
  return std::make_unique<FileReaderUser>(content);
}

}  // namespace turbine::file_mutations
