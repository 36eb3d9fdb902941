/*
 * chain_cache.h - rows of equal keys that one thread meets are chained here,
 * before the table that all threads fill is touched.
 *
 * A key that a million rows share would otherwise make every thread fight for
 * one word; and between a row's arrival and its turn the cache line of its bucket
 * has time to come.
 */
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace turbine {

/* Filler: where chains end up.
 *   bool same(uint32_t a, uint32_t b)    are the keys of rows a and b equal,
 *                                        given that their hashes are
 *   void prefetch(uint64_t hash)
 *   std::optional<uint32_t> publish(uint64_t hash, uint32_t first)
 *                                        makes the chain from `first` (row + 1)
 *                                        known; where there are equal keys
 *                                        already, returns what its last row goes
 *                                        on with (row + 1, or 0)
 */
template <class Filler>
class ChainCache {
 public:
  ChainCache(Filler& filler, uint32_t* next) : filler_(filler), next_(next) {}

  void add(uint64_t hash, uint32_t row) {
    Chain& chain = chains_[hash % kChains];
    if (chain.first != 0 && chain.hash == hash && filler_.same(chain.first - 1, row)) {
      next_[row] = chain.first;
      chain.first = row + 1;
      chained_ = true;
      return;
    }
    publish(chain);
    chain = {hash, row + 1, row + 1};
    filler_.prefetch(hash);
  }

  /* Publishes all; says whether any row has another with equal keys. */
  bool finish() {
    for (Chain& chain : chains_) publish(chain);
    return chained_;
  }

 private:
  static constexpr size_t kChains = 128;
  struct Chain {
    uint64_t hash = 0;
    uint32_t first = 0, last = 0;  // row + 1; 0: empty
  };

  void publish(Chain& chain) {
    if (chain.first == 0) return;
    if (const std::optional<uint32_t> rest = filler_.publish(chain.hash, chain.first)) {
      next_[chain.last - 1] = *rest;
      chained_ = true;
    }
    chain = {};
  }

  Filler& filler_;
  uint32_t* const next_;
  std::array<Chain, kChains> chains_{};
  bool chained_ = false;
};

}  // namespace turbine
