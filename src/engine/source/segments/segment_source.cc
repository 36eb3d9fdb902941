/*
 * segment_source.cc - see segment_source.h.
 *
 * Owns what it knows of the query's parts. Called by execution/ for SEGMENTS and CHUNK. It
 * must take the backend's word for what is visible, and nobody else's.
 */
#include "engine/source/segments/segment_source.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <mutex>
#include <numeric>
#include <utility>

#include "engine/source/heap/page_lsns.h"
#include "engine/store/block_bits.h"
#include "engine/store/column_key.h"
#include "engine/wire/protocol_error.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Segments whose pages one job looks at: half a millisecond. */
constexpr size_t kSegmentsPerLook = 16;
/* As many blocks of a kept list. */
constexpr size_t kBlocksPerLook = kSegmentsPerLook * TB_SEGMENT_BLOCKS;

/* Behind all chunks: sums of floating-point numbers are folded in this order. */
constexpr uint64_t kFirstSequence = uint64_t{1} << 40;

uint64_t count_blocks(const std::vector<TakenSegment>& segments) {
  uint64_t count = 0;
  for (const TakenSegment& taken : segments) count += static_cast<uint64_t>(std::popcount(taken.blocks));
  return count;
}

/* Whether every block is asked for. */
bool is_whole(const TbSegments& segments) {
  return !(segments.flags & (TB_SEGMENTS_CLEAN | TB_SEGMENTS_FRESH_BITS)) && segments.asked == segments.nblocks;
}

/* Of pages in shared buffers the file's LSN may be an old one: the backend has told what is there. */
void put_buffered_lsns(const SegmentsRequest& request, std::span<const uint32_t> blocks, uint64_t* lsns) {
  if (TB_MUTANT(dirty_lsn_ignored)) return;
  auto buffered = std::lower_bound(request.buffered.begin(), request.buffered.end(), blocks.front());
  for (size_t i = 0; i < blocks.size() && buffered != request.buffered.end(); i++) {
    while (buffered != request.buffered.end() && *buffered < blocks[i]) ++buffered;
    if (buffered != request.buffered.end() && *buffered == blocks[i])
      lsns[i] = request.page_lsn[static_cast<size_t>(buffered - request.buffered.begin())];
  }
}

/* Whether a page is what was decoded. */
bool is_unchanged(uint64_t page_lsn, uint64_t decoded_lsn) {
  return page_lsn != 0 && (page_lsn == decoded_lsn || TB_MUTANT(page_lsn_ignored));
}

bool is_asked(const SegmentsRequest& request, uint32_t block) {
  return has_bit(request.bits, block) || has_bit(request.fresh, block);
}

/* Of the segment's blocks, those whose pages have not changed since. */
BlockMask unchanged_blocks(const TakenSegment& doubtful, const SegmentsRequest& request, const PageLsns& pages) {
  const Segment& segment = *doubtful.segment;
  uint32_t blocks[TB_SEGMENT_BLOCKS], count = 0;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
    if (doubtful.blocks >> i & 1) blocks[count++] = segment.first_block + i;
  uint64_t lsns[TB_SEGMENT_BLOCKS];
  pages.read({blocks, count}, lsns);
  put_buffered_lsns(request, {blocks, count}, lsns);
  BlockMask unchanged = 0;
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t place = blocks[i] - segment.first_block;
    if (is_unchanged(lsns[i], segment.page_lsn[place])) unchanged |= BlockMask{1} << place;
  }
  return unchanged;
}

}  // namespace

/* SEGMENTS_TAKEN, as it grows. */
class SegmentSource::Answer {
 public:
  Answer(const SegmentsRequest& request, bool names_excluded)
      : asked_(request.segments.asked), size_(request.bits.size()), names_excluded_(names_excluded) {
    head_.part = request.segments.part;
    if (names_excluded) excluded_.resize(size_);
  }
  void not_looked() { head_.flags |= TB_SEGMENTS_TAKEN_NOT_LOOKED; }
  void add(const TakenSegment& some) {
    head_.segments++;
    head_.blocks += static_cast<uint64_t>(std::popcount(some.blocks));
    head_.rows += some.segment->rows_of_blocks(some.blocks);
    set_bits(some, taken());
  }
  /* The list outlives the answer. */
  void add(const SegmentList& list) {
    head_.segments += list.segments().size();
    head_.blocks += list.blocks();
    head_.rows += list.rows();
    whole_list_ = head_.blocks == asked_ && taken_.empty() ? &list : nullptr;
    if (!whole_list_) add_bits(list.bits(), taken());
  }
  /* Of what was added. */
  void exclude(const TakenSegment& some, Excluded by) {
    head_.excluded += static_cast<uint64_t>(std::popcount(some.blocks));
    head_.excluded_rows += some.segment->rows_of_blocks(some.blocks);
    (by == Excluded::kByFilter ? head_.excluded_by_filter : head_.excluded_by_join)++;
    if (names_excluded_) set_bits(some, excluded_);
  }
  /* Blocks that are taken for sure; what they are of is told with the second answer. */
  void promise(const std::vector<uint8_t>& bits) {
    head_.blocks = count_bits(bits);
    std::copy(bits.begin(), bits.end(), taken().begin());
  }
  /* What was promised is not counted again. */
  void leave_out(const std::vector<uint8_t>& promised) {
    for (size_t i = 0; i < promised.size(); i++) taken()[i] &= static_cast<uint8_t>(~promised[i]);
    head_.blocks = count_bits(taken());
  }
  void add_doubtful(const std::vector<uint8_t>& bits, uint64_t count) {
    head_.doubtful = count;
    std::copy(bits.begin(), bits.end(), doubtful().begin());
  }
  /* Where the doubtful ones are, if the message has room for it. */
  void hint(StoredTable& table) {
    const uint64_t size = sizeof head_ + 3 * size_ + head_.doubtful * sizeof(uint32_t);
    if (head_.doubtful > 0 && size <= TB_MAX_MESSAGE) buffers_ = table.buffers_of(doubtful(), head_.doubtful);
    if (!buffers_.empty()) head_.flags |= TB_SEGMENTS_TAKEN_BUFFERS;
  }
  void add_doubtful(const TakenSegment& some) {
    head_.doubtful += static_cast<uint64_t>(std::popcount(some.blocks));
    set_bits(some, doubtful());
  }
  const std::vector<uint8_t>& bits() { return taken(); }
  uint64_t rows() const { return head_.rows; }
  uint64_t rows_excluded() const { return head_.excluded_rows; }
  Taken finish() {
    Taken result;
    const bool all = head_.blocks == asked_;
    if (all) head_.flags |= TB_SEGMENTS_TAKEN_ALL;
    result.reply.resize(sizeof head_);
    memcpy(result.reply.data(), &head_, sizeof head_);
    auto append = [&](const auto& values) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
      result.reply.insert(result.reply.end(), bytes, bytes + values.size() * sizeof values[0]);
    };
    if (!all) append(taken());
    if (head_.doubtful > 0) append(doubtful());
    if (names_excluded_ && head_.excluded > 0) append(excluded_);
    append(buffers_);
    result.blocks = head_.blocks;
    return result;
  }

 private:
  static void add_bits(const std::vector<uint8_t>& bits, std::vector<uint8_t>& to) {
    std::transform(bits.begin(), bits.end(), to.begin(), to.begin(), std::bit_or<>());
  }
  /* Mostly a list has all blocks, and nobody reads 300 kB of bits of a table of 20 GB. */
  std::vector<uint8_t>& taken() {
    if (taken_.empty()) taken_.resize(size_);
    if (const SegmentList* list = std::exchange(whole_list_, nullptr)) add_bits(list->bits(), taken_);
    return taken_;
  }
  std::vector<uint8_t>& doubtful() {
    if (doubtful_.empty()) doubtful_.resize(size_);
    return doubtful_;
  }

  const uint64_t asked_;
  const size_t size_;  // of a bit for each block
  const bool names_excluded_;
  TbSegmentsTaken head_{};
  std::vector<uint8_t> taken_, doubtful_, excluded_;  // the first two: empty until one is set
  const SegmentList* whole_list_ = nullptr;  // all that was asked for, if its bits are not among taken_
  std::vector<uint32_t> buffers_;
};

void SegmentSource::see_by(const SnapshotRequest& request) {
  if (snapshot_) throw ProtocolError("a second SNAPSHOT");
  auto snapshot = std::make_shared<QuerySnapshot>();
  snapshot->xmin = request.snapshot.xmin;
  snapshot->xmax = request.snapshot.xmax;
  snapshot->open = request.open;
  snapshot->overflowed = request.snapshot.flags & TB_SNAPSHOT_OVERFLOWED;
  snapshot->in_recovery = request.snapshot.flags & TB_SNAPSHOT_RECOVERY;
  snapshot->writes = request.snapshot.flags & TB_SNAPSHOT_WRITES;
  snapshot_ = std::move(snapshot);
}

StoredTable::Known SegmentSource::known_of(const SegmentsRequest& request) const {
  StoredTable::Known known{
      .nblocks = request.segments.nblocks, .map_lsn = request.map_lsn.data(), .bits = request.bits.data()};
  known.snapshot = snapshot_.get();
  known.whole = is_whole(request.segments);
  if (!snapshot_ || request.fresh.empty()) return known;
  known.others = request.fresh.data();
  return known;
}

void SegmentSource::check_program() const {
  if (program_->source() != TB_SOURCE_HEAP) throw ProtocolError("SEGMENTS for a program that takes none");
}

StoredPart SegmentSource::stored_part(const TbFileIdentity& file, const std::vector<ColumnKey>& keys,
                                      uint32_t nblocks) const {
  StoredPart part;
  part.table = store_.table(file);
  part.columns = std::make_shared<const std::vector<uint32_t>>(part.table->column_numbers(keys));
  part.nblocks = nblocks;
  part.range_blocks = sink().segment_shape(nblocks).range_blocks;
  return part;
}

void SegmentSource::check_number(uint32_t part) const {
  if (part != parts_.size() + 1 || parts_.size() >= TB_MAX_PARTS) throw ProtocolError("bad number of a part");
}

SegmentSource::Part SegmentSource::part_of(const SegmentsRequest& request, const ChunkLayouts& layouts) const {
  const ChunkLayout* layout = layouts.find(request.segments.layout);
  const Program& program = layout ? *layout->program : *program_;
  const std::string& params = layout ? *layout->params : *params_;
  std::vector<ColumnKey> keys;
  for (size_t i = 0; i < program_->source_columns(); i++)
    keys.push_back(column_key(program, i, reinterpret_cast<const TbParamBlock*>(params.data())));
  if (rows_sink()) keys.push_back(line_key());
  Part part;
  static_cast<StoredPart&>(part) = stored_part(request.segments.file, keys, request.segments.nblocks);
  part.table->set_retention({.keep = (request.segments.flags & TB_SEGMENTS_KEEP) != 0,
                             .pin = (request.segments.flags & TB_SEGMENTS_PIN) != 0,
                             .pinned = request.pinned});
  part.in_recovery = request.segments.flags & TB_SEGMENTS_RECOVERY;
  part.load = request.segments.flags & TB_SEGMENTS_LOAD;
  // Who loads a table cannot know that first rows will be asked for. Who pins columns says which.
  const bool pins = request.segments.flags & TB_SEGMENTS_PIN;
  if (part.load && !pins && program_->source() == TB_SOURCE_HEAP && !program_->has_tids())
    part.tid_column = part.table->column_numbers({tid_key()})[0];
  part.snapshot = snapshot_;
  if (snapshot_) part.all_visible = std::make_shared<const std::vector<uint8_t>>(request.bits);
  return part;
}

void SegmentSource::run_tasks(std::vector<std::shared_ptr<const SegmentMorsel>> morsels) {
  std::vector<Task> tasks;
  for (auto& morsel : morsels) {
    tasks.push_back({.sequence = kFirstSequence + tasks_++, .input = SegmentsInput{std::move(morsel)}});
  }
  if (!tasks.empty()) sink().run(std::move(tasks));
}

/* Rows that are in no task, since none of them passes, are rows of the input. */
void SegmentSource::note_excluded(const Answer& answer) {
  sink().totals().change([&](TbQueryDone& totals) { totals.rows_in += answer.rows_excluded(); });
}

SegmentSource::Taken SegmentSource::finish(Answer& answer) {
  // The backend asks for all that was taken for ROWS, but for what is excluded.
  if (!rows_sink()) note_excluded(answer);
  return answer.finish();
}

template <class... Zones>
SegmentSource::Excluded SegmentSource::excluded(const Zones&... zones) const {
  if (filter_zones_.excludes(zones...)) return Excluded::kByFilter;
  return join_zones_.excludes(zones...) ? Excluded::kByJoin : Excluded::kNot;
}

bool SegmentSource::excludes(const StoredColumn::Zone* zones) const { return excluded(zones) != Excluded::kNot; }

std::vector<uint8_t> SegmentSource::zone_columns() const {
  std::vector<uint8_t> flags(program_->source_columns());
  filter_zones_.mark_columns(flags);
  join_zones_.mark_columns(flags);
  return flags;
}

/* Segments in another order than the file's are of a new range each time. */
MorselShape SegmentSource::morsel_shape(const Part& part, const Device::SegmentShape& shape) const {
  return {shape.rows, part.nblocks / shape.tasks, order_ ? 0 : shape.range_blocks};
}

/* Of what is taken, what may have rows that pass becomes tasks, now or when the backend asks. */
void SegmentSource::take_some(Part& part, Segments& segments, const Device::SegmentShape& shape, Answer& answer,
                              bool last) {
  std::erase_if(segments, [&](const TakenSegment& some) {
    answer.add(some);
    const Excluded by = excluded(*some.segment, *part.columns);
    if (by != Excluded::kNot) answer.exclude(some, by);
    return by != Excluded::kNot;
  });
  Segments& to = rows_sink() ? part.waiting : part.rest;
  std::move(segments.begin(), segments.end(), std::back_inserter(to));
  if (rows_sink() || (order_ && !last)) return;
  // The earlier the first rows of an order are seen, the more segments can be left out for them.
  if (order_) put_in_order(part.rest, *part.columns, *order_);
  run_tasks(cut_morsels(part.rest, part.columns, morsel_shape(part, shape), last));
}

/* What another query has found goes without a look at each segment. */
void SegmentSource::take_list(Part& part, const std::shared_ptr<const SegmentList>& kept,
                              const Device::SegmentShape& shape, Answer& answer) {
  const SegmentList& list = *kept;
  const MorselShape cut = morsel_shape(part, shape);
  const size_t count = list.segments().size();
  const bool look = excludes(list.common_zones());
  std::vector<size_t> stay;
  answer.add(list);
  part.list = kept;
  if (list.blocks() == part.nblocks && serves_list_ && serves_list_(kept)) return;
  std::vector<Excluded> by(look ? count : 0);
  for (size_t i = 0; i < by.size(); i++) {
    by[i] = excluded(list.zones(i));
    if (by[i] == Excluded::kNot) stay.push_back(i);
  }
  if (!look || stay.size() == count) return run_tasks(order_ ? list.morsels(cut, *order_) : list.morsels(cut));
  if (!order_ && list.rows() <= shape.remembered_rows) return take_remembered(part, by, cut, shape.told_rows, answer);
  Segments others;
  for (const size_t i : stay) others.push_back(list.segments()[i]);
  for (size_t i = 0; i < count; i++)
    if (by[i] != Excluded::kNot) answer.exclude(list.segments()[i], by[i]);
  if (order_) put_in_order(others, *part.columns, *order_);
  if (!others.empty()) run_tasks(cut_morsels(others, part.columns, cut, true));
}

/* A task that the device remembers is run as it is, unless nothing is left of it, or so little that to tell the device
 * of that takes less. */
void SegmentSource::take_remembered(const Part& part, std::span<const Excluded> by, const MorselShape& cut,
                                    uint64_t told_rows, Answer& answer) {
  const SegmentList& list = *part.list;
  const uint64_t rows_of_segment = list.rows() / std::max<size_t>(by.size(), 1);
  std::vector<std::shared_ptr<const SegmentMorsel>> tasks;
  Segments others;
  size_t first = 0;
  for (const auto& morsel : list.morsels(cut)) {
    const auto here = by.subspan(first, morsel->segments.size());
    first += here.size();
    const auto left = static_cast<uint64_t>(std::count(here.begin(), here.end(), Excluded::kNot));
    if (left == here.size() || left * part.columns->size() * told_rows > here.size() * rows_of_segment) {
      tasks.push_back(morsel);
      continue;
    }
    for (size_t i = 0; i < here.size(); i++) {
      if (here[i] == Excluded::kNot)
        others.push_back(morsel->segments[i]);
      else
        answer.exclude(morsel->segments[i], here[i]);
    }
  }
  for (auto& task : cut_morsels(others, part.columns, cut, true)) tasks.push_back(std::move(task));
  run_tasks(std::move(tasks));
}

/* Segment by segment; what has been found is kept for the next query, unless the table changes all the time. */
void SegmentSource::search(Part& part, const SegmentsRequest& request, const Device::SegmentShape& shape,
                           Answer& answer) {
  StoredTable::Found found;
  part.keeps_list = !rows_sink();
  bool all_found = true;
  for (bool more = true; more;) {
    more = part.table->find_some(*part.columns, known_of(request), &part.search, &found);
    for (const Segments* doubtful : {&found.doubtful, &found.fresh})
      for (const TakenSegment& some : *doubtful) answer.add_doubtful(some);
    part.keeps_list = part.keeps_list && part.search.keep && found.doubtful.empty();
    all_found = all_found && found.fresh.empty();
    if (part.keeps_list) part.taken.insert(part.taken.end(), found.good.begin(), found.good.end());
    take_some(part, found.good, shape, answer, !more);
  }
  // The second question adds those that are fresh.
  if (all_found) keep_list(part, request);
}

/* What was taken serves whoever sees the same. */
void SegmentSource::keep_list(Part& part, const SegmentsRequest& request) {
  if (part.keeps_list)
    part.list = part.table->keep_list(part.columns, known_of(request), part.search, std::move(part.taken));
  part.keeps_list = false;
  part.taken.clear();
}

/* What a query with another snapshot has taken, as far as it is what this one would find. */
bool SegmentSource::renew_list(Part& part, const SegmentsRequest& request, const Device::SegmentShape& shape,
                               Answer& answer) {
  part.renewal = part.table->begin_renewal(*part.columns, known_of(request));
  if (!part.renewal) return false;
  if (part.renewal->to_look == 0) {
    take_list(part, part.table->end_renewal(*part.columns, known_of(request), *part.renewal, part.renewal->look), shape,
              answer);
    part.renewal.reset();
    return true;
  }
  // What needs no look is taken for sure.
  part.promised = part.renewal->list->bits();
  part.promised.resize(request.bits.size());
  for (const auto& fresh : part.renewal->list->fresh_blocks()) clear_bit(part.promised, fresh.block);
  for (const auto& [number, found] : part.renewal->again) {
    clear_segment_bits(part.promised, number);
    for (const TakenSegment& good : found.good) set_bits(good, part.promised);
  }
  answer.promise(part.promised);
  answer.add_doubtful(part.renewal->look, part.renewal->to_look);
  return true;
}

/* Of the blocks that a renewal looks at, those that are not what the list has: a bit a block. */
std::vector<uint8_t> SegmentSource::changed_blocks(const StoredTable::Renewal& renewal, const SegmentsRequest& request,
                                                   const PageLsns& pages, WorkerPool& readers) const {
  std::vector<uint8_t> changed = renewal.look;
  // Segments that were found anew.
  for (const auto& [number, found] : renewal.again)
    for (const auto* some : {&found.doubtful, &found.fresh})
      for (TakenSegment taken : *some) {
        BlockMask asked = 0;
        for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
          if ((taken.blocks >> i & 1) && is_asked(request, taken.segment->first_block + i)) asked |= BlockMask{1} << i;
        taken.blocks = asked;
        if (asked == 0) continue;
        const BlockMask same = unchanged_blocks(taken, request, pages);
        for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
          if (same >> i & 1) clear_bit(changed, taken.segment->first_block + i);
      }
  // The list's own. Jobs share no byte: each has blocks of its own segments.
  const auto blocks = renewal.list->fresh_blocks();
  std::vector<size_t> begin{0};
  while (begin.back() < blocks.size()) {
    size_t end = std::min(blocks.size(), begin.back() + kBlocksPerLook);
    while (end < blocks.size() && blocks[end].block / 8 == blocks[end - 1].block / 8) end++;
    begin.push_back(end);
  }
  readers.run_all(begin.size() - 1, [&](uint64_t job) {
    const auto own = blocks.subspan(begin[job], begin[job + 1] - begin[job]);
    auto buffered = std::lower_bound(request.buffered.begin(), request.buffered.end(), own.front().block);
    std::vector<SegmentList::FreshBlock> in_file;
    for (const auto& one : own) {
      if (!has_bit(renewal.look, one.block) || renewal.again.contains(segment_number(one.block)) ||
          !is_asked(request, one.block))
        continue;
      while (buffered != request.buffered.end() && *buffered < one.block) ++buffered;
      if (buffered == request.buffered.end() || *buffered != one.block || TB_MUTANT(dirty_lsn_ignored)) {
        in_file.push_back(one);
        continue;
      }
      const auto place = static_cast<size_t>(buffered - request.buffered.begin());
      if (is_unchanged(request.page_lsn[place], one.page_lsn)) clear_bit(changed, one.block);
    }
    for (size_t first = 0; first < in_file.size(); first += kMostPageLsns) {
      const auto some = std::span(in_file).subspan(first, std::min(kMostPageLsns, in_file.size() - first));
      uint32_t numbers[kMostPageLsns];
      uint64_t lsns[kMostPageLsns];
      for (size_t i = 0; i < some.size(); i++) numbers[i] = some[i].block;
      pages.read({numbers, some.size()}, lsns);
      for (size_t i = 0; i < some.size(); i++)
        if (is_unchanged(lsns[i], some[i].page_lsn)) clear_bit(changed, some[i].block);
    }
  });
  return changed;
}

SegmentSource::Taken SegmentSource::take(const SegmentsRequest& request, const ChunkLayouts& layouts) {
  check_program();
  check_number(request.segments.part);
  if (!layouts.has(request.segments.layout)) throw ProtocolError("SEGMENTS of an unknown layout");

  const Device::SegmentShape shape = sink().segment_shape(request.segments.nblocks);
  Part part = store_.enabled() ? part_of(request, layouts) : Part();
  Answer answer(request, rows_sink());
  if (shape.rows == 0) answer.not_looked();
  if (shape.rows > 0 && part.table) {
    const auto list = rows_sink() ? nullptr : part.table->kept_list(*part.columns, known_of(request));
    if (list)
      take_list(part, list, shape, answer);
    else if (rows_sink() || !renew_list(part, request, shape, answer))
      search(part, request, shape, answer);
    answer.hint(*part.table);
  }
  if (part.keeps_list || part.renewal) part.first_question = request;
  parts_.push_back(std::move(part));
  return finish(answer);
}

/* All blocks are under one LSN that never changes: another state of the file is another file. */
SegmentSource::FileTaken SegmentSource::take_file(const TbFileIdentity& file, const std::vector<ColumnKey>& columns,
                                                  uint32_t nblocks, bool cached) {
  const Device::SegmentShape shape = sink().segment_shape(UINT64_MAX);
  const auto number = static_cast<uint32_t>(parts_.size() + 1);
  check_number(number);
  SegmentsRequest request{};
  request.segments.part = number;
  request.segments.nblocks = request.segments.asked = nblocks;
  request.map_lsn.assign(nblocks / TB_BLOCKS_PER_MAP_PAGE + 1, kFileLsn);
  request.bits.assign((uint64_t{nblocks} + 7) / 8, 0xff);
  if (nblocks % 8 != 0) request.bits.back() = static_cast<uint8_t>((1u << nblocks % 8) - 1);

  Part part;
  if (cached && store_.enabled()) static_cast<StoredPart&>(part) = stored_part(file, columns, nblocks);
  Answer answer(request, false);
  if (part.table && nblocks > 0) {
    const auto list = part.table->kept_list(*part.columns, known_of(request));
    if (list)
      take_list(part, list, shape, answer);
    else
      search(part, request, shape, answer);
  }
  FileTaken taken{part, answer.bits(), answer.rows()};
  note_excluded(answer);
  if (!taken.part.columns) {
    std::vector<uint32_t> numbers(columns.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    taken.part.columns = std::make_shared<const std::vector<uint32_t>>(std::move(numbers));
  }
  parts_.push_back(std::move(part));
  return taken;
}

SegmentSource::Taken SegmentSource::take_unchanged(const SegmentsRequest& request, const RelationFiles& files,
                                                   MappedFiles& mapped, WorkerPool& readers) {
  check_program();
  const uint32_t number = request.segments.part;
  if (number == 0 || number > parts_.size() || !parts_[number - 1].table ||
      parts_[number - 1].nblocks != request.segments.nblocks)
    throw ProtocolError("SEGMENTS again of another part");
  Part& part = parts_[number - 1];
  part.table->note_buffers(request.buffered, request.buffers);
  if (part.renewal) return take_renewed(part, request, PageLsns(files, mapped, part.nblocks), readers);
  // Whoever looks at the same pages now confirms them for this query as well.
  std::unique_lock look = part.table->look_alone();
  StoredTable::Found found = part.table->find(*part.columns, known_of(request));
  const size_t ndoubtful = found.doubtful.size();
  Segments looked_at = std::move(found.doubtful);
  std::move(found.fresh.begin(), found.fresh.end(), std::back_inserter(looked_at));
  const PageLsns pages(files, mapped, part.nblocks);
  readers.run_all((looked_at.size() + kSegmentsPerLook - 1) / kSegmentsPerLook, [&](uint64_t job) {
    const size_t end = std::min(looked_at.size(), (job + 1) * kSegmentsPerLook);
    for (size_t i = job * kSegmentsPerLook; i < end; i++) {
      TakenSegment& some = looked_at[i];
      some.blocks = unchanged_blocks(some, request, pages);
      // The map says nothing of fresh blocks.
      if (some.blocks == 0 || i >= ndoubtful) continue;
      part.table->confirm(some, request.map_lsn[some.segment->first_block / TB_BLOCKS_PER_MAP_PAGE]);
    }
  });
  look.unlock();
  for (const TakenSegment& some : looked_at)
    if (some.blocks != 0) found.good.push_back(some);
  if (part.keeps_list) part.taken.insert(part.taken.end(), found.good.begin(), found.good.end());
  keep_list(part, part.first_question);
  Answer answer(request, rows_sink());
  take_some(part, found.good, sink().segment_shape(request.segments.nblocks), answer, true);
  std::stable_sort(part.waiting.begin(), part.waiting.end(), [](const TakenSegment& a, const TakenSegment& b) {
    return a.segment->first_block < b.segment->first_block;
  });
  return finish(answer);
}

SegmentSource::Taken SegmentSource::take_renewed(Part& part, const SegmentsRequest& request, const PageLsns& pages,
                                                 WorkerPool& readers) {
  const StoredTable::Renewal& renewal = *part.renewal;
  const std::vector<uint8_t> changed = changed_blocks(renewal, request, pages, readers);
  // Whoever comes later finds good what VACUUM has been at, and the page is what it was.
  for (const auto& [number, found] : renewal.again)
    for (TakenSegment some : found.doubtful) {
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
        if (has_bit(changed, some.segment->first_block + i)) some.blocks &= ~(BlockMask{1} << i);
      if (some.blocks != 0)
        part.table->confirm(some, request.map_lsn[some.segment->first_block / TB_BLOCKS_PER_MAP_PAGE]);
    }
  const auto list = part.table->end_renewal(*part.columns, known_of(part.first_question), renewal, changed);
  Answer answer(request, rows_sink());
  take_list(part, list, sink().segment_shape(request.segments.nblocks), answer);
  answer.leave_out(part.promised);
  part.renewal.reset();
  return finish(answer);
}

/* One version of a segment may have been taken for some blocks and a newer one for others; no
 * block comes twice. */
void SegmentSource::check(const ChunkRequest& chunk, const SlotShape& shape) const {
  if (!rows_sink()) throw ProtocolError("chunk of segments for a program that takes them at once");
  if (chunk.part == 0 || chunk.part > parts_.size()) throw ProtocolError("chunk of an unknown part");
  if (chunk.runs.size() != 1 || chunk.npages > shape.pages) throw ProtocolError("chunk of segments without its run");
  const TbRun& run = chunk.runs[0];
  if (run.page != 0 || run.count == 0 || run.count != chunk.npages || uint64_t{run.block} + run.count > UINT32_MAX)
    throw ProtocolError("run leaves its chunk");
  const auto morsel = morsel_of(chunk);
  if (count_blocks(morsel->segments) != run.count) throw ProtocolError("chunk of segments that were not taken");
}

std::shared_ptr<const SegmentMorsel> SegmentSource::morsel_of(const ChunkRequest& chunk) const {
  const Part& part = parts_[chunk.part - 1];
  const uint32_t begin = chunk.runs[0].block, end = begin + chunk.runs[0].count;
  auto morsel = std::make_shared<SegmentMorsel>();
  morsel->columns = part.columns;
  morsel->first_block = begin;
  auto next = std::lower_bound(part.waiting.begin(), part.waiting.end(), begin,
                               [](const TakenSegment& taken, uint32_t b) {
                                 return uint64_t{taken.segment->first_block} + TB_SEGMENT_BLOCKS <= b;
                               });
  for (; next != part.waiting.end() && next->segment->first_block < end; ++next) {
    const uint32_t first = next->segment->first_block;
    BlockMask blocks = next->blocks;
    if (begin > first) blocks &= ~BlockMask{0} << (begin - first);
    if (end - first < TB_SEGMENT_BLOCKS) blocks &= (BlockMask{1} << (end - first)) - 1;
    if (blocks != 0) morsel->segments.push_back({next->segment, blocks});
  }
  return morsel;
}

std::shared_ptr<SegmentFill> SegmentSource::fill_of(const ChunkRequest& chunk) const {
  if (chunk.part == 0) return nullptr;
  if (chunk.part > parts_.size()) throw ProtocolError("chunk of an unknown part");
  const StoredPart& part = parts_[chunk.part - 1];
  if (!part.table || (chunk.runs.empty() && chunk.copied.empty())) return nullptr;
  return std::make_shared<SegmentFill>(store_, program_, part, chunk.runs, chunk.copied, chunk.map_lsn);
}

}  // namespace turbine
