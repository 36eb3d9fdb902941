/*
 * scan.cc - rows of a file's columns, in the order of the file.
 *
 * Every array is validated as a whole before a value of it is looked at: offsets, indices
 * of dictionaries and UTF-8 come from the file.
 */
#include <arrow/array.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <map>

#include "file_reader/answer.h"
#include "file_reader/batch_skip.h"
#include "file_reader/frames.h"
#include "file_reader/value_encoder.h"

namespace turbine::file_reader {

namespace {

/* Whether encoders look at every value themselves, and so say better what is wrong with one. */
bool has_checked_values(arrow::Type::type type) {
  return type == arrow::Type::DATE64 || arrow::is_time(type) || arrow::is_decimal(type);
}

void validate(const arrow::Array& array) {
  const auto status = array.ValidateFull();
  if (status.ok()) return;
  const auto says = [&](const char* what) { return status.message().find(what) != std::string::npos; };
  const bool is_time = says("acceptable range") || says("whole number of days"), is_number = says("fit in precision");
  if ((is_time || is_number) && has_checked_values(array.type_id())) return;
  throw ReaderError(is_time        ? sqlstate::time_out_of_range
                    : is_number    ? sqlstate::out_of_range
                    : says("UTF8") ? sqlstate::bad_text
                                   : sqlstate::corrupt,
                    status.message());
}

class FileScan {
 public:
  FileScan(BatchFile& file, const Request& request, int pipe) : file_(file), request_(request), pipe_(pipe) {
    std::map<int, int> places;  // column of the file: where a piece has it
    for (const auto& column : request.columns) places[find(column.name)] = 0;
    for (auto& [column, place] : places) {
      place = static_cast<int>(file_columns_.size());
      file_columns_.push_back(column);
    }
    for (const auto& column : request.columns) {
      const int number = find(column.name);
      columns_.push_back({&column.name, number, places[number], encoder_of(column, number)});
    }
  }

  void run() {
    begin_frame();
    file_.read(
        file_columns_, [this](int batch) { return wanted(batch); },
        [this](int batch, const arrow::RecordBatch& piece) { append(batch, piece); });
    end_frame();
    ByteBuffer done;
    done.native(read_batches_);
    done.native(skipped_batches_);
    send_frame(pipe_, TB_FRAME_DONE, done);
  }

 private:
  struct Column {
    const std::string* name;
    int number;  // in the file
    int place;   // in pieces
    EncoderPtr encoder;
  };

  int find(const std::string& name) const {
    const auto numbers = file_.schema().GetAllFieldIndices(name);
    if (numbers.size() != 1)
      throw ReaderError(sqlstate::no_column, "file \"" + request_.name + "\" has " +
                                                 (numbers.empty() ? "no column \"" : "several columns \"") + name +
                                                 "\"");
    return numbers[0];
  }

  EncoderPtr encoder_of(const WantedColumn& column, int number) {
    try {
      const arrow::DataType& type = *file_.schema().field(number)->type();
      if (column.target.kind != TB_TARGET_GEOMETRY) return make_encoder(type, column.target);
      if (geometries_.empty()) geometries_ = geo_columns(file_.schema());
      return make_geometry_encoder(type, geometries_[static_cast<size_t>(number)]);
    } catch (const ReaderError& error) {
      throw ReaderError(error.sqlstate, "column \"" + column.name + "\": " + error.what(),
                        "File \"" + request_.name + "\".", error.hint);
    }
  }

  bool wanted(int batch) {
    bool satisfiable = true;
    for (const auto& bound : request_.bounds) {
      const auto found = file_.bounds(batch, columns_[bound.column].number);
      satisfiable = satisfiable && (!found || may_satisfy(*found, bound, request_.columns[bound.column].target.kind));
    }
    (satisfiable ? read_batches_ : skipped_batches_)++;
    return satisfiable;
  }

  [[noreturn]] void raise(const ReaderError& error, const Column& column, int batch) const {
    throw ReaderError(error.sqlstate, "column \"" + *column.name + "\": " + error.what(),
                      "File \"" + request_.name + "\", batch " + std::to_string(batch + 1) + ".", error.hint);
  }

  void append(int batch, const arrow::RecordBatch& piece) {
    for (auto& column : columns_) {
      const auto& array = piece.column(column.place);
      if (array->length() != piece.num_rows())
        raise(ReaderError(sqlstate::corrupt, "has other rows than its batch"), column, batch);
      try {
        validate(*array);
        column.encoder->bind(file_.as_declared(column.number, array));
      } catch (const ReaderError& error) {
        raise(error, column, batch);
      }
    }
    for (int64_t row = 0; row < piece.num_rows(); row++) append_row(batch, row);
  }

  void append_row(int batch, int64_t row) {
    const size_t before = frame_.size();
    for (auto& column : columns_) {
      try {
        column.encoder->append(row, frame_);
      } catch (const ReaderError& error) {
        if (error.sqlstate != sqlstate::too_large || rows_ == 0) raise(error, column, batch);
        /* The row is large: in a frame of its own. */
        frame_.truncate(before);
        end_frame();
        begin_frame();
        return append_row(batch, row);
      }
    }
    rows_++;
    if (frame_.size() >= TB_READER_FRAME_BYTES || rows_ == UINT32_MAX) {
      end_frame();
      begin_frame();
    }
  }

  void begin_frame() {
    frame_.truncate(0);
    rows_ = 0;
    frame_.native(rows_);
  }

  void end_frame() {
    if (rows_ == 0) return;
    frame_.patch(0, rows_);
    send_frame(pipe_, TB_FRAME_ROWS, frame_);
  }

  BatchFile& file_;
  const Request& request_;
  const int pipe_;
  std::vector<GeoColumn> geometries_;  // by column of the file; empty: not looked at yet
  std::vector<Column> columns_;    // as wanted
  std::vector<int> file_columns_;  // ascending, each once
  ByteBuffer frame_;
  uint32_t rows_ = 0;  // in the frame
  uint32_t read_batches_ = 0, skipped_batches_ = 0;
};

}  // namespace

void scan(BatchFile& file, const Request& request, int pipe) { FileScan(file, request, pipe).run(); }

}  // namespace turbine::file_reader
