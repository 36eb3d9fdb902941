/*
 * backend_source.cc - see backend_source.h; include/turbine/file_writer.h has the format.
 *
 * Owns the block of rows that was read last. Must never take a pipe that ends early for the end of the rows.
 */
#include "export/backend/backend_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "export/postgres/decoders.h"
#include "turbine/file_writer.h"

namespace turbine::exporting {
namespace {

constexpr uint32_t kMostTextBytes = 1 << 20;
constexpr uint32_t kMostColumns = 1 << 16;
constexpr uint32_t kMostWidth = 16;

[[noreturn]] void damaged() { throw ExportError(ExitCode::kServer, "the backend's request is damaged"); }

void read_all(int input, void* to, size_t size) {
  auto* place = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = read(input, place, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw ExportError(ExitCode::kConnection, "the backend is gone");
    place += n;
    size -= static_cast<size_t>(n);
  }
}

uint32_t read_number(int input) {
  uint32_t number;
  read_all(input, &number, sizeof number);
  return number;
}

std::string read_text(int input) {
  const uint32_t length = read_number(input);
  if (length > kMostTextBytes) damaged();
  std::string text(length, 0);
  read_all(input, text.data(), length);
  return text;
}

static_assert(kDecimalNan == TB_WRITER_NAN);

class BlockRows final : public RowSource {
 public:
  BlockRows(int input, const std::vector<int>& widths, int64_t& rows)
      : input_(input), widths_(widths), rows_(rows), columns_(widths.size()) {}

  bool add(BatchBuilder& builder) override {
    TbWriterBlock head;
    read_all(input_, &head, sizeof head);
    if (head.rows == 0) return false;
    if (head.length % TB_WRITER_ALIGNMENT != 0) damaged();
    block_.resize(head.length / sizeof(uint64_t));
    read_all(input_, block_.data(), head.length);
    place_ = reinterpret_cast<const char*>(block_.data());
    end_ = place_ + head.length;
    for (size_t i = 0; i < columns_.size(); i++) columns_[i] = read_column(head.rows, widths_[i]);
    builder.append(columns_);
    rows_ += head.rows;
    return true;
  }

 private:
  /* So many bytes of the block. */
  const char* take(uint64_t bytes) {
    const char* part = place_;
    const uint64_t filled = (bytes + TB_WRITER_ALIGNMENT - 1) / TB_WRITER_ALIGNMENT * TB_WRITER_ALIGNMENT;
    if (filled > static_cast<uint64_t>(end_ - place_)) damaged();
    place_ += filled;
    return part;
  }

  ColumnBytes read_column(uint32_t rows, int width) {
    ColumnBytes column;
    TbWriterPart part;
    memcpy(&part, take(sizeof part), sizeof part);
    column.rows = rows;
    column.width = width;
    column.bytes = part.bytes;
    if (width == 0) {
      column.lengths = reinterpret_cast<const int32_t*>(take(uint64_t{rows} * sizeof(int32_t)));
      uint64_t bytes = 0;
      for (uint32_t i = 0; i < rows; i++) bytes += static_cast<uint64_t>(std::max(column.lengths[i], 0));
      if (bytes != part.bytes) damaged();
    } else if (uint64_t{rows} * static_cast<uint64_t>(width) != part.bytes) {
      damaged();
    } else if (part.nulls > 0) {
      column.valid = reinterpret_cast<const uint8_t*>(take(rows));
    }
    column.data = take(part.bytes);
    return column;
  }

  const int input_;
  const std::vector<int>& widths_;
  int64_t& rows_;
  std::vector<ColumnBytes> columns_;
  std::vector<uint64_t> block_;
  const char *place_ = nullptr, *end_ = nullptr;
};

arrow::Compression::type compression_of(const std::string& name, bool parquet) {
  if (name == "none") return arrow::Compression::UNCOMPRESSED;
  if (name == "zstd") return arrow::Compression::ZSTD;
  if (name == "snappy") return arrow::Compression::SNAPPY;
  if (name == "lz4") return parquet ? arrow::Compression::LZ4 : arrow::Compression::LZ4_FRAME;
  damaged();
}

}  // namespace

/* Types that the file has no form for are read as texts: the backend has sent these. */
PgType BackendSource::read_type(bool parquet) {
  PgType type;
  type.oid = read_number(input_);
  type.modifier = static_cast<int32_t>(read_number(input_));
  const uint32_t element = read_number(input_);
  type.kind = kind_of(type.oid);
  if (element != 0) {
    PgType part;
    part.oid = element;
    part.modifier = type.modifier;
    part.kind = kind_of(element);
    type.kind = PgKind::kArray;
    type.parts.push_back(part);
  }
  if (type.oid == 0) type.kind = PgKind::kText;
  if (!is_readable(type) || (parquet && contains(type, PgKind::kInterval))) damaged();
  return type;
}

bool read_request(int input, WriterRequest& request) {
  uint32_t magic;
  ssize_t n;
  do {
    n = read(input, &magic, 1);
  } while (n < 0 && errno == EINTR);
  if (n == 0) return false;
  if (n < 0) throw ExportError(ExitCode::kConnection, "the backend is gone");
  read_all(input, reinterpret_cast<char*>(&magic) + 1, sizeof magic - 1);
  if (magic != TB_WRITER_MAGIC) damaged();
  request = {};
  request.flags = read_number(input);
  request.stop = read_number(input);
  Options& options = request.options;
  options.output = read_text(input);
  options.parquet = request.flags & TB_WRITER_PARQUET;
  options.statistics = request.flags & TB_WRITER_STATISTICS;
  options.segment_bytes = kBatchBytes;
  options.compression = compression_of(read_text(input), options.parquet);
  if (request.flags & (TB_WRITER_ADDITION | TB_WRITER_MERGE)) request.old_file = read_text(input);
  if (request.flags & TB_WRITER_MERGE) {
    for (uint32_t count = read_number(input); count > 0; count--) request.additions.push_back(read_text(input));
  }
  return true;
}

BackendSource::BackendSource(int input, const WriterRequest& request)
    : input_(input), check_utf8_(request.flags & TB_WRITER_SQL_ASCII) {
  const uint32_t count = read_number(input_);
  if (count == 0 || count > kMostColumns) damaged();
  for (uint32_t i = 0; i < count; i++) {
    names_.push_back(read_text(input_));
    types_.push_back(read_type(request.options.parquet));
    const uint32_t width = read_number(input_);
    if (width > kMostWidth) damaged();
    widths_.push_back(static_cast<int>(width));
  }
}

ColumnDecoders BackendSource::make_decoders() const {
  const DecoderOptions options{InvalidValue::kError, NumericAs::kText, EnumAs::kText, check_utf8_};
  ColumnDecoders decoders;
  for (const PgType& type : types_) decoders.push_back(make_decoder(type, options));
  return decoders;
}

std::unique_ptr<RowSource> BackendSource::open(int) { return std::make_unique<BlockRows>(input_, widths_, rows_); }

}  // namespace turbine::exporting
