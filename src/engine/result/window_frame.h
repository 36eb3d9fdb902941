/*
 * window_frame.h - the rows of one partition that a row's window frame covers.
 *
 * Frames of following rows never go back, so that their ends are cursors which move
 * through the partition once, whatever the offsets.
 */
#pragma once

#include <algorithm>

#include "engine/result/sorted_rows.h"

namespace turbine {

/* Places [begin, end) of sorted rows whose partition keys agree. */
struct WindowPartition {
  const SortedRows& rows;
  size_t nkeys;  // rows that agree in so many are peers
  uint64_t begin, end;

  uint64_t size() const { return end - begin; }
  bool starts_peers(uint64_t place) const { return place == begin || rows.agree()[place] < nkeys; }
  /* Where the peers of the row at `place` end. */
  uint64_t peers_end(uint64_t place) const {
    do place++;
    while (place < end && !starts_peers(place));
    return place;
  }
};

class WindowFrame {
 public:
  WindowFrame(const TbWindowPass& pass, const WindowPartition& partition)
      : pass_(pass),
        partition_(partition),
        rows_mode_(pass.frame_mode == TB_FRAME_ROWS),
        head_{partition, partition.begin},
        tail_{partition, partition.begin} {}

  /* To the frame of the row at `place`: the partition's first, then each next one. */
  void move_to(uint64_t place) {
    if (place != partition_.begin && partition_.starts_peers(place)) group_++;
    start_ = start_of(place);
    end_ = std::max(start_, end_of(place));
  }
  uint64_t start() const { return start_; }
  uint64_t end() const { return end_; }  // start(), if the frame is empty

 private:
  /* Where a group of peers starts, by its number in the partition. */
  struct GroupStart {
    const WindowPartition& partition;
    uint64_t place;
    uint64_t group = 0;
    uint64_t move_to(uint64_t target) {
      for (; group < target && place < partition.end; group++) place = partition.peers_end(place);
      return place;
    }
  };
  static uint64_t sum(uint64_t a, uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

  uint64_t start_of(uint64_t place) {
    const uint64_t begin = partition_.begin, end = partition_.end, offset = pass_.start_offset;
    switch (pass_.start_bound) {
      case TB_BOUND_PRECEDING:
        if (rows_mode_) return place - begin > offset ? place - offset : begin;
        return head_.move_to(group_ > offset ? group_ - offset : 0);
      case TB_BOUND_CURRENT_ROW: return rows_mode_ ? place : head_.move_to(group_);
      case TB_BOUND_FOLLOWING:
        if (rows_mode_) return end - place > offset ? place + offset : end;
        return head_.move_to(sum(group_, offset));
      default: return begin;
    }
  }

  uint64_t end_of(uint64_t place) {
    const uint64_t begin = partition_.begin, end = partition_.end, offset = pass_.end_offset;
    switch (pass_.end_bound) {
      case TB_BOUND_PRECEDING:
        if (rows_mode_) return place - begin >= offset ? place - offset + 1 : begin;
        return group_ >= offset ? tail_.move_to(group_ - offset + 1) : begin;
      case TB_BOUND_CURRENT_ROW: return rows_mode_ ? place + 1 : tail_.move_to(group_ + 1);
      case TB_BOUND_FOLLOWING:
        if (rows_mode_) return end - place - 1 > offset ? place + offset + 1 : end;
        return tail_.move_to(sum(group_ + 1, offset));
      default: return end;
    }
  }

  const TbWindowPass& pass_;
  const WindowPartition& partition_;
  const bool rows_mode_;
  uint64_t group_ = 0;  // of the current row
  GroupStart head_, tail_;
  uint64_t start_ = 0, end_ = 0;
};

}  // namespace turbine
