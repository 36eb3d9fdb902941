/* exports_test.cc - who may open a copy, until when, and that its memory comes back. */
#include "engine/exports/exports.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr uint64_t kBudget = uint64_t{1} << 30;
constexpr uint32_t kOwner = 10, kUser = 1000, kOther = 1001;

void append(std::vector<uint8_t>& to, const void* from, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

TbExportColumn export_column(uint32_t format) {
  TbExportColumn column{};
  column.format = format;
  column.name_length = 1;
  column.type_length = 4;
  return column;
}

/* EXPORT_CREATE of so many columns. */
std::vector<uint8_t> export_message(uint32_t ncolumns, uint64_t rows, uint32_t flags = 0) {
  TbExportCreate create{};
  create.device = TB_DEVICE_HOST;
  create.flags = flags;
  create.rows = rows;
  create.ncolumns = ncolumns;
  create.owner = kOwner;
  create.source_length = 3;
  std::vector<uint8_t> bytes;
  append(bytes, &create, sizeof create);
  for (uint32_t i = 0; i < ncolumns; i++) {
    const TbExportColumn column = export_column(TB_EXPORT_INT32);
    append(bytes, &column, sizeof column);
  }
  append(bytes, "a\"b", 3);
  for (uint32_t i = 0; i < ncolumns; i++) append(bytes, "xint4", 5);
  return bytes;
}

UniqueFd sealed_file(uint64_t size, int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) {
  UniqueFd file(memfd_create("column", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(file.get(), static_cast<off_t>(size)), 0);
  EXPECT_EQ(fcntl(file.get(), F_ADD_SEALS, seals), 0);
  return file;
}

std::vector<UniqueFd> export_files(uint32_t ncolumns) {
  std::vector<UniqueFd> files;
  while (files.size() < tb_export_files(ncolumns)) files.push_back(sealed_file(tb_export_file_size(ncolumns)));
  return files;
}

class ExportsTest : public ::testing::Test {
 protected:
  TbExportInfo create(uint64_t session, uint32_t flags = 0, uint64_t rows = 100) {
    ExportRequest request = parse_export(export_message(1, rows, flags));
    take_files(request, export_files(1));
    ExportCharges charges;
    exports.reserve(charges, 0, host_bytes(request));
    return exports.create(session, 1, std::move(request), std::move(charges));
  }
  std::optional<ExportSecret> token(uint64_t session, const TbExportInfo& info, uint32_t flags = 0,
                                    uint32_t seconds = 60) {
    TbExportToken terms{};
    memcpy(terms.id, info.id, sizeof terms.id);
    terms.flags = flags;
    terms.uid = kUser;
    terms.lifetime_s = seconds;
    return exports.make_token(session, terms, {});
  }
  uint32_t release(uint64_t session, const TbExportInfo& info, uint32_t owner = kOwner) {
    TbExportRelease release{};
    memcpy(release.key, info.id, sizeof info.id);
    release.owner = owner;
    return exports.release(session, release);
  }
  uint64_t used() { return admission.usage(TB_DEVICE_HOST).used; }

  Exports::Devices devices = Exports::Devices(1);  // the host, which is asked nothing
  Admission admission{{kBudget}};
  Exports exports{devices, admission};
  const uint64_t session = exports.begin_session();
};

TEST_F(ExportsTest, ATokenIsAUsersAsOftenAsWanted) {
  const TbExportInfo info = create(session);
  const auto secret = token(session, info);
  ASSERT_TRUE(secret);
  for (int i = 0; i < 3; i++) EXPECT_NE(exports.redeem(*secret, kUser), nullptr);
  EXPECT_EQ(exports.redeem(*secret, kOther), nullptr);
  ExportSecret wrong = *secret;
  wrong[31] ^= 1;
  EXPECT_EQ(exports.redeem(wrong, kUser), nullptr);
}

TEST_F(ExportsTest, OrGoodOnceForAnybody) {
  const auto secret = token(session, create(session, TB_EXPORT_OF_TOKEN), TB_EXPORT_ONCE);
  {
    const auto import = exports.redeem(*secret, kOther);
    ASSERT_NE(import, nullptr);
    EXPECT_EQ(import->descriptors().size(), 1u);
    EXPECT_EQ(exports.redeem(*secret, kOther), nullptr);
    EXPECT_GT(used(), 0u);  // for as long as it is open
    EXPECT_TRUE(exports.list(10).empty());
  }
  EXPECT_EQ(used(), 0u);
}

TEST_F(ExportsTest, EndsInTime) {
  const auto secret = token(session, create(session, TB_EXPORT_OF_TOKEN), 0, 1);
  EXPECT_NE(exports.redeem(*secret, kUser), nullptr);
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  EXPECT_EQ(exports.redeem(*secret, kUser), nullptr);
  exports.forget_ended();
  EXPECT_EQ(used(), 0u);
}

TEST_F(ExportsTest, EndsWithItsSessionUnlessItIsKept) {
  const TbExportInfo plain = create(session), kept = create(session), of_token = create(session, TB_EXPORT_OF_TOKEN);
  const auto first = token(session, plain), second = token(session, kept, TB_EXPORT_KEEP, 0),
             third = token(session, of_token);
  const auto fourth = token(session, kept);  // not kept itself
  exports.end_session(session);
  EXPECT_EQ(exports.redeem(*first, kUser), nullptr);
  EXPECT_EQ(exports.redeem(*third, kUser), nullptr);
  EXPECT_EQ(exports.redeem(*fourth, kUser), nullptr);
  EXPECT_NE(exports.redeem(*second, kUser), nullptr);
  ASSERT_EQ(exports.list(10).size(), 1u);
  const uint64_t later = exports.begin_session();
  EXPECT_TRUE(token(later, kept));
  EXPECT_FALSE(token(later, plain));
  EXPECT_EQ(release(later, kept), 1u);
  EXPECT_EQ(exports.redeem(*second, kUser), nullptr);
  EXPECT_EQ(used(), 0u);
}

TEST_F(ExportsTest, IsItsOwnersToRelease) {
  const TbExportInfo info = create(session);
  const auto secret = token(session, info);
  EXPECT_EQ(release(session, info, kOwner + 1), 0u);
  EXPECT_EQ(release(session + 1, info), 0u);  // another session's
  TbExportRelease of_token{};
  memcpy(of_token.key, secret->data(), secret->size());
  of_token.flags = TB_EXPORT_RELEASE_TOKEN;
  of_token.owner = kOwner + 1;
  EXPECT_EQ(exports.release(session, of_token), 0u);
  of_token.owner = kOwner;
  EXPECT_EQ(exports.release(session, of_token), 1u);
  EXPECT_EQ(exports.release(session, of_token), 0u);
  EXPECT_EQ(exports.list(10).size(), 1u);  // its name is left
  EXPECT_EQ(release(session, info), 1u);
  EXPECT_EQ(used(), 0u);
}

TEST_F(ExportsTest, TakesHalfOfTheMemory) {
  ExportCharges charges;
  exports.reserve(charges, 0, kBudget / 4);
  exports.reserve(charges, kBudget / 4, kBudget / 2);
  EXPECT_EQ(used(), kBudget / 2);
  EXPECT_THROW(exports.reserve(charges, kBudget / 2, kBudget / 2 + 4096), DeviceError);
  EXPECT_THROW(create(session), DeviceError);
  charges.clear();
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(create(session).rows, 100u);
}

TEST_F(ExportsTest, SaysWhatThereIs) {
  const TbExportInfo info = create(session);
  const auto import = exports.redeem(*token(session, info), kUser);
  EXPECT_EQ(
      import->describe(),
      "{\"version\":1,\"rows\":100,\"source\":\"a\\\"b\",\"revision\":\"\",\"device\":{\"kind\":\"host\"},\"columns\":"
      "[{\"fd\":0,\"name\":\"x\",\"sql_type\":\"int4\",\"format\":\"int32\",\"nulls\":0,\"allocation_bytes\":4096,"
      "\"values\":[0,400],\"validity\":null}]}");
  TbExportToken terms{};
  memcpy(terms.id, info.id, sizeof terms.id);
  const uint32_t beyond = 1;
  EXPECT_FALSE(exports.make_token(session, terms, {&beyond, 1}));
}

TEST(ExportRequestTest, RefusesWhatWouldKillAnImporter) {
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE}) {
    ExportRequest request = parse_export(export_message(1, 1));
    std::vector<UniqueFd> one;
    one.push_back(sealed_file(tb_export_file_size(1), (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE) & ~missing));
    EXPECT_THROW(take_files(request, std::move(one)), ProtocolError);
  }
  ExportRequest request = parse_export(export_message(1, 1));
  std::vector<UniqueFd> small;
  small.push_back(sealed_file(4096));
  EXPECT_THROW(take_files(request, std::move(small)), ProtocolError);
  EXPECT_THROW(take_files(request, {}), ProtocolError);
  ExportRequest wide = parse_export(export_message(450, 1));
  take_files(wide, export_files(450));
  EXPECT_EQ(wide.columns[0].file, wide.columns[400].file);
  EXPECT_EQ(wide.columns[400].values.offset, 2 * TB_EXPORT_COLUMN_SIZE);
}

/* Memory of a device that is a file. */
class FileMemory final : public ExportedMemory {
 public:
  explicit FileMemory(uint64_t size) : size_(size), file_(memfd_create("device", MFD_CLOEXEC)) {}
  uint64_t size() const override { return size_; }
  int descriptor() const override { return file_.get(); }
  void write(uint64_t, const uint8_t*, uint64_t) override {}
  void write_lasting(uint64_t, const uint8_t*, uint64_t) override {}
  void flush() override {}
  void seal() override {}

 private:
  const uint64_t size_;
  const UniqueFd file_;
};

/* A query that has finished, with one column. */
class LeavingQuery final : public DeviceQuery {
 public:
  void submit(const Task&, Done) override {}
  uint64_t finish() override { return 0; }
  ResultBatch fetch(uint64_t, uint64_t) override { return {}; }
  MemoryBudget& host_memory() override { return memory_; }
  DeviceQueryStats stats() const override { return {}; }
  std::vector<DeviceColumn> take_columns(std::span<const TbColumnLeft> columns) override {
    std::vector<DeviceColumn> made;
    for (const TbColumnLeft& column : columns) {
      DeviceColumn& to = made.emplace_back();
      to.regions = device_column_regions(column.format, 100, true);
      to.memory = std::make_unique<FileMemory>(device_pages(place_on_device(to.regions)));
      to.nulls = 7;
    }
    return made;
  }

 private:
  MemoryBudget memory_{kBudget};
};

class LeftColumnsTest : public ExportsTest {
 protected:
  TbResultLeft keep(uint64_t rows = 100) {
    KeptRowLayout layout;
    layout.columns = {{TB_TYPE_INT4, 0, true}};
    const TbColumnLeft column{0, TB_EXPORT_INT32};
    const std::vector<uint8_t> payload = exports.keep(query, TB_DEVICE_HOST, rows, layout, {&column, 1});
    TbResultLeft left;
    memcpy(&left, payload.data(), sizeof left);
    uint64_t nulls;
    EXPECT_EQ(payload.size(), sizeof left + sizeof nulls);
    memcpy(&nulls, payload.data() + sizeof left, sizeof nulls);
    EXPECT_EQ(nulls, 7u);
    return left;
  }
  TbExportInfo create(const TbResultLeft& left, uint64_t nulls = 7, uint64_t rows = 100) {
    ExportRequest request = parse_export(export_message(1, rows, TB_EXPORT_LEFT));
    request.columns[0].shape.nulls = nulls;
    memcpy(request.create.left, left.id, sizeof left.id);
    return exports.create(session, 1, std::move(request), {});
  }
  LeavingQuery query;
};

TEST_F(LeftColumnsTest, BecomeACopyOnce) {
  const TbResultLeft left = keep();
  EXPECT_EQ(left.rows, 100u);
  const uint64_t taken = used();
  EXPECT_EQ(taken, uint64_t{2} << 20);
  const TbExportInfo info = create(left);
  EXPECT_EQ(info.rows, 100u);
  EXPECT_EQ(info.bytes, taken);
  EXPECT_EQ(used(), taken);
  EXPECT_THROW(create(left), DeviceError);
  const auto secret = token(session, info);
  EXPECT_EQ(exports.redeem(*secret, kUser)->descriptors().size(), 1u);
  EXPECT_EQ(release(session, info), 1u);
  EXPECT_EQ(used(), 0u);
}

TEST_F(LeftColumnsTest, AreOnlyWhatTheyAre) {
  EXPECT_THROW(create(keep(), 6), ProtocolError);
  EXPECT_THROW(create(keep(), 7, 99), ProtocolError);
  EXPECT_THROW(create(TbResultLeft{}), DeviceError);
  EXPECT_EQ(used(), 0u) << "what was not taken rightly is gone";
}

TEST_F(LeftColumnsTest, NeedRoom) {
  EXPECT_THROW(keep(kBudget), DeviceError);
  EXPECT_EQ(used(), 0u);
}

TEST(ExportRequestTest, RefusesDamagedMessages) {
  const std::vector<uint8_t> good = export_message(3, 5);
  EXPECT_EQ(parse_export(good).columns.size(), 3u);
  for (size_t length = 0; length < good.size(); length++)
    EXPECT_THROW(parse_export(std::span(good).first(length)), ProtocolError) << length;
  std::vector<uint8_t> longer = good;
  longer.push_back(0);
  EXPECT_THROW(parse_export(longer), ProtocolError);
  EXPECT_THROW(parse_export(export_message(1, UINT64_MAX / 8)), ProtocolError);
  EXPECT_THROW(parse_export(export_message(0, 1)), ProtocolError);
  std::vector<uint8_t> format = good;
  format[sizeof(TbExportCreate)] = 99;
  EXPECT_THROW(parse_export(format), ProtocolError);
}

}  // namespace
}  // namespace turbine
