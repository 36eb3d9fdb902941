/*
 * cuda_code.cc - loads PTX and cubins, and finds their kernels.
 *
 * Owns the loaded modules. Called by cuda_device.cc; launches nothing.
 */
#include "engine/device/cuda/cuda_code.h"

#include <array>
#include <cstring>

namespace turbine::cuda {

namespace {

bool is_cubin(std::span<const uint8_t> artifact) {
  return artifact.size() >= 4 && std::memcmp(artifact.data(), "\177ELF", 4) == 0;
}

/* PTX must end in a NUL, whether or not the artifact has one. */
std::string image_of(std::span<const uint8_t> artifact) {
  std::string image(reinterpret_cast<const char*>(artifact.data()), artifact.size());
  if (!is_cubin(artifact)) {
    const size_t end = image.find('\0');
    if (end != std::string::npos) image.resize(end);
  }
  return image;
}

/* The driver's messages about one JIT run. */
class JitLog {
 public:
  static constexpr unsigned kOptions = 2;
  /* `max_registers` of a thread; 0: as many as the driver's compiler likes. */
  explicit JitLog(unsigned max_registers = 0) : count_(max_registers ? kOptions + 1 : kOptions) {
    values_[kOptions] = reinterpret_cast<void*>(uintptr_t{max_registers});
  }
  unsigned count() const { return count_; }
  int* options() { return options_.data(); }
  void** values() { return values_.data(); }

  /* The first line tells what is wrong; the rest repeats. */
  std::string first_line() const {
    const std::string text(log_.data(), strnlen(log_.data(), log_.size()));
    return text.substr(0, text.find('\n'));
  }

 private:
  std::array<char, 2048> log_{};
  const unsigned count_;
  std::array<int, kOptions + 1> options_{kJitErrorLogBuffer, kJitErrorLogBufferSize, kJitMaxRegisters};
  std::array<void*, kOptions + 1> values_{log_.data(), reinterpret_cast<void*>(log_.size())};
};

void check_jit(const Driver& driver, CallResult call, const JitLog& log) {
  try {
    driver.check(call);
  } catch (const DeviceError& error) {
    const std::string line = log.first_line();
    if (line.empty()) throw;
    throw DeviceError(error.reason, std::string(error.what()) + ": " + line);
  }
}

}  // namespace

Module load_module(const Driver& driver, const char* image, unsigned max_registers) {
  JitLog log(max_registers);
  Module module = nullptr;
  check_jit(driver, driver.module_load_data_ex(&module, image, log.count(), log.options(), log.values()), log);
  return module;
}

CudaCode::CudaCode(std::shared_ptr<CudaContext> context, std::span<const uint8_t> artifact, const Program& program)
    : context_(std::move(context)) {
  const Driver& driver = context_->driver();
  const std::string image = image_of(artifact);
  module_ = load_module(driver, image.c_str(), 0);
  try {
    if (program.source() == TB_SOURCE_HEAP) decode = kernel("tb_decode");
    const bool keeps_rows = program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD;
    if (!program.joins().empty() || keeps_rows) probe = kernel("tb_probe");
    if (program.sink() == TB_SINK_ROWS) {
      rows = kernel("tb_rows");
    } else if (keeps_rows) {
      project = kernel("tb_project");
    } else if (program.grouped()) {
      reserve = kernel("tb_reserve");
      apply = kernel("tb_apply");
    } else {
      if (reserves_memory(program)) reserve = kernel("tb_reserve");
      reduce = kernel("tb_reduce");
    }
  } catch (...) {
    driver.note(driver.module_unload(module_));
    throw;
  }
}

CudaCode::~CudaCode() {
  context_->enter_to_release();
  context_->driver().note(context_->driver().module_unload(module_));
}

Function CudaCode::kernel(const char* name) const {
  Function function = nullptr;
  context_->driver().check(context_->driver().module_get_function(&function, module_, name));
  return function;
}

std::string link_machine_code(const Driver& driver, std::span<const uint8_t> artifact) {
  std::string image = image_of(artifact);
  if (is_cubin(artifact)) return image;

  JitLog log;
  LinkState state = nullptr;
  driver.check(driver.link_create(JitLog::kOptions, log.options(), log.values(), &state));
  try {
    check_jit(driver,
              driver.link_add_data(state, kJitInputPtx, static_cast<void*>(image.data()), image.size() + 1, "program",
                                   0u, static_cast<int*>(nullptr), static_cast<void**>(nullptr)),
              log);
    void* cubin = nullptr;
    size_t size = 0;
    check_jit(driver, driver.link_complete(state, &cubin, &size), log);
    std::string machine_code(static_cast<const char*>(cubin), size);  // the linker owns its copy
    driver.note(driver.link_destroy(state));
    return machine_code;
  } catch (...) {
    driver.note(driver.link_destroy(state));
    throw;
  }
}

}  // namespace turbine::cuda
