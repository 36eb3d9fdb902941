/*
 * text_form.cc - see text_form.h.
 *
 * Owns nothing. Called for each text, or for each entry of a dictionary.
 */
#include "engine/source/files/arrow/text_form.h"

#include <algorithm>
#include <cstring>

#include <arrow/util/utf8.h>

namespace turbine {
namespace {

/* PostgreSQL's own limit of a value. */
constexpr uint64_t kMostBytes = 1 << 30;

/* libarrow takes everything for valid until it is told to make its tables. */
bool is_utf8(std::string_view text) {
  static const bool ready = [] {
    arrow::util::InitializeUTF8();
    return true;
  }();
  return ready &&
         arrow::util::ValidateUTF8(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()));
}

/* Of valid UTF-8. */
size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

const char* TextForm::take(std::string_view* text) const {
  if (is_padded_) *text = text->substr(0, text->find_last_not_of(' ') + 1);
  if (text->size() > kMostBytes) return kTextTooLong;
  if (!text->empty() && memchr(text->data(), 0, text->size())) return "a text with a zero byte";
  if (!is_utf8(*text)) return "invalid UTF-8";
  if (characters_ > 0 && text->size() > characters_ && characters_of(*text) > characters_)
    return "a text is longer than the column's type allows";
  return nullptr;
}

bool append_text(std::string_view text, std::vector<uint8_t>& bytes, TbTextView* view) {
  if (bytes.size() + text.size() > UINT32_MAX) return false;
  *view = {static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(bytes.size())};
  if (!text.empty()) memcpy(&view->prefix, text.data(), std::min(text.size(), sizeof view->prefix));
  bytes.insert(bytes.end(), text.begin(), text.end());
  return true;
}

}  // namespace turbine
