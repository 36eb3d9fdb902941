/*
 * embedded_kernels.h - kernels written by hand, and how a GPU gets them. Their PTX is a part of this program. The
 * driver compiles it when it is first wanted, which takes 0.1 s.
 *
 * Kernels of one source are a module. A new source is two rows in embedded_kernels.cc, one in
 * src/engine/CMakeLists.txt, and a struct of its kernels here.
 */
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/sort/sort_tuning.h"

namespace turbine::cuda {

/* PTX of `name`_kernels.c. It ends in a NUL, which is not counted. Throws std::out_of_range if there is none. */
std::string_view embedded_ptx(std::string_view name);

/* A module of embedded kernels. Thread-safe. */
class EmbeddedModule {
 public:
  /* `max_registers` of a thread; 0: as many as the driver's compiler likes. */
  EmbeddedModule(std::shared_ptr<CudaContext> context, std::string_view name, std::vector<const char*> kernels,
                 unsigned max_registers);
  ~EmbeddedModule();
  EmbeddedModule(const EmbeddedModule&) = delete;

  /* Whether the module is loaded; else somebody begins to load it, and the host may do the work meanwhile. A module
   * that cannot be loaded never will be. */
  bool ready();

  /* Loads the module if nobody has; its kernels in the order of their names. `driver` makes the calls. The context
   * must be current. Throws DeviceError, and then the next call tries again. */
  std::vector<Function> functions(const Driver& driver);

 private:
  const std::shared_ptr<CudaContext> context_;
  const std::string_view ptx_;
  const std::vector<const char*> names_;
  const unsigned max_registers_;
  std::mutex mutex_;  // protects what follows
  Module module_ = nullptr;
  std::vector<Function> functions_;
  std::thread loader_;
};

/* Each has the name of its source and, in the order of its members, the names of the kernels there. */
struct RadixKernels {
  static constexpr std::string_view kSource = "radix";
  static constexpr std::array kNames = {"tb_sort_count", "tb_sort_pass", "tb_sort_agree"};
  Function count, pass, agree;
};

struct FirstKernels {
  static constexpr std::string_view kSource = "first";
  static constexpr std::array kNames = {"tb_first_groups", "tb_first_take", "tb_first_gather", "tb_first_return"};
  Function groups, take, gather, put_back;
};

struct TableKernels {
  static constexpr std::string_view kSource = "table";
  static constexpr std::array kNames = {"tb_table_bounds", "tb_table_mark",  "tb_table_sums",   "tb_table_scan",
                                        "tb_table_ranks",  "tb_table_place", "tb_table_buckets"};
  Function bounds, mark, sums, scan, ranks, place, buckets;
};

struct GrowthKernels {
  static constexpr std::string_view kSource = "growth";
  static constexpr std::array kNames = {"tb_group_grow"};
  Function grow;
};

struct KeyKernels {
  static constexpr std::string_view kSource = "key";
  static constexpr std::array kNames = {"tb_key_ranges", "tb_key_pack", "tb_gather"};
  Function ranges, pack, gather;
};

struct WindowKernels {
  static constexpr std::string_view kSource = "window";
  static constexpr std::array kNames = {"tb_window_totals", "tb_window_before", "tb_window_scan", "tb_window_emit",
                                        "tb_window_take"};
  Function totals, before, scan, emit, take;
};

struct ExportKernels {
  static constexpr std::string_view kSource = "export";
  static constexpr std::array kNames = {"tb_export_order", "tb_export_values", "tb_export_bits"};
  Function order, values, bits;
};

/* A module with its kernels by name. Thread-safe. */
template <class Kernels>
class ModuleOf {
 public:
  explicit ModuleOf(std::shared_ptr<CudaContext> context, unsigned max_registers = 0)
      : module_(std::move(context), Kernels::kSource, {Kernels::kNames.begin(), Kernels::kNames.end()}, max_registers) {
  }

  /* As EmbeddedModule. */
  bool ready() { return module_.ready(); }
  Kernels kernels(const Driver& driver) {
    const std::vector<Function> functions = module_.functions(driver);
    std::array<Function, Kernels::kNames.size()> all;
    std::copy(functions.begin(), functions.end(), all.begin());
    return std::bit_cast<Kernels>(all);
  }

 private:
  EmbeddedModule module_;
};

using RadixCode = ModuleOf<RadixKernels>;
using FirstCode = ModuleOf<FirstKernels>;
using TableCode = ModuleOf<TableKernels>;
using GroupCode = ModuleOf<GrowthKernels>;
using KeyCode = ModuleOf<KeyKernels>;
using WindowCode = ModuleOf<WindowKernels>;
using ExportCode = ModuleOf<ExportKernels>;

/* All of them on one GPU. Thread-safe. */
struct EmbeddedKernels {
  explicit EmbeddedKernels(const std::shared_ptr<CudaContext>& context)
      : sort(context, kSortRegisters),
        first(context),
        tables(context),
        groups(context),
        windows(context),
        keys(context),
        exports(context) {}

  RadixCode sort;
  FirstCode first;
  TableCode tables;
  GroupCode groups;
  WindowCode windows;
  KeyCode keys;
  ExportCode exports;
};

}  // namespace turbine::cuda
