/*
 * slot_table.cc - the slots of one query and their states.
 *
 * Owns the states and the trace of them, not the memory. Called by execution/ under the
 * query's lock; it must never wait, and never look at what a slot holds.
 */
#include "engine/slots/slot_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint64_t kSlotAlignment = 4096;

}  // namespace

SlotShape::SlotShape(uint32_t pages, uint32_t nslots)
    : pages(pages), nslots(nslots), ids_offset(uint64_t{pages} * TB_PAGE_SIZE) {
  const uint64_t ids = uint64_t{pages} * TB_MAX_TUPLES_PER_PAGE * sizeof(uint32_t);
  size = (ids_offset + ids + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

void SlotTable::open(const SlotShape& shape, uint8_t* memory, QueryProfile* profile) {
  shape_ = shape;
  memory_ = memory;
  profile_ = profile;
  slots_.resize(shape.nslots);
}

void SlotTable::check_state(uint32_t slot, SlotState state) const {
  if (slot >= slots_.size()) throw ProtocolError("no such slot");
  if (slots_[slot].state != state) throw ProtocolError("slot " + std::to_string(slot) + " is in another state");
}

void SlotTable::begin(const ChunkRequest& chunk, TaskInput input, bool source_fills) {
  Slot& slot = slots_[chunk.slot];
  slot.kind = chunk.kind;
  slot.input = std::move(input);
  slot.sequence = chunk.sequence;
  slot.ahead = false;
  trace(chunk.slot, TB_SPAN_KIND_COUNT);
  slot.state = source_fills ? SlotState::kReading : SlotState::kHeld;
  if (source_fills) reading_++;
}

Task SlotTable::task(uint32_t index) const {
  const Slot& slot = slots_[index];
  return {.sequence = slot.sequence,
          .input = slot.input,
          .place = {.piece = slot.sequence, .step = 0, .alone = true},
          .ids = reinterpret_cast<uint32_t*>(base(index) + shape_.ids_offset),
          .ids_capacity = shape_.max_rows()};
}

void SlotTable::wait_for_drive(uint32_t slot) {
  slots_[slot].at_drive = true;
  at_drives_++;
}

TbReadOutcome SlotTable::filled(uint32_t index, bool ok, std::shared_ptr<DecodedPages> decoded) {
  Slot& slot = slots_[index];
  if (std::exchange(slot.at_drive, false)) at_drives_--;
  trace(index, TB_SPAN_SLOT_TO_BE_READ);
  slot.state = SlotState::kHeld;
  slot.ahead = decoded != nullptr;
  reading_--;
  const bool in_slot = !decoded || decoded->in_slot;
  if (auto* pages = std::get_if<PagesInput>(&slot.input)) pages->decoded = std::move(decoded);
  if (!ok) return TB_READ_FAILED;
  return in_slot ? TB_READ_DONE : TB_READ_DECODED;
}

Task SlotTable::submit(uint32_t index, bool unchanged) {
  Slot& slot = slots_[index];
  Task result = task(index);
  slot.input = {};
  if (auto* pages = result.as<PagesInput>(); pages && !unchanged) {
    // Not what was decoded, nor what the map page's LSN speaks of.
    pages->decoded.reset();
    pages->keep.reset();
  }
  trace(index, TB_SPAN_SLOT_HELD);
  slot.state = SlotState::kRunning;
  return result;
}

void SlotTable::done(uint32_t slot) {
  trace(slot, TB_SPAN_SLOT_TO_BE_RUN);
  slots_[slot].state = SlotState::kBackend;
}

bool SlotTable::nothing_held() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return slot.state == SlotState::kBackend || slot.state == SlotState::kRunning;
  });
}

void SlotTable::take_over() {
  for (Slot& slot : slots_) slot.state = SlotState::kOurs;
}

bool SlotTable::all_ours() const {
  return std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.state == SlotState::kOurs; });
}

/* A state of the slot begins. The one that the span is named for ends; TB_SPAN_KIND_COUNT:
 * none does. */
void SlotTable::trace(uint32_t index, TbSpanKind ended) {
  if (!profile_ || !profile_->traced()) return;
  Slot& slot = slots_[index];
  const uint64_t now = monotonic_ns();
  try {
    if (ended != TB_SPAN_KIND_COUNT)
      profile_->add(ended, slot.sequence, slot.since_ns, now, profile_->track("slot " + std::to_string(index)));
  } catch (const std::bad_alloc&) {
    // The trace lacks it.
  }
  slot.since_ns = now;
}

}  // namespace turbine
