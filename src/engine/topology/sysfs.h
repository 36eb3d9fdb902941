/*
 * sysfs.h - reads the kernel's description of devices, /sys.
 *
 * A reader has a root folder, so that tests bring trees of other machines. It needs no rights and no vendor's
 * library. A file or a link that is not there is an empty answer, never an error: kernels differ.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace turbine {

class Sysfs {
 public:
  /* `root`: what stands for "/sys"; no slash at its end. */
  explicit Sysfs(std::string root = "/sys") : root_(std::move(root)) {}

  /* A file's text without white space around it; paths are relative to the root, as all below. */
  std::string text(const std::string& path) const;

  /* A file that has one number. */
  std::optional<int64_t> number(const std::string& path) const;

  bool exists(const std::string& path) const;

  /* Names in a folder, sorted so that digits count as numbers: nvme2n1 before nvme10n1. */
  std::vector<std::string> names(const std::string& folder) const;

  /* Where a link leads, all links resolved; relative to the root. "": nowhere, or out of the root. */
  std::string resolved(const std::string& path) const;

 private:
  std::string root_;
};

/* Whether a is before b, where runs of digits count as numbers. */
bool before_in_natural_order(const std::string& a, const std::string& b);

}  // namespace turbine
