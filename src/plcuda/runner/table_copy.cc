/*
 * table_copy.cc - see table_copy.h. Called by calls.cc.
 *
 * One range of addresses is reserved: the header first, then each column from a multiple of 2 MB on, which is what
 * memory of a GPU is mapped by. If there is a GPU the range is the GPU's, and a column that is in host memory is copied
 * into it; otherwise it is the host's.
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
#include "turbine/plcuda.h"

namespace turbine {
namespace {

constexpr uint64_t kBoundary = uint64_t{2} << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kReach = uint64_t{32} << 30;  // of an offset

uint64_t rounded(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Where a column and its regions are in the range. */
struct PlacedColumn {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t values = 0, validity = 0, texts = 0;  // 0: there is no such region
};

struct Layout {
  uint64_t bytes = 0;  // of the range
  std::vector<PlacedColumn> columns;
};

Layout lay_out(const ImportedExport& from, uint64_t header) {
  Layout layout;
  layout.bytes = rounded(header, kBoundary);
  for (const ImportedColumn& column : from.columns) {
    PlacedColumn placed;
    placed.begin = layout.bytes;
    uint64_t end = placed.begin;
    const auto place = [&](const ImportedRegion& region) -> uint64_t {
      if (region.bytes == 0) return 0;
      if (from.on_device) return placed.begin + region.offset;
      const uint64_t at = end;
      end = rounded(at + region.bytes, kPage);
      return at;
    };
    placed.values = place(column.values);
    placed.validity = place(column.validity);
    placed.texts = place(column.bytes);
    placed.bytes = from.on_device ? column.allocation : end - placed.begin;
    // An empty table's columns have a place, too.
    if (placed.values == 0) placed.values = placed.begin;
    layout.columns.push_back(placed);
    layout.bytes = rounded(placed.begin + std::max<uint64_t>(placed.bytes, 1), kBoundary);
  }
  if (layout.bytes > kReach)
    throw TableError("the table's columns take " + std::to_string(layout.bytes >> 20) +
                     " MB; functions of LANGUAGE plcuda can map 32 GB at most");
  return layout;
}

std::string make_header(const TbPlcudaStore& store, const TbPlcudaStoreColumn* columns, const ImportedExport& from,
                        const Layout& layout) {
  if (from.rows > UINT32_MAX) throw TableError("the table has more than 4 billion rows");
  std::string bytes(offsetof(kern_data_store, colmeta) + sizeof(kern_colmeta) * store.ncolumns, '\0');
  auto* head = reinterpret_cast<kern_data_store*>(bytes.data());
  head->length = layout.bytes;
  head->nitems = static_cast<cl_uint>(from.rows);
  head->ncols = store.ncolumns;
  head->table_oid = store.relation;
  head->format = 'c';
  for (uint32_t i = 0; i < store.ncolumns; i++) {
    const TbPlcudaStoreColumn& column = columns[i];
    kern_colmeta& meta = head->colmeta[i];
    meta.attnum = static_cast<cl_short>(i + 1);
    if (column.type == 0) continue;
    if (column.exported >= layout.columns.size()) throw TableError("the table has been changed");
    const PlacedColumn& placed = layout.columns[column.exported];
    meta.atttypid = column.type;
    meta.atttypmod = column.modifier;
    meta.attlen = column.length;
    meta.attbyval = column.byval;
    meta.attalign = static_cast<cl_char>(column.align);
    meta.va_offset = __kds_packed(placed.values);
    meta.va_length = __kds_packed(rounded(placed.bytes, 8));
    meta.nullmap_offset = __kds_packed(placed.validity);
    meta.extra_offset = __kds_packed(placed.texts);
  }
  return bytes;
}

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
  HostTable(const ImportedExport& from, const Layout& layout, const std::string& header, uint32_t relation)
      : bytes_(layout.bytes) {
    void* range = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) throw TableError("there are no addresses for the table's columns");
    base_ = static_cast<char*>(range);
    try {
      if (mprotect(base_, rounded(header.size(), kPage), PROT_READ | PROT_WRITE) != 0)
        throw TableError("there is no memory for the table's header");
      memcpy(base_, header.data(), header.size());
      mprotect(base_, rounded(header.size(), kPage), PROT_READ);
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
  DeviceTable(const ImportedExport& from, const Layout& layout, const std::string& header, uint32_t relation)
      : range_(from.on_device ? from.device_uuid : "", layout.bytes) {
    range_.create(0, rounded(header.size(), kBoundary));
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
      range_.create(placed.begin, rounded(placed.bytes, kBoundary));
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
    // Samples read so many bytes before they know the number of columns.
    const Layout layout = lay_out(export_,
                                  sizeof(kern_data_store) + sizeof(kern_colmeta) * store.ncolumns + KDS_LEAST_LENGTH);
    const std::string header = make_header(store, columns.data(), export_, layout);
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
  void map_on_device(const Layout& layout, const std::string& header, uint32_t relation,
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
