/*
 * chunk_layouts.cc - the physical layouts that a query's chunks have.
 *
 * Owns the code and parameters of each. Called by the heap source on the session's
 * thread. Generated code trusts a layout, so none is kept that was not checked.
 */
#include "engine/source/heap/chunk_layouts.h"

#include "engine/wire/protocol_error.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

bool same_form(const TbColumn& a, const TbColumn& b) {
  return a.type == b.type && a.scale == b.scale && a.flags == b.flags && a.digits == b.digits;
}

/* The query's pipeline reads what the layout's code decodes without a check. */
void check_layout(const Program& query, const Program& layout) {
  if (query.source() != TB_SOURCE_HEAP || query.sink() == TB_SINK_ROWS)
    throw ProtocolError("LAYOUT for a query that has one");
  const bool decodes_only = layout.source() == TB_SOURCE_HEAP && layout.sink() == TB_SINK_AGGREGATE &&
                            layout.exprs().empty() && layout.keys().empty() && layout.aggs().empty() &&
                            layout.joins().empty();
  if (!decodes_only) throw ProtocolError("LAYOUT: more than decoding");
  if (layout.columns().size() != query.source_columns()) throw ProtocolError("LAYOUT: other columns");
  for (size_t i = 0; i < layout.columns().size(); i++)
    if (!same_form(layout.columns()[i], query.columns()[i])) throw ProtocolError("LAYOUT: columns of another form");
}

}  // namespace

void ChunkLayouts::add(const Program& query, const LayoutRequest& request, const LayoutCode& code,
                       const IsCancelled& cancelled) {
  if (layouts_.size() + 1 >= TB_MAX_LAYOUTS) throw ProtocolError("LAYOUT: too many");
  try {
    const auto program = std::make_shared<const Program>(Program::parse(request.program));
    check_layout(query, *program);
    check_params(*program, request.params);
    auto layout = std::make_unique<ChunkLayout>();
    layout->program = program;
    layout->params = std::make_shared<const std::string>(reinterpret_cast<const char*>(request.params.data()),
                                                         request.params.size());
    const CodeCache::Result result = code.cache.get(code.device, *program, cancelled, code.demand);
    if (result.improve) code.compile_ahead.improve(code.device, program);
    layout->code = result.code;
    layouts_.push_back(std::move(layout));
  } catch (const ProgramError& e) {
    throw ProtocolError(e.what());
  }
}

}  // namespace turbine
