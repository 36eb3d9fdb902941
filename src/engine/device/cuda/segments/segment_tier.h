/*
 * segment_tier.h - copies of stored columns in a GPU's memory, in their encoded form, for queries to come.
 *
 * Memory is taken in slabs. A slab's space is given out once, from its beginning to its end. If the tier is
 * full, a slab that no recent query has used is emptied as a whole. A slab is given back once the host has
 * dropped all of its columns. A column itself holds its place on each GPU (StoredColumn::device_place), with the
 * generation of its slab. Emptying a slab begins a new generation, which makes old places invalid. So the
 * tier keeps no list of columns.
 *
 * A lane pins the slabs that its kernels read. Copies are published once they are complete. The tier also
 * keeps dictionaries, and descriptions of tasks that come again. One per GPU (gpu_cache.h). Thread-safe.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/memory/column_place.h"
#include "engine/store/segment.h"

namespace turbine::cuda {

class SegmentTier {
 public:
  /* `device`: number of the GPU in places, from 1 on. Of `capacity` bytes; 0: nothing is kept. */
  SegmentTier(std::shared_ptr<CudaContext> context, uint32_t device, uint64_t capacity);

  /* Its number, from 0 on. */
  uint32_t gpu() const { return device_ - 1; }
  uint64_t capacity() const { return capacity_; }
  uint64_t slab_size() const { return slab_size_; }
  uint64_t used() const;

  /* Since the start: columns of segments of which a task found copies here, and those that had to cross. */
  struct Found {
    uint64_t hits, misses;
  };
  Found found() const;
  void count_found(uint64_t hits, uint64_t misses);

  /* Which slabs a lane reads or writes. */
  class Pins {
   public:
    explicit Pins(SegmentTier& tier) : tier_(tier) {}
    ~Pins() { release(); }
    Pins(const Pins&) = delete;
    void release();

   private:
    friend class SegmentTier;
    SegmentTier& tier_;
    std::vector<uint32_t> slabs_;
  };

  /* Space in a slab that is given to whoever pins it. */
  struct Extent {
    DevicePtr address = 0;  // 0: none
    uint32_t slab = 0;
  };

  /* A query begins: what it uses counts as used now. */
  uint64_t begin_query();

  /* Gives back slabs, dictionaries and descriptions of what the host has forgotten. */
  void forget_dropped();

  /* Addresses of columns, 0 where there is no copy, all pinned. */
  void find(std::span<const StoredColumn* const> columns, uint64_t query, Pins& pins, DevicePtr* addresses);

  /* Space for a copy, in one piece; none if all slabs are in use. `pinned`: of columns of pinned tables, in a slab that
   * has no others. A slab is not emptied while a quarter of its columns are pinned. */
  Extent reserve(const Driver& driver, uint64_t bytes, uint64_t query, bool pinned, Pins& pins);

  /* The column's copy in the extent is complete. The extent is still pinned. */
  void publish(const StoredColumn& column, const Extent& extent, DevicePtr address);

  /* A dictionary, and where its copy was when somebody named it. */
  struct NamedDictionary {
    std::weak_ptr<TextDictionary> original;
    DeviceDictionary copy;
  };

  /* Where the columns of a morsel's segments are and which of their rows are taken, in device memory. It
   * lasts as long as the morsel and the slabs do. */
  struct Description {
    DevicePtr places = 0, runs = 0;
    uint32_t nruns = 0, nrows = 0;
    uint64_t bytes = 0;  // of the columns
    std::vector<NamedDictionary> dictionaries;  // that the places name
    uint64_t columns = 0;
  };
  /* Null: there is none. All that it names is pinned. */
  std::shared_ptr<const Description> find_description(const std::shared_ptr<const SegmentMorsel>& morsel,
                                                      uint64_t query, Pins& pins);
  /* `memory`: where it is. The pins are those of all that it names. */
  void keep_description(const std::shared_ptr<const SegmentMorsel>& morsel, Description description, Block memory,
                        const Pins& pins);

  /* Views and bytes of a dictionary as far as there are entries now, complete when this returns. They stay
   * as long as some lane has pins. Copies on `stream` and waits for it where there are new ones. Throws DeviceError. */
  DeviceDictionary dictionary(const Driver& driver, const std::shared_ptr<TextDictionary>& dictionary, Stream stream,
                              Pins& pins);

  /* kFillerSize bytes of ones, there as long as the tier is, complete when this returns. The first call waits for
   * `stream`. Throws DeviceError. */
  DevicePtr filler(const Driver& driver, Stream stream);

 private:
  struct Slab {
    Block memory;  // none: given back
    std::shared_ptr<const StoredColumn::DeviceUse> columns;  // each whose copy is here has a reference
    uint64_t published = 0;  // columns
    uint64_t given = 0;
    uint64_t last_query = 0;
    uint32_t generation = 0;
    uint32_t pins = 0;
  };
  struct DictionaryCopy {
    std::weak_ptr<TextDictionary> original;
    Block views, bytes;
    uint32_t entries = 0;
    uint64_t text_size = 0;
  };

  struct KeptDescription {
    std::weak_ptr<const SegmentMorsel> morsel;
    std::shared_ptr<const Description> description;
    Block memory;
    std::vector<std::pair<uint32_t, uint32_t>> slabs;  // and their generations
  };

  void give_back_slabs();
  void forget_descriptions();
  void pin(uint32_t slab, uint64_t query, Pins& pins);
  bool open_slab(const Driver& driver, uint64_t query, bool pinned);
  void begin_slab(Slab& slab);
  static bool stays_pinned(const Slab& slab);
  void forget_dictionaries();
  uint64_t place_of(uint32_t slab, uint64_t offset) const;
  void retire(Block block);

  const std::shared_ptr<CudaContext> context_;
  const uint32_t device_;
  const uint64_t capacity_, slab_size_;

  mutable std::mutex mutex_;  // protects what follows
  std::vector<Slab> slabs_;
  uint32_t open_[2] = {UINT32_MAX, UINT32_MAX};  // slabs that space is given out of: of others, of pinned columns
  uint64_t queries_ = 0;
  Found found_{};
  uint64_t bytes_ = 0;  // of slabs and dictionaries
  uint32_t lanes_ = 0;  // that have pins
  std::map<const TextDictionary*, DictionaryCopy> dictionaries_;
  std::map<const SegmentMorsel*, KeptDescription> descriptions_;
  size_t descriptions_allowed_ = 0;  // before those are forgotten that are of no use any more
  std::vector<Block> retired_;  // outgrown, maybe still read by a lane
  Block filler_;
};

}  // namespace turbine::cuda
