/*
 * main.cc - turbine-compiler's command line.
 *
 *   turbine-compiler --zygote
 *   turbine-compiler --program F --target host|ptx [--cpu C] [--features F]
 *                    [--quick] [--dump-ir] [--output O]
 *
 * The second form compiles one program in this process: for people, tests and
 * the closure check. --dump-ir prints the IR as emitted, and as optimised.
 */
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "compiler/jit/compile_program.h"
#include "compiler/zygote.h"

namespace {

constexpr int kZygoteSocket = 3;

struct Options {
  bool zygote = false;
  bool dump_ir = false;
  TbEffort effort = TB_EFFORT_FULL;
  std::string program, target, cpu, features, output;
};

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: turbine-compiler --zygote\n"
               "       turbine-compiler --program FILE --target host|ptx [--cpu CPU]\n"
               "                        [--features LIST] [--quick] [--dump-ir] [--output FILE]\n");
  std::exit(2);
}

Options parse_options(int argc, char** argv) {
  Options options;
  const struct {
    const char* name;
    std::string* value;
  } valued[] = {{"--program", &options.program},
                {"--target", &options.target},
                {"--cpu", &options.cpu},
                {"--features", &options.features},
                {"--output", &options.output}};
  for (int i = 1; i < argc; i++) {
    const std::string arg = argv[i];
    if (arg == "--zygote") {
      options.zygote = true;
      continue;
    }
    if (arg == "--dump-ir") {
      options.dump_ir = true;
      continue;
    }
    if (arg == "--quick") {
      options.effort = TB_EFFORT_QUICK;
      continue;
    }
    bool known = false;
    for (const auto& option : valued) {
      if (arg != option.name) continue;
      if (i + 1 == argc) usage();
      *option.value = argv[++i];
      known = true;
    }
    if (!known) usage();
  }
  const bool one_program = !options.program.empty() && (options.target == "host" || options.target == "ptx");
  if (options.zygote == one_program) usage();
  return options;
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can not read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("can not write " + path);
}

void compile_file(const Options& options) {
  const turbine::Program program = turbine::Program::parse(read_file(options.program));
  const TbTarget target = options.target == "ptx" ? TB_TARGET_PTX : TB_TARGET_HOST;
  const turbine::CompiledArtifact artifact = turbine::compile_program(program, target, options.cpu, options.features,
                                                                      options.effort, options.dump_ir);
  if (options.dump_ir)
    std::printf("; ---- as emitted\n%s\n; ---- as optimised\n%s", artifact.emitted_ir.c_str(),
                artifact.optimized_ir.c_str());
  if (!options.output.empty()) {
    std::vector<char> bytes = artifact.bytes;
    if (target == TB_TARGET_PTX) bytes.pop_back();  // a text file has no final NUL
    write_file(options.output, bytes);
  }
  std::fprintf(stderr, "%zu bytes: emit %.2f ms, optimise %.2f ms, generate %.2f ms\n", artifact.bytes.size(),
               artifact.emit_ms, artifact.optimize_ms, artifact.codegen_ms);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv);
  if (options.zygote) return turbine::run_zygote(kZygoteSocket);
  try {
    compile_file(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "turbine-compiler: %s\n", error.what());
    return 1;
  }
  return 0;
}
