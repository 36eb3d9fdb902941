/*
 * decoder.h - a program that decodes a writer's columns, compiled for the host and
 * loaded, and pages for it between guard pages; for tests only.
 */
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <map>
#include <vector>

#include "compiler/jit/compile_program.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/heap_page_writer.h"
#include "compiler/testing/loaded_object.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine::testing {

using DecodeFn = void (*)(TbDecodeArgs*);

/* Pages that end where memory ends, and begin where it begins. */
class GuardedPages {
 public:
  explicit GuardedPages(size_t npages) : size_(npages * TB_PAGE_SIZE) {
    base_ = static_cast<uint8_t*>(mmap(nullptr, size_ + 2 * kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_EQ(mprotect(base_ + kGuard, size_, PROT_READ | PROT_WRITE), 0);
  }
  ~GuardedPages() { munmap(base_, size_ + 2 * kGuard); }
  uint8_t* data() { return base_ + kGuard; }

 private:
  static constexpr size_t kGuard = 4096;
  size_t size_;
  uint8_t* base_;
};

/* The outcome of a decode. */
struct Decoded {
  uint32_t nrows, ndeferred, errors;
  std::vector<uint32_t> rowids, deferred;
  std::vector<std::vector<uint8_t>> values, valid;
};

/* A program that decodes the writer's columns, compiled and loaded. */
class Decoder {
 public:
  explicit Decoder(ProgramWriter& writer, uint16_t sink = TB_SINK_ROWS)
      : program_(Program::parse(writer.blob(sink))),
        object_(compile_program(program_, TB_TARGET_HOST, "", "", testing::effort()).bytes),
        decode_(object_.symbol<DecodeFn>("tb_decode")) {}

  std::string ptx() const { return compile_program(program_, TB_TARGET_PTX, "sm_90", "").bytes.data(); }

  Decoded run(const std::vector<PageWriter>& pages, const std::string& params = "") {
    GuardedPages memory(pages.size());
    for (size_t i = 0; i < pages.size(); i++)
      std::memcpy(memory.data() + i * TB_PAGE_SIZE, const_cast<PageWriter&>(pages[i]).bytes().data(), TB_PAGE_SIZE);
    Decoded out = run(memory.data(), static_cast<uint32_t>(pages.size()), params);
    resolve_texts(out, memory.data());
    return out;
  }

  Decoded run(const uint8_t* pages, uint32_t npages, const std::string& params) {
    Decoded out;
    const uint32_t capacity = npages * TB_MAX_TUPLES_PER_PAGE;
    std::vector<TbColumnData> columns;
    out.values.resize(program_.columns().size());
    out.valid.resize(program_.columns().size());
    for (size_t c = 0; c < out.values.size(); c++) {
      const TbColumn& column = program_.columns()[c];
      out.values[c].assign(capacity * tb_type_width(column.type), 0xcc);
      if (column.flags & TB_COL_NULLABLE) out.valid[c].assign(capacity, 0xcc);
      columns.push_back({out.values[c].data(), out.valid[c].empty() ? nullptr : out.valid[c].data()});
    }
    out.rowids.resize(capacity);
    out.deferred.resize(capacity);
    TbDecodeArgs args = {};
    args.pages = pages;
    args.npages = npages;
    args.capacity = capacity;
    args.columns = columns.data();
    args.rowids = program_.sink() == TB_SINK_ROWS ? out.rowids.data() : nullptr;
    args.deferred = out.deferred.data();
    args.params = reinterpret_cast<const TbParamBlock*>(params.data());
    std::vector<uint32_t> blocks;
    for (uint32_t i = 0; i < npages; i++) blocks.push_back(block_of(i));
    args.blocks = blocks.data();
    decode_(&args);
    out.nrows = args.nrows;
    out.ndeferred = args.ndeferred;
    out.errors = args.errors;
    out.rowids.resize(out.nrows);
    out.deferred.resize(out.ndeferred);
    return out;
  }

  /* That a page is said to have, with gaps. */
  static uint32_t block_of(uint32_t page) { return 4'000'000'000u + page * 3; }

  /* Of the last run. */
  std::string text(size_t column, uint32_t row) const { return texts_.at({column, row}); }
  const Program& program() const { return program_; }

 private:
  /* Views borrow the pages: take their bytes while those exist. */
  void resolve_texts(const Decoded& out, const uint8_t* pages) {
    texts_.clear();
    for (size_t c = 0; c < out.values.size(); c++) {
      if (!tb_type_is_text(program_.columns()[c].type)) continue;
      for (uint32_t row = 0; row < out.nrows; row++) {
        TbTextView view;
        std::memcpy(&view, out.values[c].data() + row * sizeof(view), sizeof(view));
        std::string bytes(reinterpret_cast<const char*>(pages) + view.offset, view.length);
        char prefix[4] = {};
        std::memcpy(prefix, bytes.data(), std::min<size_t>(4, bytes.size()));
        EXPECT_EQ(std::memcmp(prefix, &view.prefix, 4), 0);
        EXPECT_EQ(view.id, 0u);
        texts_[{c, row}] = bytes;
      }
    }
  }

  Program program_;
  LoadedObject object_;
  DecodeFn decode_;
  std::map<std::pair<size_t, uint32_t>, std::string> texts_;
};

TbAttribute attribute(int16_t length, uint8_t align, uint8_t flags = 0) { return {length, align, flags, 0}; }

void add_column(ProgramWriter& writer, uint32_t attnum, uint8_t type, int16_t scale = 0, uint32_t missing = TB_NONE) {
  TbColumn column = {};
  column.attnum = static_cast<uint16_t>(attnum);
  column.type = type;
  column.scale = scale;
  column.missing_param = missing;
  if (!(writer.attributes[attnum - 1].flags & TB_ATT_NOTNULL)) column.flags = TB_COL_NULLABLE;
  writer.columns.push_back(column);
}

template <class T>
T value_at(const Decoded& out, size_t column, uint32_t row) {
  T value;
  std::memcpy(&value, out.values[column].data() + row * sizeof(T), sizeof(T));
  return value;
}

/* ---- random tables ---- */

}  // namespace turbine::testing
