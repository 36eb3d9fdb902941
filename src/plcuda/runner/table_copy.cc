/*
 * table_copy.cc - see table_copy.h. Called by calls.cc.
 *
 * One range of addresses is reserved, as table_layout.h says. If there is a GPU the range is the GPU's, and a column
 * that is in host memory is copied into it; otherwise it is the host's.
 */
#include "plcuda/runner/table_copy.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "plcuda/include/plcuda.h"
#include "plcuda/runner/device_range.h"
#include "plcuda/runner/table_layout.h"
#include "turbine/plcuda.h"

namespace turbine {
namespace {

/* A region of a file, mapped for reading: at an address, or anywhere. */
char* map_region(int file, const ImportedRegion& region, void* place) {
  void* at = mmap(place, region.bytes, PROT_READ, MAP_PRIVATE | (place != nullptr ? MAP_FIXED : 0), file,
                  static_cast<off_t>(region.offset));
  if (at == MAP_FAILED) throw TableError(std::string("a column cannot be mapped: ") + strerror(errno));
  return static_cast<char*>(at);
}

/* Calls use(region, place) for those that there are. */
template <typename Use>
void each_region(const ImportedColumn& column, const PlacedColumn& placed, Use use) {
  if (column.values.bytes > 0) use(column.values, placed.values);
  if (column.validity.bytes > 0) use(column.validity, placed.validity);
  if (column.bytes.bytes > 0) use(column.bytes, placed.texts);
}

class HostTable final : public TableCopy {
 public:
  HostTable(const ImportedExport& from, const TableLayout& layout, const std::string& header, uint32_t relation)
      : bytes_(layout.bytes) {
    void* range = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw TableError("there are no addresses for the table's columns");
    base_ = static_cast<char*>(range);
    try {
      if (mprotect(base_, round_up(header.size(), kHostPage), PROT_READ | PROT_WRITE) != 0)
        throw TableError("there is no memory for the table's header");
      memcpy(base_, header.data(), header.size());
      mprotect(base_, round_up(header.size(), kHostPage), PROT_READ);
      for (size_t i = 0; i < from.columns.size(); i++)
        each_region(from.columns[i], layout.columns[i], [&](const ImportedRegion& region, uint64_t place) {
          map_region(from.files[from.columns[i].file], region, base_ + place);
          regions_.push_back({base_ + place, region.bytes});
        });
    } catch (...) {
      munmap(base_, bytes_);
      throw;
    }
    mapping_ = {{-1, relation, bytes_}, base_};
  }
  ~HostTable() override { munmap(base_, bytes_); }
  void* mapping() override { return &mapping_; }
  bool is_read_only() const override { return true; }
  void rest() override {
    for (const Region& region : regions_) madvise(region.place, region.bytes, MADV_DONTNEED);
  }

 private:
  struct Region {
    char* place;
    uint64_t bytes;
  };

  const uint64_t bytes_;
  std::vector<Region> regions_;
  char* base_ = nullptr;
  GstoreIpcMapping mapping_{};
};

class DeviceTable final : public TableCopy {
 public:
  DeviceTable(const ImportedExport& from, const TableLayout& layout, const std::string& header, uint32_t relation)
      : range_(from.on_device ? from.device_uuid : "", layout.bytes) {
    range_.create(0, round_up(header.size(), kTableBoundary));
    range_.write(0, header.data(), header.size());
    for (size_t i = 0; i < from.columns.size(); i++) {
      const ImportedColumn& column = from.columns[i];
      const PlacedColumn& placed = layout.columns[i];
      const int file = from.files[column.file];
      if (placed.bytes == 0) continue;
      if (from.on_device) {
        range_.import(file, placed.begin, column.allocation);
        continue;
      }
      range_.create(placed.begin, round_up(placed.bytes, kTableBoundary));
      each_region(column, placed, [&](const ImportedRegion& region, uint64_t place) {
        char* bytes = map_region(file, region, nullptr);
        const bool written = range_.try_write(place, bytes, region.bytes);
        munmap(bytes, region.bytes);
        if (!written) throw TableError("a column cannot be copied to the GPU");
      });
    }
    read_only_ = range_.protect();
    mapping_ = {{range_.ordinal(), relation, layout.bytes}, range_.base()};
  }
  void* mapping() override { return &mapping_; }
  bool is_read_only() const override { return read_only_; }

 private:
  DeviceRange range_;
  bool read_only_ = false;
  GstoreIpcMapping mapping_{};
};

/* Keeps the export while its columns are mapped. */
class OpenTable final : public TableCopy {
 public:
  OpenTable(const char* bytes, size_t length, const std::function<bool()>& release) {
    const TbPlcudaStore store = read_store(bytes, length);
    std::vector<TbPlcudaStoreColumn> columns(store.ncolumns);
    memcpy(columns.data(), bytes + sizeof store, sizeof(TbPlcudaStoreColumn) * store.ncolumns);
    import_export(bytes + length - store.token_length, store.token_length, export_);
    const TableLayout layout = lay_out_table(export_, store.ncolumns);
    const std::string header = make_table_header(store, columns.data(), export_, layout);
    if (DeviceRange::is_possible())
      map_on_device(layout, header, store.relation, release);
    else if (export_.on_device)
      throw TableError("the table is in memory of a GPU that is not visible here");
    else
      table_ = std::make_unique<HostTable>(export_, layout, header, store.relation);
    // Mappings keep the memory; what was copied is not needed any more.
    export_.close_files();
    if (DeviceRange::is_possible() && !export_.on_device) export_.close_connection();
  }
  void* mapping() override { return table_->mapping(); }
  bool is_read_only() const override { return table_->is_read_only(); }
  void rest() override { table_->rest(); }

 private:
  void map_on_device(const TableLayout& layout, const std::string& header, uint32_t relation,
                     const std::function<bool()>& release) {
    try {
      table_ = std::make_unique<DeviceTable>(export_, layout, header, relation);
    } catch (const TableMemoryError&) {
      if (!release()) throw;
      table_ = std::make_unique<DeviceTable>(export_, layout, header, relation);
    }
  }

  ImportedExport export_;
  std::unique_ptr<TableCopy> table_;
};

}  // namespace

TbPlcudaStore read_store(const char* bytes, size_t length) {
  TbPlcudaStore store;
  if (length < sizeof store) throw TableError("a malformed argument");
  memcpy(&store, bytes, sizeof store);
  if (length != sizeof store + sizeof(TbPlcudaStoreColumn) * store.ncolumns + store.token_length)
    throw TableError("a malformed argument");
  return store;
}

std::unique_ptr<TableCopy> open_table(const char* store, size_t length, const std::function<bool()>& release) {
  return std::make_unique<OpenTable>(store, length, release);
}

}  // namespace turbine
