/*
 * decoders.h - decoders of values as MySQL's client library binds them.
 *
 * Numbers are the machine's own, dates and times MYSQL_TIME, all others bytes; decimals are text.
 */
#pragma once

#include <memory>

#include "export/column_decoder.h"
#include "export/mysql/mysql_column.h"
#include "export/options.h"

namespace turbine::exporting {

std::unique_ptr<ColumnDecoder> make_mysql_decoder(const MysqlColumn& column, InvalidValue invalid, EnumAs enums);

}  // namespace turbine::exporting
