/*
 * compile_ahead.cc - compiles programs that queries will soon want.
 *
 * Owns the queue of hints and its one thread. Called by sessions (PREPARE) and by queries that
 * have begun with quick code. A hint that fails or is dropped must change nothing but time.
 */
#include "engine/code/compile_ahead.h"

#include <algorithm>

#include "engine/limits/process_limits.h"

namespace turbine {
namespace {

/* The threads only wait for compiler processes; those share the processors. */
unsigned ahead_threads() { return std::clamp(usable_processors(), 2u, 16u); }

/* A few large joins' worth; a backend that floods us loses hints, no more. */
constexpr unsigned kMostOutstanding = 64;

}  // namespace

CompileAhead::CompileAhead(CodeCache& code) : code_(code), pool_("compile", ahead_threads()) {}

CompileAhead::~CompileAhead() { stopping_ = true; }

void CompileAhead::post(std::function<void()> work) {
  if (outstanding_.fetch_add(1) >= kMostOutstanding) {
    outstanding_--;
    return;
  }
  pool_.post([this, work = std::move(work)](unsigned) {
    try {
      if (!stopping_) work();
    } catch (const std::exception&) {
      // The QUERY will say so.
    }
    outstanding_--;
  });
}

void CompileAhead::start(Device& device, std::shared_ptr<const Program> program) {
  post([this, &device, program = std::move(program)] { code_.load_ahead(device, *program); });
}

void CompileAhead::improve(Device& device, std::shared_ptr<const Program> program) {
  post([this, &device, program = std::move(program)] { code_.improve(device, *program); });
}

}  // namespace turbine
