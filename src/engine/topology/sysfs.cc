/*
 * sysfs.cc - see sysfs.h.
 *
 * Called by machine_topology.cc and by the CUDA device when turbined starts. It must never throw.
 */
#include "engine/topology/sysfs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace turbine {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The end of the digits that begin at `from`. */
size_t digits_end(const std::string& text, size_t from) {
  while (from < text.size() && is_digit(text[from])) from++;
  return from;
}

}  // namespace

bool before_in_natural_order(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const size_t a_end = digits_end(a, i), b_end = digits_end(b, j);
      // Without leading zeros, the longer number is the greater.
      while (i + 1 < a_end && a[i] == '0') i++;
      while (j + 1 < b_end && b[j] == '0') j++;
      if (a_end - i != b_end - j) return a_end - i < b_end - j;
      const int order = a.compare(i, a_end - i, b, j, b_end - j);
      if (order != 0) return order < 0;
      i = a_end;
      j = b_end;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      i++;
      j++;
    }
  }
  return a.size() - i < b.size() - j;
}

std::string Sysfs::text(const std::string& path) const {
  std::ifstream file(root_ + "/" + path);
  std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!content.empty() && is_space(content.back())) content.pop_back();
  size_t begin = 0;
  while (begin < content.size() && is_space(content[begin])) begin++;
  return content.substr(begin);
}

std::optional<int64_t> Sysfs::number(const std::string& path) const {
  const std::string digits = text(path);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool Sysfs::exists(const std::string& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ + "/" + path, error);
}

std::vector<std::string> Sysfs::names(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entry(root_ + "/" + folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    found.push_back(entry->path().filename().string());
  std::sort(found.begin(), found.end(), before_in_natural_order);
  return found;
}

std::string Sysfs::resolved(const std::string& path) const {
  std::error_code error;
  const std::string top = std::filesystem::canonical(root_, error).string() + "/";
  if (error) return "";
  const std::string target = std::filesystem::canonical(root_ + "/" + path, error).string();
  if (error || target.compare(0, top.size(), top) != 0) return "";
  return target.substr(top.size());
}

}  // namespace turbine
