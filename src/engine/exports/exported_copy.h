/*
 * exported_copy.h - rows as columns in memory that other processes open (include/turbine/export.h).
 *
 * No query reads it, and it never changes here; an importer may write to what it maps. Its memory is given back when
 * the last of those who hold it is gone: the registry (exports.h), tokens, importers.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/code/unique_fd.h"
#include "engine/device/device.h"
#include "engine/execution/admission.h"
#include "engine/execution/stream/streamed_batches.h"
#include "turbine/export.h"

namespace turbine {

struct ExportedColumn : ExportRegions {
  TbExportColumn shape{};
  std::string name, type;
  uint64_t allocation = 0;                 // bytes from the memory's start on, in whole pages
  std::shared_ptr<UniqueFd> file;          // a memfd, which others may be in; or
  std::shared_ptr<ExportedMemory> memory;  // a GPU's

  int descriptor() const { return memory ? memory->descriptor() : file->get(); }
};

/* Memory of a device that exported copies take, in all. */
struct ExportLedger {
  std::atomic<uint64_t> used{0};
};

/* A part of it, granted by admission; given back when this goes. */
class ExportCharge {
 public:
  ExportCharge(Admission::Grant grant, std::shared_ptr<ExportLedger> ledger)
      : grant_(std::move(grant)), ledger_(std::move(ledger)) {
    ledger_->used += grant_.device_bytes();
  }
  ExportCharge(ExportCharge&&) noexcept = default;
  ~ExportCharge() {
    if (ledger_) ledger_->used -= grant_.device_bytes();
  }

 private:
  Admission::Grant grant_;
  std::shared_ptr<ExportLedger> ledger_;  // null once moved from
};
using ExportCharges = std::vector<ExportCharge>;

/* What EXPORT_CREATE says. */
struct ExportRequest {
  TbExportCreate create{};
  std::string source, revision;
  std::vector<ExportedColumn> columns;  // without memory
  uint32_t placed_on = TB_DEVICE_HOST;  // where the columns' memory is, once they have it
};

/* Throws ProtocolError. */
ExportRequest parse_export(std::span<const uint8_t> payload);

struct ExportedCopy {
  TbExportInfo info{};
  std::string source, revision;
  std::vector<ExportedColumn> columns;
  ExportPlace place;                    // of a GPU's
  ExportCharges memory;                 // what it takes, until nobody holds it

  /* As an importer reads it, of the columns with these numbers: JSON. */
  std::string describe(std::span<const uint32_t> which) const;
};

/* Gives each column its memfd, and says where its regions lie. Throws ProtocolError if one is not sealed, or not as
 * large as an importer will believe. */
void take_files(ExportRequest& request, std::vector<UniqueFd> files);

/* The same with the memory of a batch that a query has streamed. Throws ProtocolError if it is not what the request
 * says. */
void use_streamed(ExportRequest& request, const StreamedBatch& batch);

/* Bytes of host memory that the columns' files take, about. */
uint64_t host_bytes(const ExportRequest& request);

/* The column's values are in that memory from now on. */
void take_memory(ExportedColumn& column, DeviceColumn from);

/* Moves the columns into memory of a device that has memory for other processes. Throws DeviceError; the columns are
 * as they were then. */
void move_to_device(std::vector<ExportedColumn>& columns, Device& device);

/* Bytes of the device that move_to_device() would take. */
uint64_t device_bytes(const ExportRequest& request);

}  // namespace turbine
