/*
 * segment_leases.h - which query has which shared segment, and who else has it
 * mapped.
 *
 * A query's feeders (ATTACH in wire.h) write to its segment without a word to us,
 * and may do so for a moment after the query's backend has died. So a segment that
 * some feeder is still attached to waits here after its query, and goes back to the
 * pool, and thereby to other queries, with the last of them.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/storage/shared_segment.h"

namespace turbine {

/* Thread-safe. */
class SegmentLeases {
 public:
  explicit SegmentLeases(SegmentPool& pool) : pool_(pool) {}

  /* A feeder's share in a lease; ends when destroyed. Move-only. */
  class Attachment {
   public:
    Attachment(Attachment&& other) noexcept;
    Attachment& operator=(Attachment&&) = delete;
    ~Attachment();
    /* Both stay valid as long as this. */
    const SharedSegment& segment() const { return *segment_; }

   private:
    friend class SegmentLeases;
    Attachment(SegmentLeases& leases, uint64_t lease, const SharedSegment& segment)
        : leases_(&leases), lease_(lease), segment_(&segment) {}
    SegmentLeases* leases_;
    uint64_t lease_;
    const SharedSegment* segment_;
  };

  /* The segment goes to a query; returns a number never used before. */
  uint64_t begin(const SharedSegment& segment);

  /* The query is over: the segment goes to the pool now or with its last feeder. */
  void end(uint64_t lease, std::unique_ptr<SharedSegment> segment);

  /* The query is over and its segment is not to be used again. */
  void abandon(uint64_t lease, std::unique_ptr<SharedSegment> segment);

  /* None if the query is over, or never was. */
  std::optional<Attachment> attach(uint64_t lease);

 private:
  struct Lease {
    const SharedSegment* segment;
    uint32_t feeders = 0;
    bool over = false;
    bool reusable = true;
    std::unique_ptr<SharedSegment> waiting;  // once over
  };

  void finish(uint64_t lease, std::unique_ptr<SharedSegment> segment, bool reusable);
  void detach(uint64_t lease);
  void let_go(std::unique_ptr<SharedSegment> segment, bool reusable);

  SegmentPool& pool_;
  std::mutex mutex_;
  std::map<uint64_t, Lease> leases_;
  uint64_t next_lease_ = 1;
};

}  // namespace turbine
