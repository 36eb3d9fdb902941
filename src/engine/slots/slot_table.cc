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

void SlotTable::begin(const ChunkRequest& chunk, bool source_fills) {
  Slot& slot = slots_[chunk.slot];
  slot.kind = chunk.kind;
  slot.npages = chunk.npages;
  slot.layout = chunk.layout;
  slot.sequence = chunk.sequence;
  slot.ahead = false;
  trace(chunk.slot, TB_SPAN_KIND_COUNT);
  slot.state = source_fills ? SlotState::kReading : SlotState::kHeld;
  if (source_fills) reading_++;
}

Task SlotTable::task(uint32_t index, const ChunkLayout* layout) const {
  const Slot& slot = slots_[index];
  Task task{.sequence = slot.sequence,
            .ids = reinterpret_cast<uint32_t*>(base(index) + shape_.ids_offset),
            .ids_capacity = shape_.max_rows()};
  if (slot.kind == TB_CHUNK_COLUMNS)
    task.input = ColumnsInput{base(index)};
  else
    task.input = PagesInput{.pages = base(index), .npages = slot.npages, .layout = layout};
  return task;
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
  slot.decoded = std::move(decoded);
  slot.ahead = slot.decoded != nullptr;
  reading_--;
  if (!ok) return TB_READ_FAILED;
  return slot.decoded && !slot.decoded->in_slot ? TB_READ_DECODED : TB_READ_DONE;
}

Task SlotTable::submit(uint32_t index, const ChunkLayout* layout, bool unchanged) {
  Slot& slot = slots_[index];
  Task result = task(index, layout);
  if (auto* pages = result.as<PagesInput>(); pages && unchanged) pages->decoded = slot.decoded;
  slot.decoded.reset();
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
