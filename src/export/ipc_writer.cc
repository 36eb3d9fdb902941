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

#include <algorithm>
#include <cstring>

#include "export/export_error.h"
#include "export/ipc_body.h"

namespace turbine::exporting {
namespace {

/* "End of stream": a marker, and a message of no bytes. */
constexpr char kEndOfStream[] = "\xff\xff\xff\xff\0\0\0\0";

/* Where the first message begins, behind the magic and two bytes. */
constexpr int64_t kFirstMessage = 8;

std::shared_ptr<arrow::io::ReadableFile> open_old(const OutputFile& output) {
  return value_of(arrow::io::ReadableFile::Open(output.open_old()));
}

/* The bytes of a file's footer; `start` becomes its place. */
std::string read_footer(arrow::io::ReadableFile& file, const std::string& name, int64_t& start) {
  const int64_t size = value_of(file.GetSize());
  constexpr int64_t kTail = kIpcMagicBytes + sizeof(int32_t);
  int32_t footer_bytes = 0;
  std::string tail;
  if (size > 2 * kTail) tail = value_of(file.ReadAt(size - kTail, kTail))->ToString();
  if (tail.size() == kTail && tail.ends_with(kIpcMagic)) memcpy(&footer_bytes, tail.data(), sizeof footer_bytes);
  if (footer_bytes <= 0 || footer_bytes > size - kTail - kIpcMagicBytes) {
    throw ExportError(ExitCode::kFile, "\"" + name + "\" is not a complete Arrow IPC file");
  }
  start = size - kTail - footer_bytes;
  return value_of(file.ReadAt(start, footer_bytes))->ToString();
}

/* Where the schema message at the beginning of a file ends; what follows it is an end of stream or the footer if
 * there are no other messages. */
int64_t schema_end(arrow::io::ReadableFile& file, int64_t footer_start) {
  const std::string head = value_of(file.ReadAt(kFirstMessage, 8))->ToString();
  int32_t lengths[2] = {0, 0};
  if (head.size() == sizeof lengths) memcpy(lengths, head.data(), sizeof lengths);
  /* Files of before Arrow 0.15 have no marker in front of a length. */
  const int64_t end = lengths[0] == -1 ? kFirstMessage + 8 + int64_t{lengths[1]}
                                       : kFirstMessage + 4 + int64_t{lengths[0]};
  if (end < kFirstMessage || end > footer_start) {
    throw ExportError(ExitCode::kFile, "the file's schema message is damaged");
  }
  return (end + 7) / 8 * 8;
}

}  // namespace

IpcWriter::IpcWriter(std::unique_ptr<OutputFile> file, bool append, std::shared_ptr<arrow::Schema> schema,
                     ValueRanges ranges, arrow::Compression::type compression, bool durable)
    : file_(std::move(file)),
      schema_(std::move(schema)),
      ranges_(std::move(ranges)),
      options_(arrow::ipc::IpcWriteOptions::Defaults()),
      mapper_(*schema_),
      dictionaries_(static_cast<size_t>(schema_->num_fields())),
      durable_(append || durable) {
  options_.alignment = kIpcAlignment;
  if (compression != arrow::Compression::UNCOMPRESSED)
    options_.codec = value_of(arrow::util::Codec::Create(compression));
  if (append) {
    start_with_old();
  } else {
    start_new();
  }
}

void IpcWriter::start_new() {
  write_bytes(std::string(kIpcMagic, kIpcMagicBytes) + std::string(kFirstMessage - kIpcMagicBytes, '\0'));
  arrow::ipc::IpcPayload payload;
  check(arrow::ipc::GetSchemaPayload(*schema_, options_, mapper_, &payload));
  write_metadata(payload.metadata->ToString(), kIpcAlignment);
}

/* By hand: libarrow pads a message's length, here its end has to be aligned, whatever lies before it. Nothing may lie
 * between messages, for readers of streams. */
void IpcWriter::write_metadata(const std::string& metadata, int64_t alignment) {
  std::string message = metadata;
  message.resize(
      static_cast<size_t>(round_up(position_ + 8 + static_cast<int64_t>(message.size()), alignment) - position_ - 8));
  const auto length = static_cast<int32_t>(message.size());
  write_bytes(std::string(kEndOfStream, 4) + std::string(reinterpret_cast<const char*>(&length), 4) + message);
}

void IpcWriter::start_with_old() {
  const auto old = open_old(*file_);
  int64_t footer_start = 0;
  const std::string bytes = read_footer(*old, file_->old_name(), footer_start);
  footer_ = parse_footer(bytes, footer_start);
  const auto reader = value_of(arrow::ipc::RecordBatchFileReader::Open(old));
  if (!reader->schema()->Equals(*schema_, /*check_metadata=*/false)) {
    throw ExportError(ExitCode::kUsage, "cannot append to \"" + file_->old_name() + "\", which has other columns:\n" +
                                            reader->schema()->ToString(false) + "\nthe new ones:\n" +
                                            schema_->ToString(false));
  }
  ranges_.take_over(*reader->schema(), reader->num_record_batches());
  schema_ = reader->schema();
  /* Without a batch nothing refers to them, and new ones will have their numbers. */
  if (footer_.batches.empty()) footer_.dictionaries.clear();
  if (!footer_.dictionaries.empty()) take_over_dictionaries(*reader);

  /* Behind the last message; what follows it is an end of stream, or nothing. */
  int64_t end = schema_end(*old, footer_start);
  for (const auto* blocks : {&footer_.dictionaries, &footer_.batches}) {
    for (const IpcBlock& block : *blocks) end = std::max(end, block.offset + block.metadata_bytes + block.body_bytes);
  }
  file_->start_with_copy(end);
  position_ = end;
}

void IpcWriter::take_over_dictionaries(arrow::ipc::RecordBatchFileReader& reader) {
  const auto batch = value_of(reader.ReadRecordBatch(0));
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
    const int64_t taken = known == nullptr ? 0 : known->length();
    if (taken > 0 && (dictionary->length() < taken || !known->RangeEquals(*dictionary, 0, taken, 0))) {
      throw ExportError(ExitCode::kUsage, "column \"" + schema_->field(i)->name() +
                                              "\": the file has another dictionary; export it with --enum=text");
    }
    arrow::ipc::IpcPayload payload;
    const int64_t id = value_of(mapper_.GetFieldId({i}));
    check(arrow::ipc::GetDictionaryPayload(id, /*is_delta=*/known != nullptr, dictionary->Slice(taken), options_,
                                           &payload));
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
  const IpcBody body = place_buffers(payload.body_buffers);
  IpcBlock block{position_, 0, 0, body.bytes};
  std::string metadata = payload.metadata->ToString();
  put_places(body, metadata);
  write_metadata(metadata, body.alignment);
  block.metadata_bytes = static_cast<int32_t>(position_ - block.offset);
  const int64_t start = position_;
  for (size_t i = 0; i < body.offsets.size(); i++) {
    const auto& buffer = payload.body_buffers[i];
    if (buffer == nullptr || buffer->size() == 0) continue;
    pad_to(start + body.offsets[i]);
    file_->write(buffer->data(), buffer->size());
    position_ += buffer->size();
  }
  pad_to(start + body.bytes);
  return block;
}

void IpcWriter::pad_to(int64_t position) {
  if (position > position_) write_bytes(std::string(static_cast<size_t>(position - position_), '\0'));
}

void IpcWriter::write_bytes(const std::string& bytes) {
  file_->write(bytes.data(), static_cast<int64_t>(bytes.size()));
  position_ += static_cast<int64_t>(bytes.size());
}

void IpcWriter::finish() {
  write_bytes(std::string(kEndOfStream, 8));
  const std::string bytes = footer_bytes(footer_, *ranges_.describe(*schema_));
  write_bytes(bytes);
  const auto length = static_cast<int32_t>(bytes.size());
  write_bytes(std::string(reinterpret_cast<const char*>(&length), sizeof length) + kIpcMagic);
  file_->commit(durable_);
}

}  // namespace turbine::exporting
