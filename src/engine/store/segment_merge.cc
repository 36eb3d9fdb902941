/*
 * segment_merge.cc - see segment_merge.h.
 *
 * Owns nothing. Must never give a block values that were decoded from another state of its
 * page than its rows are counted from.
 */
#include "engine/store/segment_merge.h"

#include <algorithm>
#include <cstring>

#include "engine/store/column_codes.h"
#include "engine/store/column_splice.h"

namespace turbine {
namespace {

ColumnOrigin origin_of(const TbColumnData& data) {
  return {static_cast<const uint8_t*>(data.values), data.valid, data.bytes};
}

class Merge {
 public:
  Merge(const Segment* before, const DecodedBlocks& decoded) : before_(before), decoded_(decoded) {}

  std::shared_ptr<Segment> run() {
    find_replaced();
    if (before_ && nothing_new()) return nullptr;
    lay_out();
    add_columns();
    return std::move(after_);
  }

 private:
  /* `room`: where values are decoded to; lives as long as the origin. */
  ColumnOrigin stored_origin(const StoredColumn& column, std::vector<uint64_t>& room) const {
    const uint32_t words = column.dictionary() ? 2 : column.width() == StoredColumn::kPlain ? 0 : 1;
    room.resize(uint64_t{before_->nrows()} * words);
    return origin_of(decode_column(column, 0, before_->nrows(), room.data()));
  }

  bool had(uint32_t i) const { return before_ && (before_->blocks >> i & 1); }

  /* Blocks that were there already, with another content. */
  void find_replaced() {
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      if ((decoded_.blocks >> i & 1) == 0 || !had(i)) continue;
      if (before_->page_lsn[i] != decoded_.page_lsn[i] || before_->rows_of(i) != decoded_.row_count[i])
        replaced_ |= BlockMask{1} << i;
    }
  }

  /* Another query was first. */
  bool nothing_new() const {
    const BlockMask as_they_are = decoded_.fresh ? before_->fresh : before_->good;
    return (decoded_.fresh || before_->map_lsn == decoded_.map_lsn) && replaced_ == 0 &&
           (decoded_.blocks & ~as_they_are) == 0 &&
           std::all_of(decoded_.columns.begin(), decoded_.columns.end(), [this](const DecodedBlocks::Column& column) {
             const Segment::Column* own = before_->find(column.number);
             return own && (decoded_.blocks & ~own->blocks) == 0;
           });
  }

  void lay_out() {
    after_ = std::make_shared<Segment>();
    after_->first_block = decoded_.first_block;
    after_->blocks = decoded_.blocks | (before_ ? before_->blocks : 0);
    if (decoded_.fresh)
      lay_out_fresh();
    else
      lay_out_good();
    if (before_) after_->page_lsn = before_->page_lsn;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      uint32_t rows = had(i) ? before_->rows_of(i) : 0;
      if (decoded_.blocks >> i & 1) {
        after_->page_lsn[i] = decoded_.page_lsn[i];
        rows = decoded_.row_count[i];
      }
      after_->row_start[i + 1] = after_->row_start[i] + rows;
    }
    same_rows_ = before_ && before_->row_start == after_->row_start;
  }

  void lay_out_good() {
    after_->map_lsn = decoded_.map_lsn;
    after_->good = decoded_.blocks;
    if (!before_) return;
    if (before_->map_lsn == decoded_.map_lsn) after_->good |= before_->good;
    after_->fresh = before_->fresh & ~decoded_.blocks;
    if (after_->fresh != 0) after_->xids = before_->xids;
  }

  /* A block whose page is the same is good still, if it was. */
  void lay_out_fresh() {
    const BlockMask new_blocks = replaced_ | (decoded_.blocks & ~(before_ ? before_->blocks : 0));
    after_->map_lsn = before_ ? before_->map_lsn : 0;
    after_->good = before_ ? before_->good & ~new_blocks : 0;
    after_->fresh = decoded_.blocks | (before_ ? before_->fresh : 0);
    auto xids = std::make_shared<std::array<XidRange, TB_SEGMENT_BLOCKS>>();
    if (before_ && before_->xids) *xids = *before_->xids;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
      if (decoded_.blocks >> i & 1) (*xids)[i] = decoded_.xids[i];
    after_->xids = std::move(xids);
  }

  void add_columns() {
    for (const DecodedBlocks::Column& column : decoded_.columns) add_decoded(column);
    if (before_) {
      for (const Segment::Column& column : before_->columns) {
        const bool again = std::any_of(decoded_.columns.begin(), decoded_.columns.end(),
                                       [&](const auto& other) { return other.number == column.number; });
        if (!again) add_kept(column);
      }
    }
    std::sort(after_->columns.begin(), after_->columns.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
  }

  void add_decoded(const DecodedBlocks::Column& column) {
    if (column.made) {
      after_->columns.emplace_back(column.number, decoded_.blocks, column.made);
      return;
    }
    if (column.dictionary && add_coded_texts(column)) return;
    const Segment::Column* own = before_ ? before_->find(column.number) : nullptr;
    const BlockMask kept = own ? own->blocks & ~decoded_.blocks : 0;
    std::vector<TbTextView> views;
    const ColumnOrigin fresh = column.coded ? decoded_texts(column, views) : origin_of(column.data);
    if (own && !own->data->dictionary() && splice(*own, fresh, decoded_.blocks, kept)) return;
    std::vector<uint64_t> room;
    const ColumnOrigin old = own ? stored_origin(*own->data, room) : ColumnOrigin{};
    add(column.number, column.type, column.nullable, fresh, decoded_.blocks, old, kept);
  }

  void add_kept(const Segment::Column& column) {
    const BlockMask kept = column.blocks & ~replaced_;
    if (kept == 0) return;
    if (same_rows_) {
      after_->columns.emplace_back(column.number, kept, column.data);
      return;
    }
    if (splice(column, {}, 0, kept)) return;
    // Codes are spliced whatever they are.
    std::vector<uint64_t> room;
    add(column.number, column.data->type(), column.data->nullable(), {}, 0, stored_origin(*column.data, room), kept);
  }

  /* Of a coded column: views of the dictionary's own bytes. */
  ColumnOrigin decoded_texts(const DecodedBlocks::Column& column, std::vector<TbTextView>& views) const {
    const auto* codes = static_cast<const int32_t*>(column.data.values);
    for (uint32_t i = 0; i < decoded_.rows(); i++) views.push_back(column.dictionary->views()[codes[i]]);
    return {reinterpret_cast<const uint8_t*>(views.data()), column.data.valid, column.dictionary->bytes()};
  }

  /* Returns false if some text has no number. */
  bool add_coded_texts(const DecodedBlocks::Column& column) {
    const Segment::Column* own = before_ ? before_->find(column.number) : nullptr;
    const BlockMask kept = own ? own->blocks & ~decoded_.blocks : 0;
    ColumnOrigin fresh = origin_of(column.data);
    std::vector<int32_t> fresh_codes, old_codes;
    if (!column.coded) {
      fresh_codes.resize(decoded_.rows());
      for (const ColumnPiece& piece : pieces_of(&fresh, decoded_.blocks, nullptr, 0))
        if (!column.dictionary->encode(piece, fresh_codes.data())) return false;
      fresh = {reinterpret_cast<const uint8_t*>(fresh_codes.data()), fresh.valid, nullptr};
    }
    ColumnOrigin old;
    if (kept != 0) {
      const StoredColumn& data = *own->data;
      if (data.dictionary() == column.dictionary.get() && data.nullable() == column.nullable &&
          splice(*own, fresh, decoded_.blocks, kept))
        return true;
      old_codes.resize(before_->nrows());
      if (data.dictionary() == column.dictionary.get()) {
        decode_entries(data, 0, before_->nrows(), old_codes.data());
      } else {
        std::vector<uint64_t> room;
        const ColumnOrigin old_texts = stored_origin(data, room);
        for (const ColumnPiece& piece : pieces_of(nullptr, 0, &old_texts, kept))
          if (!column.dictionary->encode(piece, old_codes.data())) return false;
      }
      old = {reinterpret_cast<const uint8_t*>(old_codes.data()), data.valid(), nullptr};
    }
    after_->columns.emplace_back(column.number, decoded_.blocks | kept,
                                 encode_texts(column.dictionary, column.nullable, after_->nrows(),
                                              pieces_of(&fresh, decoded_.blocks, &old, kept)));
    return true;
  }

  /* Returns false if the column has to be encoded anew. */
  bool splice(const Segment::Column& column, const ColumnOrigin& fresh, BlockMask fresh_blocks, BlockMask kept) {
    auto spliced = splice_column(*column.data, after_->nrows(), pieces_of(&fresh, fresh_blocks, nullptr, kept));
    if (!spliced) return false;
    after_->columns.emplace_back(column.number, fresh_blocks | kept, std::move(spliced));
    return true;
  }

  void add(uint32_t number, uint32_t type, bool nullable, const ColumnOrigin& fresh, BlockMask fresh_blocks,
           const ColumnOrigin& old, BlockMask old_blocks) {
    const std::vector<ColumnPiece> pieces = pieces_of(&fresh, fresh_blocks, &old, old_blocks);
    after_->columns.emplace_back(number, fresh_blocks | old_blocks,
                                 tb_type_is_text(type) ? copy_texts(type, nullable, pieces)
                                                       : encode_column(type, nullable, after_->nrows(), pieces));
  }

  /* Rows that lie together, and will, are one piece. */
  std::vector<ColumnPiece> pieces_of(const ColumnOrigin* fresh, BlockMask fresh_blocks, const ColumnOrigin* old,
                                     BlockMask old_blocks) const {
    std::vector<ColumnPiece> pieces;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      ColumnPiece piece{fresh, decoded_.first_row[i], after_->rows_of(i), after_->row_start[i]};
      if ((fresh_blocks >> i & 1) == 0) {
        if ((old_blocks >> i & 1) == 0) continue;
        piece.origin = old;
        piece.from = before_->row_start[i];
      }
      if (piece.count == 0) continue;
      ColumnPiece* last = pieces.empty() ? nullptr : &pieces.back();
      if (last && last->origin == piece.origin && last->from + last->count == piece.from &&
          last->to + last->count == piece.to)
        last->count += piece.count;
      else
        pieces.push_back(piece);
    }
    return pieces;
  }

  static bool is_value(const ColumnPiece& piece, uint32_t i) {
    return !piece.origin->valid || piece.origin->valid[piece.from + i];
  }

  static const TbTextView& view(const ColumnPiece& piece, uint32_t i) {
    return reinterpret_cast<const TbTextView*>(piece.origin->values)[piece.from + i];
  }

  static uint64_t text_size(const std::vector<ColumnPiece>& pieces) {
    uint64_t size = 0;
    for (const ColumnPiece& piece : pieces)
      for (uint32_t i = 0; i < piece.count; i++)
        if (is_value(piece, i)) size += view(piece, i).length;
    return size;
  }

  /* Texts one after the other, and views of them. */
  std::shared_ptr<const StoredColumn> copy_texts(uint32_t type, bool nullable,
                                                 const std::vector<ColumnPiece>& pieces) const {
    auto column = std::make_shared<StoredColumn>(StoredColumn::Shape{type, nullable, have_nulls(pieces)},
                                                 after_->nrows(), text_size(pieces));
    uint32_t end = 0;
    for (const ColumnPiece& piece : pieces) {
      auto* stored = static_cast<TbTextView*>(column->values()) + piece.to;
      for (uint32_t i = 0; i < piece.count; i++) {
        stored[i] = {};
        if (!is_value(piece, i)) continue;
        stored[i] = view(piece, i);
        stored[i].offset = end;
        memcpy(column->text() + end, piece.origin->text + view(piece, i).offset, stored[i].length);
        end += stored[i].length;
      }
    }
    copy_valid(pieces, *column);
    return column;
  }

  const Segment* const before_;
  const DecodedBlocks& decoded_;
  BlockMask replaced_ = 0;
  bool same_rows_ = false;
  std::shared_ptr<Segment> after_;
};

}  // namespace

std::shared_ptr<Segment> merge_segment(const Segment* before, const DecodedBlocks& decoded) {
  return Merge(before, decoded).run();
}

}  // namespace turbine
