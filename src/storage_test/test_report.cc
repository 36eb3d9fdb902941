/*
 * test_report.cc - see test_report.h.
 *
 * Called by main.cc. It owns nothing and measures nothing.
 */
#include "storage_test/test_report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "engine/storage/read_path.h"

namespace turbine {
namespace {

/* pg_turbine.storage_direct_share, where nobody has changed it. */
constexpr double kUsualDirectShare = 0.5;

std::string formatted(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string formatted(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

std::string size_text(uint64_t bytes) {
  if (bytes >= 10ull << 30) return formatted("%.0f GB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return formatted("%.0f MB", static_cast<double>(bytes) / (1 << 20));
  return formatted("%.0f kB", static_cast<double>(bytes) / 1024);
}

std::string json_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      quoted += std::string("\\") + c;
    else if (static_cast<unsigned char>(c) < 0x20)
      quoted += formatted("\\u%04x", static_cast<unsigned>(c));
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '>' ? "&gt;" : std::string(1, c);
  return escaped;
}

std::string gpu_list(uint32_t gpus, const std::vector<std::string>& names) {
  std::string list;
  for (size_t gpu = 0; gpu < names.size() && gpu < 32; gpu++)
    if ((gpus >> gpu & 1) != 0)
      list += (list.empty() ? "" : ", ") + std::string("GPU") + std::to_string(gpu) + " (" + names[gpu] + ")";
  return list;
}

/* The fastest pass of a way; null: none went well. */
const PassResult* best_of(const std::vector<PassResult>& passes, StorageWay way) {
  const PassResult* best = nullptr;
  for (const PassResult& pass : passes)
    if (pass.options.way == way && pass.error.empty() && pass.bytes > 0 &&
        (!best || pass.gigabytes_per_second() > best->gigabytes_per_second()))
      best = &pass;
  return best;
}

}  // namespace

FilePlace place_of_file(const TestedFile& file, const MachineTopology& topology) {
  FilePlace place{file.path, file.bytes, "", {}, 0};
  if (const StorageDevice* device = topology.storage_of(file.major, file.minor)) {
    place.device = device->name;
    place.to_gpus = device->to_gpus;
    place.near_gpus = device->near_gpus();
  }
  return place;
}

std::vector<std::string> TestReport::verdict() const {
  std::vector<std::string> lines;
  // How the bytes are read.
  const PassResult* cached = best_of(passes, StorageWay::kPageCache);
  const PassResult* direct = best_of(passes, StorageWay::kDirect);
  if (cached && direct) {
    lines.push_back(
        formatted("Reading: %.2f GB/s through the page cache (%.0f %% of the bytes were there), %.2f GB/s past it.",
                  cached->gigabytes_per_second(),
                  100.0 * static_cast<double>(cached->cached_bytes) / static_cast<double>(cached->bytes),
                  direct->gigabytes_per_second()));
    lines.push_back(cached->gigabytes_per_second() >= direct->gigabytes_per_second()
                        ? "The page cache is the faster way to these files now."
                        : "The drive is faster past the page cache: copying through it costs more than it saves.");
  }
  // Which of both a query takes.
  for (const FilePlace& file : files) {
    const bool past = choose_read_path(StoragePath::kAuto, kUsualDirectShare, file.bytes, memory) !=
                      ReadPath::kPageCache;
    lines.push_back(formatted("%s (%.1f GB; memory: %.1f GB): pg_turbine.storage_path = auto reads %s.",
                              file.path.c_str(), static_cast<double>(file.bytes) / 1e9,
                              static_cast<double>(memory) / 1e9,
                              past ? "it past the page cache, except what is there, as it has half the memory or more"
                                   : "it through the page cache, unless its table has half the memory or more"));
  }
  // Which GPU.
  if (gpus.empty()) {
    lines.push_back("Device: the CPU, because there is no GPU: " + why_no_gpu + ".");
    return lines;
  }
  for (const FilePlace& file : files) {
    if (file.device.empty())
      lines.push_back(file.path +
                      ": it is not known which drive it is on, so no GPU is preferred; "
                      "pg_turbine.gpu_tablespace_map can name some.");
    else if (file.near_gpus == 0)
      lines.push_back(file.path + " on " + file.device + ": the way to the GPUs is not known, so none is preferred.");
    else
      lines.push_back(
          file.path + " on " + file.device + ": " + gpu_list(file.near_gpus, gpus) + ", by " +
          route_name(std::min_element(file.to_gpus.begin(), file.to_gpus.end(),
                                      [](const PciDistance& a, const PciDistance& b) { return a.route < b.route; })
                         ->route) +
          ".");
  }
  lines.push_back("A query's bytes go from the drive to pinned host memory, and from there to the GPU.");
  return lines;
}

std::string TestReport::table() const {
  std::string text = formatted("%-11s %-8s %9s %6s %8s %10s %9s %10s %10s %11s %9s\n", "way", "by", "request", "depth",
                               "threads", "bytes", "GB/s", "drive", "cached", "drive reqs", "waited");
  double most = 0;
  for (const PassResult& pass : passes) most = std::max(most, pass.gigabytes_per_second());
  for (const PassResult& pass : passes) {
    text += formatted("%-11s %-8s %9s %6u %8u ", storage_way_name(pass.options.way), pass.engine.c_str(),
                      size_text(pass.options.request_bytes).c_str(), pass.options.depth, pass.options.threads);
    if (!pass.error.empty()) {
      text += "not measured: " + pass.error + "\n";
      continue;
    }
    text += formatted("%10s %9.3f %10s %10s %11s %8.2fs ", size_text(pass.bytes).c_str(), pass.gigabytes_per_second(),
                      size_text(pass.drive_bytes).c_str(), size_text(pass.cached_bytes).c_str(),
                      pass.drive_requests ? size_text(static_cast<uint64_t>(pass.drive_request_bytes)).c_str() : "-",
                      pass.wait_seconds);
    text += std::string(most > 0 ? static_cast<size_t>(20 * pass.gigabytes_per_second() / most) : 0, '#') + "\n";
  }
  for (const std::string& line : verdict()) text += line + "\n";
  return text;
}

const std::vector<std::string>& TestReport::tab_columns() {
  static const std::vector<std::string> columns = {
      "way",          "engine",         "request_bytes",       "depth",        "threads",
      "bytes",        "seconds",        "drive_bytes",         "cached_bytes", "requests",
      "wait_seconds", "drive_requests", "drive_request_bytes", "error"};
  return columns;
}

std::string TestReport::tabbed() const {
  std::string text;
  for (const PassResult& pass : passes) {
    std::string error = pass.error;
    std::replace_if(error.begin(), error.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
    text += formatted("%s\t%s\t%u\t%u\t%u\t%llu\t%.6f\t%llu\t%llu\t%llu\t%.6f\t%llu\t%.0f\t",
                      storage_way_name(pass.options.way), pass.engine.c_str(), pass.options.request_bytes,
                      pass.options.depth, pass.options.threads, static_cast<unsigned long long>(pass.bytes),
                      pass.seconds, static_cast<unsigned long long>(pass.drive_bytes),
                      static_cast<unsigned long long>(pass.cached_bytes),
                      static_cast<unsigned long long>(pass.requests), pass.wait_seconds,
                      static_cast<unsigned long long>(pass.drive_requests), pass.drive_request_bytes) +
            error + "\n";
  }
  return text;
}

std::string TestReport::json() const {
  std::string text = "{\n  \"files\": [";
  for (size_t i = 0; i < files.size(); i++) {
    text += (i ? ",\n    " : "\n    ") + std::string("{\"path\": ") + json_string(files[i].path) +
            formatted(", \"bytes\": %llu, \"device\": ", static_cast<unsigned long long>(files[i].bytes)) +
            (files[i].device.empty() ? "null" : json_string(files[i].device)) + ", \"gpus\": [";
    for (size_t gpu = 0; gpu < files[i].to_gpus.size(); gpu++) {
      const PciDistance& to = files[i].to_gpus[gpu];
      const bool known = to.route != TB_ROUTE_UNKNOWN;
      text += (gpu ? ", " : "") + std::string("{\"route\": ") + (known ? json_string(route_name(to.route)) : "null") +
              ", \"distance\": " + (known ? std::to_string(to.distance) : "null") +
              ", \"near\": " + ((files[i].near_gpus >> gpu & 1) != 0 ? "true" : "false") + "}";
    }
    text += "]}";
  }
  text += "\n  ],\n  \"gpus\": [";
  for (size_t i = 0; i < gpus.size(); i++) text += (i ? ", " : "") + json_string(gpus[i]);
  text += "],\n  \"passes\": [";
  for (size_t i = 0; i < passes.size(); i++) {
    const PassResult& pass = passes[i];
    text += (i ? ",\n    " : "\n    ") +
            formatted(
                "{\"way\": \"%s\", \"engine\": \"%s\", \"request_bytes\": %u, \"depth\": %u, \"threads\": %u, "
                "\"bytes\": %llu, \"seconds\": %.6f, ",
                storage_way_name(pass.options.way), pass.engine.c_str(), pass.options.request_bytes, pass.options.depth,
                pass.options.threads, static_cast<unsigned long long>(pass.bytes), pass.seconds) +
            formatted(
                "\"drive_bytes\": %llu, \"cached_bytes\": %llu, \"requests\": %llu, \"wait_seconds\": %.6f, "
                "\"drive_requests\": %llu, \"drive_request_bytes\": %.0f, \"error\": ",
                static_cast<unsigned long long>(pass.drive_bytes), static_cast<unsigned long long>(pass.cached_bytes),
                static_cast<unsigned long long>(pass.requests), pass.wait_seconds,
                static_cast<unsigned long long>(pass.drive_requests), pass.drive_request_bytes) +
            (pass.error.empty() ? "null" : json_string(pass.error)) + "}";
  }
  text += "\n  ],\n  \"verdict\": [";
  const std::vector<std::string> lines = verdict();
  for (size_t i = 0; i < lines.size(); i++) text += (i ? ",\n    " : "\n    ") + json_string(lines[i]);
  return text + "\n  ]\n}\n";
}

std::string TestReport::chart() const {
  constexpr int kRow = 26, kLabel = 330, kBars = 500;
  double most = 0;
  for (const PassResult& pass : passes) most = std::max(most, pass.gigabytes_per_second());
  const int height = kRow * static_cast<int>(passes.size()) + 50;
  std::string text = formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
      "font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
      "<text x=\"10\" y=\"22\" font-size=\"15\">Storage, GB/s</text>\n",
      kLabel + kBars + 100, height);
  int y = 40;
  for (const PassResult& pass : passes) {
    const std::string label = formatted("%s, %s, depth %u, threads %u", storage_way_name(pass.options.way),
                                        size_text(pass.options.request_bytes).c_str(), pass.options.depth,
                                        pass.options.threads);
    text += formatted("<text x=\"10\" y=\"%d\">", y + 14) + xml_text(label) + "</text>\n";
    if (!pass.error.empty()) {
      text += formatted("<text x=\"%d\" y=\"%d\" fill=\"#888\">", kLabel, y + 14) + xml_text(pass.error) + "</text>\n";
    } else {
      // The drive's part of the bar is dark, the page cache's is light.
      const double width = most > 0 ? kBars * pass.gigabytes_per_second() / most : 0;
      const double of_drive = pass.bytes
                                  ? width * static_cast<double>(pass.drive_bytes) / static_cast<double>(pass.bytes)
                                  : 0;
      text += formatted("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"#a6c8e8\"/>\n", kLabel, y, width) +
              formatted("<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"18\" fill=\"#2a6fb0\"/>\n", kLabel, y,
                        of_drive) +
              formatted("<text x=\"%.1f\" y=\"%d\">%.2f</text>\n", kLabel + width + 6, y + 14,
                        pass.gigabytes_per_second());
    }
    y += kRow;
  }
  return text + "</svg>\n";
}

}  // namespace turbine
