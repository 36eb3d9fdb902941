/*
 * exports.h - the exported copies that there are, and the tokens that open them.
 *
 * A copy belongs to the session that made it and is gone with it, unless it is kept. A token is 32 random bytes; it is
 * good for a user or for one import, until it ends.
 *
 * Thread-safe. What is taken out of it stays valid.
 */
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/execution/result_keeper.h"
#include "engine/exports/exported_copy.h"

namespace turbine {

using ExportId = std::array<uint8_t, TB_EXPORT_ID_BYTES>;
using ExportSecret = std::array<uint8_t, TB_EXPORT_SECRET_BYTES>;

/* The right to open a copy, found by its token. The copy's memory counts as in use until this goes. */
class Import {
 public:
  Import(std::shared_ptr<ExportedCopy> copy, std::vector<uint32_t> columns,
         std::shared_ptr<std::atomic<uint32_t>> importers);
  ~Import();
  Import(const Import&) = delete;

  std::string describe() const { return copy_->describe(columns_); }
  std::vector<int> descriptors() const;

 private:
  const std::shared_ptr<ExportedCopy> copy_;
  const std::vector<uint32_t> columns_;
  const std::shared_ptr<std::atomic<uint32_t>> importers_;  // of the copy
};

class Exports final : public ResultKeeper {
 public:
  using Clock = std::chrono::steady_clock;
  using Devices = std::vector<std::unique_ptr<Device>>;

  Exports(const Devices& devices, Admission& admission);

  /* A session's number. */
  uint64_t begin_session() { return next_session_++; }
  /* Its copies and tokens go, but for what is kept. */
  void end_session(uint64_t session);

  /* Host memory for a copy in the making, in all; what was granted for less of it is in `charges`.
   * Throws DeviceError. */
  void reserve(ExportCharges& charges, uint64_t have, uint64_t bytes);

  /* Columns that a query leaves on a GPU, until create() takes them or TB_LEFT_SECONDS are over. */
  std::vector<uint8_t> keep(DeviceQuery& query, uint32_t device, uint64_t rows, const KeptRowLayout& layout,
                            std::span<const TbColumnLeft> columns) override;

  /* A copy of what the files of the request hold, on the device that it names, or of what a query has left. `pid`: of
   * the backend. Throws DeviceError, ProtocolError. */
  TbExportInfo create(uint64_t session, int pid, ExportRequest request, ExportCharges charges);

  /* Of a copy of the session's own, or a kept one. Nothing if there is none, or has not these columns. */
  std::optional<ExportSecret> make_token(uint64_t session, const TbExportToken& terms,
                                         std::span<const uint32_t> columns);

  /* What the token opens for this user; null if it is not good. */
  std::unique_ptr<Import> redeem(const ExportSecret& secret, uint32_t uid);

  /* How many copies or tokens went: 0 or 1. */
  uint32_t release(uint64_t session, const TbExportRelease& release);

  std::vector<TbExportInfo> list(size_t most);
  /* EXPORT_DESCRIBED, of a copy as for make_token(); empty if there is none. */
  std::vector<uint8_t> describe(uint64_t session, const ExportId& id);

  /* Forgets tokens that have ended, and what queries have left and nobody has taken. */
  void forget_ended();

 private:
  struct Entry {
    std::shared_ptr<ExportedCopy> copy;
    std::shared_ptr<std::atomic<uint32_t>> importers;
    uint64_t session = 0;
    uint32_t tokens = 0;
    bool kept = false;  // whatever becomes of its session
    bool named = false;  // stays without tokens
  };
  struct Token {
    ExportId copy;
    uint64_t session;
    std::vector<uint32_t> columns;
    uint32_t uid, flags;
    std::optional<Clock::time_point> end;
  };
  /* Columns without a copy yet. */
  struct Left {
    uint64_t rows;
    uint32_t device;
    std::vector<uint32_t> formats;
    std::vector<DeviceColumn> columns;
    ExportCharges memory;
    Clock::time_point end;
  };
  using Tokens = std::map<ExportSecret, Token>;
  using Copies = std::map<ExportId, Entry>;
  using AllLeft = std::map<ExportId, Left>;

  /* What was taken out, to be destroyed without the lock: a driver takes its time to free memory. */
  struct Gone {
    std::vector<std::shared_ptr<ExportedCopy>> copies;
    std::vector<Left> left;
  };

  // mutex_ held:
  Entry* find(uint64_t session, const ExportId& id);
  Copies::iterator erase(Copies::iterator copy, Gone& gone);
  Tokens::iterator drop(Tokens::iterator token, Gone& gone);
  void forget_ended_locked(Gone& gone);

  ExportCharge charge(uint32_t device, uint64_t bytes);
  uint32_t choose_device(const ExportRequest& request) const;
  uint32_t place(ExportRequest& request, ExportCharges& charges);
  uint32_t take_left(ExportRequest& request, ExportCharges& charges);
  TbExportInfo info_of(const ExportId& id, const Entry& entry) const;

  const Devices& devices_;
  Admission& admission_;
  std::vector<std::shared_ptr<ExportLedger>> ledgers_;  // by device
  std::atomic<uint64_t> next_session_{1};
  std::mutex mutex_;  // protects what follows
  Copies copies_;
  Tokens tokens_;
  AllLeft left_;
};

}  // namespace turbine
