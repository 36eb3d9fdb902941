/*
 * ssb_dimensions.cc - customer, supplier, part and date of the Star Schema
 * Benchmark: hierarchies region > nation > city, mfgr > category > brand, and
 * the calendar of 1992 to 1998.
 */
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

#include "random.h"
#include "tables.h"

namespace turbine::datagen {
namespace {

constexpr uint64_t kCustomerTable = 3, kSupplierTable = 4, kPartTable = 5;

struct Nation {
  const char *name, *region;
};
constexpr Nation kNations[] = {{"ALGERIA", "AFRICA"},       {"ARGENTINA", "AMERICA"},  {"BRAZIL", "AMERICA"},
                               {"CANADA", "AMERICA"},       {"EGYPT", "MIDDLE EAST"},  {"ETHIOPIA", "AFRICA"},
                               {"FRANCE", "EUROPE"},        {"GERMANY", "EUROPE"},     {"INDIA", "ASIA"},
                               {"INDONESIA", "ASIA"},       {"IRAN", "MIDDLE EAST"},   {"IRAQ", "MIDDLE EAST"},
                               {"JAPAN", "ASIA"},           {"JORDAN", "MIDDLE EAST"}, {"KENYA", "AFRICA"},
                               {"MOROCCO", "AFRICA"},       {"MOZAMBIQUE", "AFRICA"},  {"PERU", "AMERICA"},
                               {"CHINA", "ASIA"},           {"ROMANIA", "EUROPE"},     {"SAUDI ARABIA", "MIDDLE EAST"},
                               {"VIETNAM", "ASIA"},         {"RUSSIA", "EUROPE"},      {"UNITED KINGDOM", "EUROPE"},
                               {"UNITED STATES", "AMERICA"}};
constexpr const char* kSegments[] = {"AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"};
constexpr const char* kColors[] = {"almond",    "antique",    "aquamarine", "azure",     "beige",  "bisque",
                                   "black",     "blanched",   "blue",       "blush",     "brown",  "burlywood",
                                   "burnished", "chartreuse", "chiffon",    "chocolate", "coral",  "cornflower",
                                   "cornsilk",  "cream",      "cyan",       "dark",      "deep",   "dim",
                                   "dodger",    "drab",       "firebrick",  "floral",    "forest", "frosted"};
constexpr const char* kTypeSize[] = {"STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"};
constexpr const char* kTypeFinish[] = {"ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"};
constexpr const char* kTypeMetal[] = {"TIN", "NICKEL", "BRASS", "STEEL", "COPPER"};
constexpr const char* kContainerSize[] = {"SM", "LG", "MED", "JUMBO", "WRAP"};
constexpr const char* kContainerKind[] = {"CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"};

template <size_t N>
const char* pick(const char* const (&values)[N], RowRandom& random) {
  return values[random.between(0, N - 1)];
}

std::string format(const char* pattern, int64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, static_cast<long long>(number));
  return text;
}

/* First nine characters of the nation, blank-padded, and a digit. */
std::string city_of(const Nation& nation, int64_t digit) {
  std::string city = std::string(nation.name).substr(0, 9);
  city.resize(9, ' ');
  return city + static_cast<char>('0' + digit);
}

std::string address(RowRandom& random) {
  static constexpr std::string_view kLetters = "0123456789abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ,.";
  std::string text(static_cast<size_t>(random.between(10, 25)), ' ');
  for (char& c : text) c = kLetters[static_cast<size_t>(random.between(0, kLetters.size() - 1))];
  return text;
}

std::string phone(int64_t nation, RowRandom& random) {
  char text[32];
  std::snprintf(text, sizeof text, "%02d-%03d-%03d-%04d", static_cast<int>(10 + nation),
                static_cast<int>(random.between(100, 999)), static_cast<int>(random.between(100, 999)),
                static_cast<int>(random.between(1000, 9999)));
  return text;
}

/* name, address, city, nation, region, phone: common to customer and supplier. */
void write_party(CopyWriter& out, int64_t key, const char* name_pattern, RowRandom& random) {
  int64_t nation = random.between(0, std::size(kNations) - 1);
  out.int4(static_cast<int32_t>(key));
  out.text(format(name_pattern, key));
  out.text(address(random));
  out.text(city_of(kNations[nation], random.between(0, 9)));
  out.text(kNations[nation].name);
  out.text(kNations[nation].region);
  out.text(phone(nation, random));
}

std::chrono::year_month_day day_of(int32_t n) {
  using namespace std::chrono;
  return year_month_day{sys_days{year{1992} / January / 1} + days{n}};
}

const char* season(unsigned month, unsigned day) {
  if (month == 12 || (month == 11 && day > 20)) return "Christmas";
  if (month >= 6 && month <= 8) return "Summer";
  if (month >= 9) return "Fall";
  if (month >= 3) return "Spring";
  return "Winter";
}

bool is_holiday(unsigned month, unsigned day) {
  static constexpr std::array<std::pair<unsigned, unsigned>, 10> kHolidays = {
      {{1, 1}, {2, 20}, {4, 20}, {5, 20}, {7, 20}, {8, 20}, {9, 20}, {10, 20}, {11, 20}, {12, 24}}};
  return std::find(kHolidays.begin(), kHolidays.end(), std::pair{month, day}) != kHolidays.end();
}

}  // namespace

int32_t date_key(int32_t n) {
  auto date = day_of(n);
  return static_cast<int>(date.year()) * 10000 + static_cast<int>(static_cast<unsigned>(date.month())) * 100 +
         static_cast<int>(static_cast<unsigned>(date.day()));
}

void write_customer(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  for (int64_t row = first; row < first + count; row++) {
    RowRandom random(scale.seed, kCustomerTable, static_cast<uint64_t>(row));
    out.begin_row(8);
    write_party(out, row + 1, "Customer#%09lld", random);
    out.text(pick(kSegments, random));
  }
}

void write_supplier(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  for (int64_t row = first; row < first + count; row++) {
    RowRandom random(scale.seed, kSupplierTable, static_cast<uint64_t>(row));
    out.begin_row(7);
    write_party(out, row + 1, "Supplier#%09lld", random);
  }
}

void write_part(const Scale& scale, int64_t first, int64_t count, CopyWriter& out) {
  for (int64_t row = first; row < first + count; row++) {
    RowRandom random(scale.seed, kPartTable, static_cast<uint64_t>(row));
    const char* color = pick(kColors, random);
    int64_t category = random.between(1, 5) * 10 + random.between(1, 5);
    std::string metal = std::string(pick(kTypeSize, random)) + " " + pick(kTypeFinish, random) + " " +
                        pick(kTypeMetal, random);
    out.begin_row(9);
    out.int4(static_cast<int32_t>(row + 1));
    out.text(std::string(color) + " " + pick(kColors, random));
    out.text(format("MFGR#%lld", category / 10));
    out.text(format("MFGR#%lld", category));
    out.text(format("MFGR#%lld", category) + format("%lld", random.between(1, 40)));
    out.text(color);
    out.text(metal);
    out.int4(static_cast<int32_t>(random.between(1, 50)));
    out.text(std::string(pick(kContainerSize, random)) + " " + pick(kContainerKind, random));
  }
}

void write_date(const Scale&, int64_t first, int64_t count, CopyWriter& out) {
  using namespace std::chrono;
  static constexpr const char* kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                              "Thursday", "Friday", "Saturday"};
  static constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};
  for (int64_t row = first; row < first + count; row++) {
    auto date = day_of(static_cast<int32_t>(row));
    int year = static_cast<int>(date.year());
    unsigned month = static_cast<unsigned>(date.month()), day = static_cast<unsigned>(date.day());
    unsigned weekday_number = weekday{sys_days{date}}.c_encoding();
    int day_of_year = static_cast<int>((sys_days{date} - sys_days{date.year() / January / 1}).count()) + 1;
    bool month_end = date == year_month_day{date.year() / date.month() / last};
    std::string month_name = kMonths[month - 1];
    out.begin_row(17);
    out.int4(date_key(static_cast<int32_t>(row)));
    out.text(month_name + " " + std::to_string(day) + ", " + std::to_string(year));
    out.text(kWeekdays[weekday_number]);
    out.text(month_name);
    out.int4(year);
    out.int4(year * 100 + static_cast<int>(month));
    out.text(month_name.substr(0, 3) + std::to_string(year));
    out.int4(static_cast<int>(weekday_number) + 1);
    out.int4(static_cast<int>(day));
    out.int4(day_of_year);
    out.int4(static_cast<int>(month));
    out.int4((day_of_year - 1) / 7 + 1);
    out.text(season(month, day));
    out.int4(weekday_number == 6);
    out.int4(month_end);
    out.int4(is_holiday(month, day));
    out.int4(weekday_number >= 1 && weekday_number <= 5);
  }
}

}  // namespace turbine::datagen
