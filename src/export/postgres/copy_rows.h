/*
 * copy_rows.h - the rows of COPY ... TO STDOUT (FORMAT binary), query by query.
 */
#pragma once

#include <memory>
#include <string>

#include "export/postgres/connection.h"
#include "export/query_parts.h"
#include "export/row_source.h"

namespace turbine::exporting {

class CopyRows : public FieldRows {
 public:
  /* Copies `parts` until none is left: queries in parentheses, or a table's name and columns, as COPY takes them; other
   * workers take theirs from them too. */
  CopyRows(std::shared_ptr<PgConnection> connection, QueryParts& parts, size_t columns);
  ~CopyRows() override;

 private:
  bool next(std::vector<FieldBytes>& fields) override;
  bool start_next_query();
  bool next_message();

  std::shared_ptr<PgConnection> connection_;
  QueryParts& parts_;
  size_t columns_;
  bool copying_ = false;
  bool at_header_ = false;
  char* message_ = nullptr;
  int length_ = 0;
};

}  // namespace turbine::exporting
