/*
 * batch_bounds.h - where an Arrow file says the least and greatest value of each record batch: in two entries of a
 * field's custom metadata, as lists of texts with commas between them.
 *
 * pg2arrow writes integers, the values' bits as they lie in the column, and `null` for a batch without known bounds.
 * Others may write anything: a text that is no number of the column's type says nothing of its batch.
 */
#pragma once

#include <string_view>
#include <vector>

namespace turbine {

inline constexpr char kMinValues[] = "min_values";
inline constexpr char kMaxValues[] = "max_values";

/* The texts of such a list by batch, without spaces around them; none of an empty list. They lie in `list`. */
inline std::vector<std::string_view> listed_bounds(std::string_view list) {
  std::vector<std::string_view> texts;
  if (list.empty()) return texts;
  for (std::string_view rest = list;;) {
    const size_t comma = rest.find(',');
    std::string_view text = rest.substr(0, comma);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    texts.push_back(text);
    if (comma == std::string_view::npos) return texts;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace turbine
