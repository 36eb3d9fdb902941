/*
 * decode_program.cc - see decode_program.h.
 *
 * Owns nothing. Called when columns are to be kept that another device computes with.
 */
#include "engine/program/decode_program.h"

#include <cstring>

namespace turbine {
namespace {

constexpr size_t kAlignment = 8;

template <class T>
TbSection append(std::vector<uint8_t>& blob, std::span<const T> items) {
  const TbSection section{static_cast<uint32_t>(items.size()), static_cast<uint32_t>(blob.size())};
  blob.resize((blob.size() + items.size_bytes() + kAlignment - 1) / kAlignment * kAlignment);
  if (!items.empty()) memcpy(blob.data() + section.offset, items.data(), items.size_bytes());
  return section;
}

}  // namespace

std::vector<uint8_t> decode_program(const Program& program) {
  std::vector<uint8_t> blob(sizeof(TbProgram));
  TbProgram header{};
  header.magic = TB_PROGRAM_MAGIC;
  header.version = TB_PROGRAM_VERSION;
  header.sink = TB_SINK_AGGREGATE;
  header.source = static_cast<uint8_t>(program.source());
  header.encoding = program.header().encoding;
  header.attributes = append(blob, program.attributes());
  header.columns = append(blob, program.columns().first(program.source_columns()));
  header.params = append(blob, program.params());
  for (TbSection* empty :
       {&header.exprs, &header.args, &header.filters, &header.keys, &header.aggs, &header.outputs, &header.joins})
    *empty = append(blob, std::span<const uint32_t>());
  header.total_size = static_cast<uint32_t>(blob.size());
  memcpy(blob.data(), &header, sizeof header);
  return blob;
}

}  // namespace turbine
