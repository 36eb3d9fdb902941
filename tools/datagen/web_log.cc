/*
 * web_log.cc - table page_views: the log of a web analytics product, one row
 * for each page view of many sites in June 2025.
 *
 * Rows come in order of time, within a minute. Visitors, sites, pages and
 * search phrases follow Zipf's law. What belongs to a visitor or to a page is
 * the same in all its rows (web_visitor.h, web_site.h). Floating-point numbers
 * are multiples of 1/4096, so that their sums do not depend on the order.
 *
 * A row is made first and written then: write_* write neighbouring columns, in
 * the order of CREATE TABLE in tools/workload.py.
 */
#include <charconv>
#include <chrono>
#include <cmath>
#include <numbers>
#include <string>

#include "random.h"
#include "tables.h"
#include "web_site.h"
#include "web_visitor.h"
#include "zipf.h"

namespace turbine::datagen {
namespace {

constexpr uint64_t kViewTable = 13, kSessionTable = 14, kCampaignTable = 15, kCookieTable = 16;
constexpr int16_t kColumns = 108;
constexpr int64_t kSecond = 1'000'000;  // timestamps count microseconds since 2000-01-01
constexpr int64_t kDay = 86'400, kDays = 30;
constexpr int64_t kFirstDay = (std::chrono::sys_days{std::chrono::year{2025} / 6 / 1} -
                               std::chrono::sys_days{std::chrono::year{2000} / 1 / 1})
                                  .count();

constexpr std::string_view kEngines[] = {"", "findr", "lookabout", "quester", "suche24", "iskat", "trouve"};
constexpr std::string_view kNetworks[] = {"", "chirper", "facewall", "linkring", "pinboard", "vidtube"};
constexpr std::string_view kSources[] = {"newsletter", "findr", "facewall", "partner", "chirper", "podcast", "qr"};
constexpr std::string_view kMedia[] = {"email", "cpc", "social", "affiliate", "display", "audio", "print"};
constexpr std::string_view kCurrencies[] = {"USD", "EUR", "GBP", "JPY", "PLN"};

enum ReferrerKind : int16_t { kDirect, kSearch, kSocial, kInternal, kExternal, kCampaign };

/* Exponentially distributed whole numbers. */
int32_t waiting(double mean, RowRandom& random) { return static_cast<int32_t>(-mean * std::log(1 - random.unit())); }

struct Frequencies {
  Zipf visitors, sites, pages, phrases, campaigns;
  explicit Frequencies(int64_t rows)
      : visitors(std::max<int64_t>(1'000, rows / 4), 0.95),
        sites(kSites, 1.2),
        pages(kPagesOfSite, 1.1),
        phrases(kPhrases, 0.92),
        campaigns(600, 0.9) {}
};

struct Campaign {
  int32_t id = 0, advertiser = 0;
  std::string source, medium, name, term, content, click;
};

/* What several groups of columns need to know. Texts keep their memory from row to row. */
struct View {
  int64_t row;
  Visitor visitor;
  Site site;
  Page page;
  int64_t second;  // since kFirstDay
  int64_t session, session_second;
  bool entry, bought, failed;
  int16_t engine, network;
  ReferrerKind referred;
  std::string url, title, referrer, phrase, outbound;
  Campaign campaign;
};

/* The busiest moment of a day is noon, where rows lie 4.5 times as close as at midnight. */
int64_t second_of(int64_t row, int64_t rows, RowRandom& random) {
  double even = (static_cast<double>(row) + random.unit()) / static_cast<double>(rows) * kDays * kDay;
  double turn = std::fmod(even, kDay) / kDay * 2 * std::numbers::pi;
  int64_t second = static_cast<int64_t>(even + 8'700 * std::sin(turn)) + random.between(-20, 20);
  return std::clamp<int64_t>(second, 0, kDays * kDay - 1);
}

/* A visitor has at most one session in six hours, which begins in the first of them. */
void choose_session(uint64_t seed, View& view) {
  constexpr int64_t kSlot = 6 * 3600;
  int64_t slot = view.second / kSlot;
  RowRandom random(seed, kSessionTable, static_cast<uint64_t>(view.visitor.id) + static_cast<uint64_t>(slot));
  view.session = static_cast<int64_t>(random.next() >> 2);
  view.session_second = std::min(view.second, slot * kSlot + random.between(0, 3600));
}

void choose_campaign(uint64_t seed, const Frequencies& frequencies, View& view, RowRandom& random) {
  Campaign& campaign = view.campaign;
  campaign = {};
  if (!one_in(16, random)) return;
  int64_t rank = frequencies.campaigns.draw(random);
  RowRandom own(seed, kCampaignTable, static_cast<uint64_t>(rank));
  campaign.id = static_cast<int32_t>(rank + 1);
  campaign.advertiser = static_cast<int32_t>(own.between(1, 90));
  size_t source = static_cast<size_t>(own.between(0, std::size(kSources) - 1));
  campaign.source = kSources[source];
  campaign.medium = kMedia[source];
  campaign.name = address_words()[static_cast<size_t>(own.between(0, 99))];
  campaign.name += "-2025-";
  append_number(static_cast<uint64_t>(rank), campaign.name);
  if (one_in(3, random)) append_phrase(seed, *view.visitor.language, random.between(0, 4'000), campaign.term);
  if (one_in(2, random)) campaign.content = one_in(2, random) ? "banner-top" : "banner-side";
  if (one_in(2, random)) append_hex(random.next(), campaign.click);
}

void choose_url(View& view, RowRandom& random) {
  view.url.clear();
  append_address(view.site, view.page, view.url);
  if (view.campaign.id) {
    view.url += "?utm_source=" + view.campaign.source + "&utm_campaign=" + view.campaign.name;
  } else if (one_in(9, random)) {
    view.url += "?page=";
    append_number(static_cast<uint64_t>(random.between(2, 30)), view.url);
  } else if (one_in(9, random)) {
    view.url += "?sid=";
    append_hex(random.next(), view.url);
    append_hex(random.next(), view.url);
  }
}

void choose_search(uint64_t seed, const Frequencies& frequencies, View& view, RowRandom& random) {
  view.engine = small(1 + std::min(random.between(0, 5), random.between(0, 5)));
  view.referrer += "https://www.";
  view.referrer += kEngines[view.engine];
  view.referrer += ".example/";
  if (one_in(4, random)) return;  // engines that do not tell
  append_phrase(seed, *view.visitor.language, frequencies.phrases.draw(random), view.phrase);
  view.referrer += "results?q=";
  append_escaped(view.phrase, view.referrer);
}

void choose_referrer(uint64_t seed, const Frequencies& frequencies, View& view, RowRandom& random) {
  view.referrer.clear();
  view.phrase.clear();
  view.engine = view.network = 0;
  int64_t draw = random.between(0, 99);
  view.referred = view.campaign.id ? kCampaign
                  : draw < 14      ? kDirect
                  : draw < 32      ? kSearch
                  : draw < 39      ? kSocial
                  : draw < 88      ? kInternal
                                   : kExternal;
  if (view.referred == kSearch) {
    choose_search(seed, frequencies, view, random);
  } else if (view.referred == kSocial) {
    view.network = small(random.between(1, std::size(kNetworks) - 1));
    view.referrer += "https://";
    view.referrer += kNetworks[view.network];
    view.referrer += ".example/p/";
    append_hex(random.next(), view.referrer);
  } else if (view.referred == kInternal || view.referred == kExternal) {
    Site site = view.referred == kInternal ? view.site : make_site(seed, frequencies.sites.draw(random));
    append_address(site, make_page(seed, site, frequencies.pages.draw(random)), view.referrer);
  }
}

void choose_outbound(uint64_t seed, View& view, RowRandom& random) {
  view.outbound.clear();
  if (!one_in(20, random)) return;
  view.outbound += "https://";
  append_host(make_site(seed, random.between(0, kSites - 1)), view.outbound);
  view.outbound += '/';
}

void make_view(uint64_t seed, int64_t row, int64_t rows, const Frequencies& frequencies, View& view,
               RowRandom& random) {
  view.row = row;
  view.visitor = make_visitor(seed, frequencies.visitors.draw(random));
  view.second = second_of(row, rows, random);
  choose_session(seed, view);
  view.site = make_site(seed, frequencies.sites.draw(random));
  view.page = make_page(seed, view.site, frequencies.pages.draw(random));
  choose_campaign(seed, frequencies, view, random);
  choose_url(view, random);
  view.title.clear();
  append_title(view.site, view.page, view.title);
  choose_referrer(seed, frequencies, view, random);
  choose_outbound(seed, view, random);
  view.entry = view.referred != kInternal;
  view.failed = one_in(45, random);
  view.bought = !view.failed && !view.visitor.bot && one_in(70, random);
}

int64_t timestamp(int64_t second) { return (kFirstDay * kDay + second) * kSecond; }

/* Different rows have different ids: multiplying by an odd number is reversible. */
int64_t view_id(int64_t row) {
  return static_cast<int64_t>(static_cast<uint64_t>(row + 1) * 0x9e3779b97f4a7c15u & 0x3fffffffffffffffu);
}

/* 32 hexadecimal digits of the next two numbers. */
void write_token(RowRandom& random, CopyWriter& out) {
  char digits[32];
  uint64_t number = 0;
  for (int i = 0; i < 32; i++, number >>= 4) {
    if (i % 16 == 0) number = random.next();
    digits[i] = "0123456789abcdef"[number & 15];
  }
  out.text({digits, sizeof digits});
}

/* view_id ... request_id */
void write_identity(const View& view, CopyWriter& out, RowRandom& random) {
  const Place& place = view.visitor.place;
  out.int8(view_id(view.row));
  out.int8(view.visitor.id);
  out.int8(view.session);
  out.int4(view.site.account);
  out.int4(view.site.id);
  out.int8(timestamp(view.second));
  out.int4(static_cast<int32_t>(kFirstDay + view.second / kDay));
  out.int8(timestamp(view.second) + random.between(1, 4'000) * 1'000);
  out.int8(timestamp(view.second + place.utc_offset * 60 + random.between(-90, 90)));
  out.int8(timestamp(view.session_second));
  out.int2(place.utc_offset);
  out.int4(1 + static_cast<int32_t>(view.session % 40));
  out.int2(view.entry ? 1 : small(1 + random.between(1, 30)));
  RowRandom cookie(0, kCookieTable, static_cast<uint64_t>(view.visitor.id));
  write_token(cookie, out);
  write_token(random, out);
}

/* url ... outbound_url */
void write_page(const View& view, CopyWriter& out, RowRandom& random) {
  out.text(view.url);
  out.int8(text_hash(view.url));
  out.text(view.title);
  out.text(view.page.section);
  out.int2(view.page.kind);
  out.text(view.site.language->code);
  out.int2(small(std::min<int64_t>(9, view.page.rank % 4 + view.page.rank / 10'000)));
  out.text(one_in(30, random) ? "windows-1252" : "utf-8");
  out.text(view.referrer);
  out.int8(text_hash(view.referrer));
  out.int2(view.referred);
  out.int2(view.engine);
  out.text(view.phrase);
  out.int2(view.network);
  out.text(view.outbound);
}

void write_version(int64_t major, int64_t minor, CopyWriter& out) {
  char text[44];
  char* end = std::to_chars(text, text + 20, major).ptr;
  *end++ = '.';
  end = std::to_chars(end, end + 20, minor).ptr;
  out.text({text, static_cast<size_t>(end - text)});
}

/* browser ... user_agent_hash */
void write_browser(const View& view, CopyWriter& out) {
  const Browser& browser = view.visitor.browser;
  out.int2(browser.kind);
  write_version(browser.major, browser.build, out);
  out.int2(browser.os);
  write_version(browser.os_major, browser.os_minor, out);
  out.int2(browser.device);
  out.text(browser.brand);
  out.text(browser.model);
  out.int2(browser.device == kPhone || browser.device == kTablet);
  out.int2(view.visitor.bot);
  for (int16_t size : {browser.screen_width, browser.screen_height, browser.viewport_width, browser.viewport_height})
    out.int2(size);
  out.numeric(browser.pixel_ratio, 2);
  out.int2(browser.colour_depth);
  out.text(view.visitor.language->code);
  out.int2(browser.touch_points);
  out.int2(browser.cores);
  for (int16_t told : {browser.memory_gb, browser.dark_mode}) told < 0 ? out.null() : out.int2(told);
  out.int2(browser.cookies);
  out.int2(browser.script);
  out.int2(browser.ad_blocker);
  out.int8(browser.agent_hash);
}

/* ip ... longitude */
void write_place(const View& view, CopyWriter& out, RowRandom& random) {
  const Place& place = view.visitor.place;
  int64_t day = one_in(5, random) ? view.second / kDay : 0;  // some addresses change every day
  out.int8((place.ip & ~int64_t{0xffff}) | ((place.ip + day * 7'919) & 0xffff));
  out.int4(place.network);
  out.text(place.provider);
  out.text(place.country);
  out.int4(place.region);
  out.int4(place.city);
  out.int2(place.connection);
  out.int2(place.proxy);
  for (double coordinate : {place.latitude, place.longitude}) place.located ? out.float8(coordinate) : out.null();
}

/* http_status ... script_errors */
void write_timings(const View& view, CopyWriter& out, RowRandom& random) {
  static constexpr int16_t kFailures[] = {404, 404, 404, 410, 403, 500, 502, 503};
  bool cached = one_in(3, random);
  int32_t first_byte = 15 + waiting(120, random), response = first_byte + waiting(60, random);
  int32_t ready = response + 80 + waiting(400, random), load = ready + waiting(700, random);
  int32_t paint = response + waiting(300, random);
  out.int2(view.failed ? kFailures[random.between(0, std::size(kFailures) - 1)] : 200);
  out.int8(400 + waiting(300, random));
  out.int8(view.failed ? 1'200 : 9'000 + waiting(1.5e6, random));
  out.int4(cached ? 0 : waiting(25, random));
  out.int4(cached ? 0 : waiting(40, random));
  out.int4(cached ? 0 : waiting(45, random));
  for (int32_t time : {first_byte, response, ready, load}) out.int4(time);
  bool told = !view.visitor.bot && !one_in(4, random);
  for (int32_t time : {paint, paint + waiting(500, random), waiting(9, random)}) told ? out.int4(time) : out.null();
  told ? out.float8(std::floor(random.unit() * random.unit() * 4096) / 4096) : out.null();
  out.int2(small(1 + waiting(35, random)));
  out.int2(one_in(30, random) ? small(random.between(1, 9)) : 0);
}

/* event_kind ... experiment_arm */
void write_behaviour(const View& view, CopyWriter& out, RowRandom& random) {
  bool refresh = one_in(12, random);
  out.int2(small(one_in(3, random) ? random.between(1, 6) : 0));
  out.int2(view.entry);
  out.int2(one_in(5, random));
  out.int2(refresh);
  out.int2(one_in(120, random));
  out.int2(!view.outbound.empty());
  out.int2(small(waiting(2.2, random)));
  out.int2(small(std::min(100, 5 * waiting(9, random))));
  out.int4(refresh ? 0 : waiting(48, random));
  int32_t experiment = static_cast<int32_t>(view.visitor.id % 12);
  out.int4(experiment);
  out.int2(experiment ? small(view.visitor.id / 12 % 3) : 0);
}

/* advertiser_id ... click_id */
void write_campaign(const View& view, CopyWriter& out, RowRandom& random) {
  const Campaign& campaign = view.campaign;
  out.int4(campaign.advertiser);
  out.int4(campaign.id);
  out.int4(campaign.id ? campaign.id * 10 + static_cast<int32_t>(random.between(0, 9)) : 0);
  campaign.id ? out.numeric(random.between(40, 38'000), 4) : out.null();
  for (const std::string* text :
       {&campaign.source, &campaign.medium, &campaign.name, &campaign.term, &campaign.content, &campaign.click})
    out.text(*text);
}

/* goal_id ... consent */
void write_purchase(const View& view, CopyWriter& out, RowRandom& random) {
  out.int4(view.bought ? static_cast<int32_t>(random.between(1, 400)) : 0);
  if (view.bought) {
    out.int8(700'000'000 + view.row);
    out.numeric(199 + static_cast<int64_t>(waiting(6'500, random)), 2);
    out.int2(small(1 + waiting(1.3, random)));
    one_in(3, random) ? out.numeric(random.between(1, 60) * 50, 2) : out.null();
    out.text(kCurrencies[view.visitor.rank % static_cast<int64_t>(std::size(kCurrencies))]);
  } else {
    out.null();
    out.null();
    out.int2(0);
    out.null();
    out.text("");
  }
  out.int2(small(random.between(0, 3)));
}

}  // namespace

int64_t page_view_units(const Scale& scale) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::llround(scale.factor * 1e6)));
}

void write_page_views(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  int64_t rows = page_view_units(scale);
  Frequencies frequencies(rows);
  View view{};
  for (int64_t row = first; row < first + count; row++) {
    RowRandom random(scale.seed, kViewTable, static_cast<uint64_t>(row));
    make_view(scale.seed, row, rows, frequencies, view, random);
    out.begin_row(kColumns);
    write_identity(view, out, random);
    write_page(view, out, random);
    write_browser(view, out);
    write_place(view, out, random);
    write_timings(view, out, random);
    write_behaviour(view, out, random);
    write_campaign(view, out, random);
    write_purchase(view, out, random);
  }
}

}  // namespace turbine::datagen
