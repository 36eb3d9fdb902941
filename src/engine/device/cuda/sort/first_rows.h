/*
 * first_rows.h - of the rows that tb_project leaves in a lane's store, only those stay that may be among the first of
 * the query's order.
 *
 * The bound is in device memory and gets better with each task (first_kernels.h), so the host is not in the loop. Of
 * n rows in random order about k ln k stay of the first task for k wanted ones, and fewer of later ones.
 */
#pragma once

#include <memory>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/row_limit.h"
#include "engine/program/kept_row_layout.h"

namespace turbine::cuda {

/* What a query's lanes share: the best rank of each group. The query's worker makes it and uses it. */
class FirstRowsBound {
 public:
  /* Whether the kernels know such a key, and a bound pays. */
  static bool suits(const FirstKey& key);

  /* Device memory for the groups, filled on `stream`. Throws DeviceError. */
  FirstRowsBound(CudaContext& context, const Driver& driver, const FirstKey& key, MemoryAccount& account,
                 Stream stream);

  const FirstKey& key() const { return key_; }
  DevicePtr best() const { return best_.device(); }

  /* The group of a launch's first thread, so that launches of few threads reach all groups in turn. */
  uint32_t begin_launch(uint64_t threads);

 private:
  const FirstKey key_;
  uint32_t next_group_ = 0;
  Block best_, none_;  // device; pinned: what it starts with
};

/* A lane's room for the rows that stay. */
class FirstRows {
 public:
  /* Throws DeviceError. */
  FirstRows(CudaContext& context, const Driver& driver, const KeptRowLayout& shape, MemoryAccount& account);

  /* Lets only those rows of `store` (a TbRowStore in device memory) stay that may be wanted; all stay where they are
   * more than there is room for. On `stream`; nothing of an earlier run may be in flight. Throws DeviceError. */
  void run(FirstRowsBound& bound, const FirstKernels& kernels, DevicePtr store, uint64_t threads, Stream stream);

 private:
  void launch(Function kernel, uint64_t threads, Stream stream) const;

  CudaContext& context_;
  const Driver& driver_;
  const KeptRowLayout& shape_;
  uint32_t capacity_;
  Block arguments_, host_arguments_, taken_, scratch_;
};

}  // namespace turbine::cuda
