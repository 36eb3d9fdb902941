/*
 * numbers_source.cc - the numbers from 1 on as a source: the smallest one that reads parts itself, which tests keep as
 * the proof of what a new source needs. Linked into the service of test/new_input.py alone.
 *
 * Owns nothing: each segment goes with its task. Called as PartSource says.
 */
#include "engine/source/part_kinds.h"
#include "engine/store/segment_merge.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint32_t kBlockRows = 256;
constexpr uint64_t kSegmentRows = uint64_t{kBlockRows} * TB_SEGMENT_BLOCKS;

/* Behind all tasks of other sources. */
constexpr uint64_t kFirstNumbers = uint64_t{1} << 52;

class NumbersSource final : public PartSource {
 public:
  explicit NumbersSource(const Program& program) : program_(program) {}

  void add(std::span<const uint8_t> bytes, int) override {
    TbNumbersPart part;
    if (bytes.size() != sizeof part) throw ProtocolError("PART of numbers without their count");
    memcpy(&part, bytes.data(), sizeof part);
    if (program_.source() == TB_SOURCE_ROWS || program_.source_columns() > 1 || part.count > INT32_MAX ||
        (program_.source_columns() == 1 && program_.columns()[0].type != TB_TYPE_INT4))
      throw ProtocolError("PART of numbers for a program that reads others");
    const Device::SegmentShape shape = sink().segment_shape(UINT64_MAX);
    if (shape.rows == 0) throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not take segments");
    // Tasks of about as many rows as the device wants.
    const uint64_t of_task = std::max<uint64_t>(shape.rows / kSegmentRows, 1) * kSegmentRows;
    for (uint64_t first = 0; first < part.count; first += of_task)
      sink().run({{.sequence = kFirstNumbers + first,
                   .input = SegmentsInput{morsel(first, std::min(first + of_task, part.count))}}});
  }

 private:
  /* Numbers from first + 1 to end. */
  std::shared_ptr<const SegmentMorsel> morsel(uint64_t first, uint64_t end) const {
    auto morsel = std::make_shared<SegmentMorsel>();
    std::vector<uint32_t> numbers;
    if (program_.source_columns() == 1) numbers.push_back(0);
    morsel->columns = std::make_shared<const std::vector<uint32_t>>(std::move(numbers));
    for (; first < end; first += kSegmentRows) {
      const auto segment = segment_of(first, static_cast<uint32_t>(std::min(kSegmentRows, end - first)));
      morsel->segments.push_back({segment, segment->blocks});
    }
    return morsel;
  }

  std::shared_ptr<const Segment> segment_of(uint64_t first, uint32_t nrows) const {
    std::vector<int32_t> values(nrows);
    for (uint32_t i = 0; i < nrows; i++) values[i] = static_cast<int32_t>(first + i + 1);
    DecodedBlocks decoded;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      decoded.blocks |= BlockMask{1} << i;
      decoded.first_row[i] = std::min(i * kBlockRows, nrows);
      decoded.row_count[i] = std::min(kBlockRows, nrows - decoded.first_row[i]);
    }
    decoded.map_lsn = kFileLsn;
    decoded.page_lsn.fill(kFileLsn);
    // The program may say that there are NULLs, which there are not.
    std::vector<uint8_t> valid(nrows, 1);
    if (program_.source_columns() == 1)
      decoded.columns.push_back({0,
                                 TB_TYPE_INT4,
                                 (program_.columns()[0].flags & TB_COL_NULLABLE) != 0,
                                 {values.data(), valid.data(), nullptr}});
    return merge_segment(nullptr, decoded);
  }

  const Program& program_;
};

const bool registered = [] {
  part_kinds()[TB_PART_NUMBERS] = [](const PartNeeds& needs) -> std::unique_ptr<PartSource> {
    return std::make_unique<NumbersSource>(needs.program);
  };
  return true;
}();

}  // namespace
}  // namespace turbine
