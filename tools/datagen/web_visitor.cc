/*
 * web_visitor.cc - a visitor's device, browser and place, drawn from its rank.
 *
 * Called by web_log.cc for each row. Everything follows from the seed and from the
 * rank, so it must never keep a state between calls.
 */
#include "web_visitor.h"

#include <cmath>

#include "zipf.h"

namespace turbine::datagen {
namespace {

constexpr uint64_t kVisitorTable = 10, kVisitorIds = 11, kAgentTable = 12;

struct Country {
  std::string_view code;
  size_t language;
  int16_t utc_offset;
};
/* Most frequent first. */
constexpr Country kCountries[] = {
    {"US", 0, -300}, {"DE", 1, 120},  {"GB", 0, 60},   {"RU", 2, 180},  {"FR", 3, 120}, {"ES", 4, 120}, {"JP", 6, 540},
    {"PL", 5, 120},  {"MX", 4, -360}, {"IN", 0, 330},  {"CA", 0, -240}, {"GR", 7, 180}, {"AT", 1, 120}, {"AU", 0, 600},
    {"AR", 4, -180}, {"BE", 3, 120},  {"CH", 1, 120},  {"NL", 0, 120},  {"SE", 0, 120}, {"KZ", 2, 300}, {"IE", 0, 60},
    {"CL", 4, -240}, {"NZ", 0, 720},  {"CO", 4, -300}, {"NO", 0, 120},  {"CY", 7, 180}, {"LU", 3, 120}, {"PE", 4, -300},
    {"ZA", 0, 120},  {"SG", 0, 480},  {"BY", 2, 180},  {"LI", 1, 120}};
constexpr std::string_view kBrands[] = {"Norvik", "Tessel", "Aurio", "Lumenta", "Quarzo", "Pinion", "Hexaline"};
constexpr std::string_view kModels[] = {"One",     "One X",   "Mini",   "Max 4",  "Slim 12", "Note",  "Note Pro",
                                        "Edge 5G", "Classic", "Fold",   "Lite",   "Neo 7",   "Ultra", "Play",
                                        "Tab 10",  "Tab 8",   "View 2", "Pocket", "Air",     "Zoom"};
constexpr std::string_view kProviders[] = {"Ferrocable", "Bluewire", "Metrolink Net", "Télénord",  "Kabelhaus",
                                           "Skybridge",  "Altnet",   "Городсеть",     "OpenFibre", "Campus"};

struct Screen {
  int16_t width, height;
};
constexpr Screen kDesktopScreens[] = {{1920, 1080}, {1366, 768}, {1536, 864},  {2560, 1440}, {1440, 900},
                                      {1280, 720},  {1600, 900}, {3840, 2160}, {1680, 1050}, {1280, 1024}};
constexpr Screen kPhoneScreens[] = {{390, 844}, {360, 800}, {412, 915}, {393, 873}, {414, 896}, {375, 667}, {430, 932}};
constexpr Screen kTabletScreens[] = {{768, 1024}, {810, 1080}, {800, 1280}, {1024, 1366}};

/* The earlier an entry, the more often it comes. */
template <class T, size_t N>
const T& frequent(const T (&values)[N], RowRandom& random) {
  static const Zipf ranks(N, 0.8);
  return values[ranks.draw(random)];
}

void choose_device(Browser& browser, RowRandom& random) {
  int64_t draw = random.between(0, 99);
  browser.device = draw < 46 ? kDesktop : draw < 90 ? kPhone : draw < 97 ? kTablet : kTelevision;
  bool desktop = browser.device == kDesktop || browser.device == kTelevision;
  browser.brand = desktop ? std::string_view{} : frequent(kBrands, random);
  browser.model = desktop ? std::string_view{} : frequent(kModels, random);
  Screen screen = desktop                    ? frequent(kDesktopScreens, random)
                  : browser.device == kPhone ? frequent(kPhoneScreens, random)
                                             : frequent(kTabletScreens, random);
  browser.screen_width = screen.width;
  browser.screen_height = screen.height;
  browser.viewport_width = desktop ? small(screen.width - random.between(0, 40) * 8) : screen.width;
  browser.viewport_height = small(screen.height - random.between(8, 24) * 8);
  browser.pixel_ratio = desktop ? small(100 + 25 * random.between(0, 4)) : small(200 + 50 * random.between(0, 3));
  browser.touch_points = desktop ? 0 : 5;
}

Browser make_browser(RowRandom& random) {
  static const Zipf kinds(24, 1.2), systems(12, 1.1);
  Browser browser;
  choose_device(browser, random);
  browser.kind = small(1 + kinds.draw(random));
  browser.major = small(138 - kinds.draw(random));
  browser.build = static_cast<int32_t>(random.between(0, 40)) * 37;
  browser.os = small(1 + systems.draw(random) + (browser.touch_points ? 20 : 0));
  browser.os_major = small(random.between(8, 18));
  browser.os_minor = small(random.between(0, 6));
  browser.colour_depth = one_in(12, random) ? 30 : 24;
  browser.cores = small(2 << random.between(0, 3));
  browser.memory_gb = one_in(3, random) ? -1 : small(2 << random.between(0, 3));
  browser.dark_mode = one_in(4, random) ? -1 : small(random.between(0, 9) < 3);
  browser.cookies = !one_in(40, random);
  browser.script = !one_in(150, random);
  browser.ad_blocker = random.between(0, 99) < 27;
  uint64_t agent = static_cast<uint64_t>(browser.kind) << 48 | static_cast<uint64_t>(browser.os) << 32 |
                   static_cast<uint64_t>(browser.major) << 16 | static_cast<uint64_t>(browser.os_major);
  browser.agent_hash = static_cast<int64_t>(RowRandom(0, kAgentTable, agent).next());
  return browser;
}

Place make_place(size_t country, RowRandom& random) {
  static const Zipf regions(60, 0.9), cities(40, 0.9), networks(300, 1.1);
  Place place;
  place.country = kCountries[country].code;
  place.utc_offset = kCountries[country].utc_offset;
  place.region = static_cast<int32_t>(country * 100 + 1 + static_cast<size_t>(regions.draw(random)));
  place.city = place.region * 100 + static_cast<int32_t>(cities.draw(random));
  int64_t network = networks.draw(random);
  place.network = static_cast<int32_t>(64'512 + network);
  place.provider = kProviders[static_cast<size_t>(network) % std::size(kProviders)];
  place.ip = (16 + network % 200) << 24 | random.between(0, 0xffffff);
  place.connection = small(random.between(0, 4));
  place.proxy = one_in(25, random);
  place.located = !one_in(5, random);
  place.latitude = std::floor(random.unit() * 120 * 4096) / 4096 - 50;
  place.longitude = std::floor(random.unit() * 360 * 4096) / 4096 - 180;
  return place;
}

}  // namespace

int64_t visitor_id(int64_t rank) {
  return static_cast<int64_t>(RowRandom(0, kVisitorIds, static_cast<uint64_t>(rank)).next() >> 2);
}

Visitor make_visitor(uint64_t seed, int64_t rank) {
  static const Zipf countries(std::size(kCountries), 0.9);
  RowRandom random(seed, kVisitorTable, static_cast<uint64_t>(rank));
  Visitor visitor;
  visitor.rank = rank;
  visitor.id = visitor_id(rank);
  visitor.bot = rank == 0 || one_in(60, random);
  size_t country = static_cast<size_t>(countries.draw(random));
  visitor.language = &languages()[one_in(6, random) ? 0 : kCountries[country].language];
  visitor.browser = make_browser(random);
  visitor.place = make_place(country, random);
  return visitor;
}

}  // namespace turbine::datagen
