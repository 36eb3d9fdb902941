/*
 * test_report.h - what turbine-storage-test says: a table, JSON, lines with tabs, a chart.
 */
#pragma once

#include <string>
#include <vector>

#include "engine/topology/machine_topology.h"
#include "storage_test/storage_pass.h"

namespace turbine {

/* Where the tested files are. */
struct FilePlace {
  std::string path;
  uint64_t bytes = 0;
  std::string device;           // the block device; "": not known
  std::vector<PciDistance> to_gpus;
  uint32_t near_gpus = 0;
};

struct TestReport {
  std::vector<FilePlace> files;
  std::vector<std::string> gpus;  // names
  std::string why_no_gpu;
  std::vector<PassResult> passes;
  uint64_t memory = 0;  // that a server here may use; 0: not known

  /* The path that a query over such files takes, and why; sentences. */
  std::vector<std::string> verdict() const;

  std::string table() const;
  std::string json() const;
  /* A line for each pass, for programs: columns as tab_columns() names them. */
  std::string tabbed() const;
  static const std::vector<std::string>& tab_columns();
  /* Bars of GB/s as an SVG picture. */
  std::string chart() const;
};

FilePlace place_of_file(const TestedFile& file, const MachineTopology& topology);

}  // namespace turbine
