/*
 * web_visitor.h - the visitors of the web log: who they are, what they browse
 * with and where they are.
 *
 * A visitor is a function of the seed and its rank, so that all its page views
 * agree. Its id is a function of the rank alone: rank 0, the most active one,
 * has the same id whatever the seed and the scale.
 */
#pragma once

#include <cstdint>
#include <string_view>

#include "random.h"
#include "web_words.h"

namespace turbine::datagen {

enum DeviceKind : int16_t { kDesktop, kPhone, kTablet, kTelevision };

/* What the visitor browses with. */
struct Browser {
  int16_t kind, major, os, os_major, os_minor;
  int32_t build;
  DeviceKind device;
  std::string_view brand, model;  // empty for desktops
  int16_t screen_width, screen_height, viewport_width, viewport_height;
  int16_t pixel_ratio;            // hundredths
  int16_t colour_depth, touch_points, cores;
  int16_t memory_gb, dark_mode;   // negative: not told
  int16_t cookies, script, ad_blocker;
  int64_t agent_hash;
};

/* Where the visitor is. */
struct Place {
  std::string_view country;
  int32_t region, city;
  int16_t utc_offset;             // minutes
  int64_t ip;
  int32_t network;
  std::string_view provider;
  int16_t connection;
  bool proxy, located;
  double latitude, longitude;     // where `located`; multiples of 1/4096
};

struct Visitor {
  int64_t rank, id;
  bool bot;
  const Language* language;
  Browser browser;
  Place place;
};

int64_t visitor_id(int64_t rank);
Visitor make_visitor(uint64_t seed, int64_t rank);

}  // namespace turbine::datagen
