/*
 * window_frame.h - the rows of one partition that a row's window frame covers.
 *
 * Frames of following rows never go back, so that their ends are cursors which move
 * through the partition once, whatever the offsets. So are the ends of what they
 * exclude.
 */
#pragma once

#include <algorithm>
#include <optional>

#include "engine/result/plan/result_plan.h"
#include "engine/result/window/window_range.h"

namespace turbine {

/* A pass, and the key that its offsets are distances of. */
class FrameRule {
 public:
  /* Throws DeviceError, as RangeKey does. */
  FrameRule(const ResultPlan& plan, const TbWindowPass& pass, const ResultRows& rows, const SortedRows& sorted,
            ParallelWork& work)
      : pass_(pass) {
    if (!tb_pass_has_range_offset(&pass)) return;
    const TbSortKey key = plan.keys(pass)[pass.npartition];
    key_.emplace(rows, sorted, key, work);
    if (pass.start_limit != TB_NONE) start_limits_.emplace(rows, sorted, TbSortKey{pass.start_limit, key.flags}, work);
    if (pass.end_limit != TB_NONE) end_limits_.emplace(rows, sorted, TbSortKey{pass.end_limit, key.flags}, work);
  }

  const TbWindowPass& pass() const { return pass_; }
  const std::optional<RangeKey>& key() const { return key_; }
  /* Null: the offset is a distance. */
  const RangeKey* start_limits() const { return start_limits_ ? &*start_limits_ : nullptr; }
  const RangeKey* end_limits() const { return end_limits_ ? &*end_limits_ : nullptr; }
  bool excludes() const { return pass_.exclusion != TB_EXCLUDE_NONE; }

 private:
  const TbWindowPass& pass_;
  std::optional<RangeKey> key_, start_limits_, end_limits_;
};

class WindowFrame {
 public:
  WindowFrame(const FrameRule& rule, const WindowPartition& partition)
      : rule_(rule),
        pass_(rule.pass()),
        partition_(partition),
        rows_mode_(pass_.frame_mode == TB_FRAME_ROWS),
        head_{partition, partition.begin},
        tail_{partition, partition.begin} {
    if (!rule.key()) return;
    using enum RangeEnd::Side;
    if (tb_bound_is_offset(pass_.start_bound))
      range_start_.emplace(*rule.key(), rule.start_limits(), partition, kStart, pass_.start_bound,
                           pass_.start_offset_high, pass_.start_offset);
    if (tb_bound_is_offset(pass_.end_bound))
      range_end_.emplace(*rule.key(), rule.end_limits(), partition, kEnd, pass_.end_bound, pass_.end_offset_high,
                         pass_.end_offset);
  }

  /* To the frame of the row at `place`: the partition's first, then each next one. */
  void move_to(uint64_t place) {
    const bool first = place == partition_.begin, of_other_peers = partition_.starts_peers(place);
    if (of_other_peers && !first) group_++;
    // But for ROWS, peers have one frame.
    if (of_other_peers || rows_mode_) {
      start_ = start_of(place);
      end_ = std::max(start_, end_of(place));
    }
    place_ = place;
    leave_out(of_other_peers);
  }
  uint64_t start() const { return start_; }
  uint64_t end() const { return end_; }  // start(), if nothing is between them

  /* Rows [hole_start(), hole_end()) between them are left out, but for the current
   * one if it stays. Both never go back. */
  uint64_t hole_start() const { return hole_start_; }
  uint64_t hole_end() const { return hole_end_; }
  bool current_stays() const { return current_stays_; }

  uint64_t size() const { return end_ - start_ - (hole_end_ - hole_start_) + current_stays_; }
  /* The place of the frame's row n, from 0; n < size(). */
  uint64_t at(uint64_t n) const {
    const uint64_t before = hole_start_ - start_;
    if (n < before) return start_ + n;
    if (current_stays_ && n == before) return place_;
    return hole_end_ + (n - before - current_stays_);
  }

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
    if (range_start_) return range_start_->move_to(place);
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
    if (range_end_) return range_end_->move_to(place);
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

  void leave_out(bool of_other_peers) {
    if (!rule_.excludes()) {
      hole_start_ = hole_end_ = end_;
      return;
    }
    if (pass_.exclusion == TB_EXCLUDE_CURRENT_ROW) {
      left_out_ = place_;
      left_out_end_ = place_ + 1;
    } else if (of_other_peers) {
      left_out_ = place_;
      left_out_end_ = partition_.peers_end(place_);
    }
    hole_start_ = std::clamp(left_out_, start_, end_);
    hole_end_ = std::clamp(left_out_end_, start_, end_);
    current_stays_ = pass_.exclusion == TB_EXCLUDE_TIES && place_ >= start_ && place_ < end_;
  }

  const FrameRule& rule_;
  const TbWindowPass& pass_;
  const WindowPartition& partition_;
  const bool rows_mode_;
  uint64_t group_ = 0;  // of the current row
  GroupStart head_, tail_;
  std::optional<RangeEnd> range_start_, range_end_;
  uint64_t place_ = 0, start_ = 0, end_ = 0;
  uint64_t left_out_ = 0, left_out_end_ = 0;  // whether in the frame or not
  uint64_t hole_start_ = 0, hole_end_ = 0;
  bool current_stays_ = false;
};

}  // namespace turbine
