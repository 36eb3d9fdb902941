/*
 * copy_rows.cc - reads COPY's binary format from libpq.
 *
 * The server sends one row in each message. Before the first: the signature
 * "PGCOPY\n\377\r\n\0", int32 flags, int32 length of an extension. A row: int16 number of
 * columns, then int32 length (-1: NULL) and bytes of each. At the end: int16 -1.
 */
#include "export/postgres/copy_rows.h"

#include <cstring>

#include "export/postgres/binary_reader.h"

namespace turbine::exporting {
namespace {

constexpr char kSignature[] = "PGCOPY\n\377\r\n";
constexpr int kSignatureBytes = 11, kHeaderBytes = 19;

[[noreturn]] void damaged() { throw ExportError(ExitCode::kServer, "the server's COPY stream is damaged"); }

}  // namespace

CopyRows::CopyRows(std::shared_ptr<PgConnection> connection, QueryParts& parts, size_t columns)
    : connection_(std::move(connection)), parts_(parts), columns_(columns) {}

CopyRows::~CopyRows() { PQfreemem(message_); }

bool CopyRows::start_next_query() {
  std::string query;
  if (!parts_.take(query)) return false;
  connection_->run("COPY " + query + " TO STDOUT (FORMAT binary)");
  copying_ = at_header_ = true;
  return true;
}

/* The next message of this query; false at the query's end. */
bool CopyRows::next_message() {
  PQfreemem(message_);
  message_ = nullptr;
  length_ = PQgetCopyData(connection_->get(), &message_, 0);
  if (length_ >= 0) return true;
  if (length_ == -2) connection_->fail();
  copying_ = false;
  bool failed = false;
  while (const PgResult result{PQgetResult(connection_->get())}) {
    failed = failed || PQresultStatus(result.get()) != PGRES_COMMAND_OK;
  }
  if (failed) connection_->fail();
  return false;
}

bool CopyRows::next(std::vector<FieldBytes>& fields) {
  fields.resize(columns_);
  for (;;) {
    if (!copying_ && !start_next_query()) return false;
    if (!next_message()) continue;
    const char* place = message_;
    const char* const end = message_ + length_;
    if (at_header_) {
      if (length_ < kHeaderBytes || memcmp(place, kSignature, kSignatureBytes) != 0) damaged();
      const auto extension = big_endian<int32_t>(place + kHeaderBytes - 4);
      if (extension < 0 || extension > end - place - kHeaderBytes) damaged();
      place += kHeaderBytes + extension;
      at_header_ = false;
    }
    if (place == end) continue;
    if (end - place < 2) damaged();
    const auto count = big_endian<int16_t>(place);
    if (count == -1) continue;
    if (count != static_cast<int16_t>(columns_)) damaged();
    place += 2;
    for (FieldBytes& field : fields) {
      if (end - place < 4) damaged();
      field.length = big_endian<int32_t>(place);
      field.data = place += 4;
      if (field.length > end - place) damaged();
      if (field.length > 0) place += field.length;
    }
    return true;
  }
}

}  // namespace turbine::exporting
