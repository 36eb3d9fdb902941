/*
 * decoders.h - decoders of PostgreSQL's binary values, made by type.
 */
#pragma once

#include <memory>

#include "export/column_decoder.h"
#include "export/options.h"
#include "export/postgres/pg_type.h"

namespace turbine::exporting {

struct DecoderOptions {
  InvalidValue invalid;
  NumericAs numeric;
  EnumAs enums;
  bool check_utf8; /* the server's encoding is SQL_ASCII, so text may be anything */
};

/* For a readable type; its parts included. */
std::unique_ptr<ColumnDecoder> make_decoder(const PgType& type, const DecoderOptions& options);
/* For a value's text output. */
std::unique_ptr<ColumnDecoder> make_text_decoder(const DecoderOptions& options);

/* Numerics: as decimals if the type gives their form, else as the options say. */
std::unique_ptr<ColumnDecoder> make_numeric_decoder(const PgType& type, const DecoderOptions& options);
std::unique_ptr<ColumnDecoder> make_array_decoder(const PgType& type, const DecoderOptions& options);
std::unique_ptr<ColumnDecoder> make_composite_decoder(const PgType& type, const DecoderOptions& options);

}  // namespace turbine::exporting
