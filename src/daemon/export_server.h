/*
 * export_server.h - the export socket, at which other processes turn tokens into descriptors
 * (include/turbine/export.h).
 *
 * Anybody may connect (mode 0666): the token alone is the right. One thread serves all of them and waits for none. A
 * connection whose token was good stays open for as long as its importer uses the memory.
 */
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "engine/code/unique_fd.h"
#include "engine/exports/exports.h"

namespace turbine {

class ExportServer {
 public:
  /* Binds the socket and starts the thread. A socket that an ended server left there is replaced. Throws
   * std::runtime_error. */
  ExportServer(Exports& exports, std::string path);
  ~ExportServer();
  ExportServer(const ExportServer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;

  struct Importer {
    UniqueFd socket;
    uint32_t uid = 0;
    Clock::time_point deadline;  // to have asked and been answered
    TbImportRequest request{};
    size_t received = 0;
    std::string answer;          // what is still to be sent: reply and JSON, then a byte a group of descriptors
    size_t sent = 0, head = 0;   // of the answer; where its descriptors' bytes begin
    std::vector<int> descriptors;
    std::unique_ptr<Import> import;  // granted
    bool answered = false;
  };

  /* Failed attempts of a user in the second that began then. */
  struct Failures {
    Clock::time_point since;
    uint32_t count = 0;
  };

  void run() noexcept;
  void serve();
  void accept_all();
  bool attend(Importer& importer, short events);
  bool receive(Importer& importer);
  void answer(Importer& importer);
  void fill_answer(Importer& importer, uint32_t status, const std::string& json);
  bool send_answer(Importer& importer);
  bool too_many_failures(uint32_t uid);
  void note_failure(uint32_t uid);

  Exports& exports_;
  const std::string path_;
  UniqueFd listener_, stop_;
  ino_t inode_ = 0;  // of the socket's file
  std::list<Importer> importers_;
  std::map<uint32_t, Failures> failures_;  // by user
  std::thread thread_;
};

}  // namespace turbine
