/*
 * ipc_writer.cc - messages of an Arrow IPC file one after the other, and its footer.
 *
 * Appending copies the old file without its footer to a new one (the file system shares
 * the blocks if it can), adds batches and a footer of all, and renames it over the old
 * file. So whoever has the old file open keeps it whole, and a crash leaves it in place.
 */
#include "export/ipc_writer.h"

#include <arrow/array/array_dict.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/compression.h>

#include <cstring>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* Of bodies in the file and buffers in bodies: a cache line, and what direct reads want. */
constexpr int64_t kAlignment = 64;
/* "End of stream": a marker, and a message of no bytes. */
constexpr char kEndOfStream[] = "\xff\xff\xff\xff\0\0\0\0";

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::shared_ptr<arrow::io::ReadableFile> open_file(const std::string& path) {
  return value_of(arrow::io::ReadableFile::Open(path));
}

/* The bytes of a file's footer; `start` becomes its place. */
std::string read_footer(const std::string& path, int64_t& start) {
  const auto file = open_file(path);
  const int64_t size = value_of(file->GetSize());
  constexpr int64_t kTail = kIpcMagicBytes + sizeof(int32_t);
  int32_t footer_bytes = 0;
  std::string tail;
  if (size > 2 * kTail) tail = value_of(file->ReadAt(size - kTail, kTail))->ToString();
  if (tail.size() == kTail && tail.ends_with(kIpcMagic)) memcpy(&footer_bytes, tail.data(), sizeof footer_bytes);
  if (footer_bytes <= 0 || footer_bytes > size - kTail - kIpcMagicBytes) {
    throw ExportError(ExitCode::kFile, "\"" + path + "\" is not a complete Arrow IPC file");
  }
  start = size - kTail - footer_bytes;
  return value_of(file->ReadAt(start, footer_bytes))->ToString();
}

}  // namespace

IpcWriter::IpcWriter(const std::string& path, bool append, std::shared_ptr<arrow::Schema> schema, ValueRanges ranges,
                     arrow::Compression::type compression)
    : file_(path),
      schema_(std::move(schema)),
      ranges_(std::move(ranges)),
      options_(arrow::ipc::IpcWriteOptions::Defaults()),
      mapper_(*schema_),
      dictionaries_(static_cast<size_t>(schema_->num_fields())),
      appending_(append) {
  options_.alignment = kAlignment;
  if (compression != arrow::Compression::UNCOMPRESSED)
    options_.codec = value_of(arrow::util::Codec::Create(compression));
  if (append) {
    start_with(path);
  } else {
    start_new();
  }
}

void IpcWriter::start_new() {
  write_bytes(std::string(kIpcMagic, kIpcMagicBytes) + std::string(2, '\0'));
  arrow::ipc::IpcPayload payload;
  check(arrow::ipc::GetSchemaPayload(*schema_, options_, mapper_, &payload));
  /* By hand: libarrow pads a message's length, here its end has to be aligned, and with it
   * all messages behind it. Nothing may lie between messages, for readers of streams. */
  std::string message = payload.metadata->ToString();
  message.resize(static_cast<size_t>(padded(position_ + 8 + static_cast<int64_t>(message.size())) - position_ - 8));
  const auto length = static_cast<int32_t>(message.size());
  write_bytes(std::string(kEndOfStream, 4) + std::string(reinterpret_cast<const char*>(&length), 4) + message);
}

void IpcWriter::start_with(const std::string& path) {
  int64_t footer_start = 0;
  const std::string bytes = read_footer(path, footer_start);
  footer_ = parse_footer(bytes, footer_start);
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(open_file(path)));
  if (!reader->schema()->Equals(*schema_, /*check_metadata=*/false)) {
    throw ExportError(ExitCode::kUsage, "cannot append to \"" + path + "\", which has other columns:\n" +
                                            reader->schema()->ToString(false) + "\nthe new ones:\n" +
                                            schema_->ToString(false));
  }
  ranges_.take_over(*reader->schema(), reader->num_record_batches());
  schema_ = reader->schema();
  if (!footer_.dictionaries.empty()) take_over_dictionaries(path);

  /* Behind the last message; what follows it is an end of stream, or nothing. */
  int64_t end = 0;
  for (const auto* blocks : {&footer_.dictionaries, &footer_.batches}) {
    for (const IpcBlock& block : *blocks) end = std::max(end, block.offset + block.metadata_bytes + block.body_bytes);
  }
  if (end == 0) end = footer_start;
  file_.start_with_copy(end);
  position_ = end;
}

void IpcWriter::take_over_dictionaries(const std::string& path) {
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(open_file(path)));
  if (reader->num_record_batches() == 0) return;
  const auto batch = value_of(reader->ReadRecordBatch(0));
  for (int i = 0; i < schema_->num_fields(); i++) {
    if (schema_->field(i)->type()->id() == arrow::Type::DICTIONARY) {
      dictionaries_[static_cast<size_t>(i)] =
          static_cast<const arrow::DictionaryArray&>(*batch->column(i)).dictionary();
    }
  }
}

void IpcWriter::write_dictionaries(const arrow::RecordBatch& batch) {
  for (int i = 0; i < schema_->num_fields(); i++) {
    if (schema_->field(i)->type()->id() != arrow::Type::DICTIONARY) continue;
    auto& known = dictionaries_[static_cast<size_t>(i)];
    const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*batch.column(i)).dictionary();
    if (known != nullptr && known->Equals(dictionary)) continue;
    if (known != nullptr) {
      throw ExportError(ExitCode::kUsage, "column \"" + schema_->field(i)->name() +
                                              "\": the file has another dictionary; export it with --enum=text");
    }
    arrow::ipc::IpcPayload payload;
    const int64_t id = value_of(mapper_.GetFieldId({i}));
    check(arrow::ipc::GetDictionaryPayload(id, dictionary, options_, &payload));
    footer_.dictionaries.push_back(write_payload(payload));
    known = dictionary;
  }
}

void IpcWriter::write(const arrow::RecordBatch& batch) {
  write_dictionaries(batch);
  arrow::ipc::IpcPayload payload;
  check(arrow::ipc::GetRecordBatchPayload(batch, options_, &payload));
  footer_.batches.push_back(write_payload(payload));
  ranges_.add(batch);
}

IpcBlock IpcWriter::write_payload(const arrow::ipc::IpcPayload& payload) {
  IpcBlock block{position_, 0, 0, payload.body_length};
  check(arrow::ipc::WriteIpcPayload(payload, options_, file_.stream().get(), &block.metadata_bytes));
  position_ = value_of(file_.stream()->Tell());
  return block;
}

void IpcWriter::write_bytes(const std::string& bytes) {
  check(file_.stream()->Write(bytes.data(), static_cast<int64_t>(bytes.size())));
  position_ += static_cast<int64_t>(bytes.size());
}

void IpcWriter::finish() {
  write_bytes(std::string(kEndOfStream, 8));
  const std::string bytes = footer_bytes(footer_, *ranges_.describe(*schema_));
  write_bytes(bytes);
  const auto length = static_cast<int32_t>(bytes.size());
  write_bytes(std::string(reinterpret_cast<const char*>(&length), sizeof length) + kIpcMagic);
  file_.commit(appending_);
}

}  // namespace turbine::exporting
