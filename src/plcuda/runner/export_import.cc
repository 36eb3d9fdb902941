/*
 * export_import.cc - see export_import.h. Called by table_copy.cc.
 *
 * The answer is JSON that turbined writes: one reader of the few things that it has is enough. Numbers in it are
 * checked against the files by the caller, who maps them.
 */
#include "plcuda/runner/export_import.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "turbine/export.h"

namespace turbine {
namespace {

constexpr uint32_t kMostJson = 16u << 20;

[[noreturn]] void fail(const std::string& what) { throw TableError("the table's columns cannot be opened: " + what); }

/* Walks over one JSON text. */
class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : place_(text.c_str()) {}

  /* Calls take(name) for each member; it must read or skip the value. */
  template <typename Take>
  void object(Take take) {
    expect('{');
    for (bool first = true; !at('}'); first = false) {
      if (!first) expect(',');
      const std::string name = string();
      expect(':');
      take(name);
    }
    expect('}');
  }
  template <typename Take>
  void array(Take take) {
    expect('[');
    for (bool first = true; !at(']'); first = false) {
      if (!first) expect(',');
      take();
    }
    expect(']');
  }
  std::string string() {
    std::string text;
    expect('"');
    for (; *place_ != '"'; place_++) {
      if (*place_ == '\0') fail("a malformed answer");
      if (*place_ == '\\' && place_[1] != '\0') place_++;
      text += *place_;
    }
    place_++;
    return text;
  }
  uint64_t number() {
    char* end;
    const uint64_t value = strtoull(place_, &end, 10);
    if (end == place_) fail("a malformed answer");
    place_ = end;
    return value;
  }
  ImportedRegion region() {
    ImportedRegion read;
    if (*place_ == 'n') {
      skip();
      return read;
    }
    expect('[');
    read.offset = number();
    expect(',');
    read.bytes = number();
    expect(']');
    return read;
  }
  void skip() {
    if (at('"')) {
      string();
    } else if (at('{')) {
      object([this](const std::string&) { skip(); });
    } else if (at('[')) {
      array([this] { skip(); });
    } else {
      while (*place_ != '\0' && *place_ != ',' && *place_ != '}' && *place_ != ']') place_++;
    }
  }

 private:
  bool at(char c) const { return *place_ == c; }
  void expect(char c) {
    if (*place_ != c) fail("a malformed answer");
    place_++;
  }

  const char* place_;
};

ImportedColumn read_column(JsonReader& json) {
  ImportedColumn column;
  json.object([&](const std::string& name) {
    if (name == "fd")
      column.file = json.number();
    else if (name == "allocation_bytes")
      column.allocation = json.number();
    else if (name == "values")
      column.values = json.region();
    else if (name == "validity")
      column.validity = json.region();
    else if (name == "bytes")
      column.bytes = json.region();
    else
      json.skip();
  });
  return column;
}

void read_description(const std::string& text, ImportedExport& to) {
  JsonReader json(text);
  json.object([&](const std::string& name) {
    if (name == "rows") {
      to.rows = json.number();
    } else if (name == "device") {
      json.object([&](const std::string& member) {
        if (member == "kind")
          to.on_device = json.string() == "cuda";
        else if (member == "uuid")
          to.device_uuid = json.string();
        else
          json.skip();
      });
    } else if (name == "columns") {
      json.array([&] { to.columns.push_back(read_column(json)); });
    } else {
      json.skip();
    }
  });
}

int connect_to(const std::string& path) {
  const int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (connection < 0 || path.size() >= sizeof address.sun_path) fail("no socket");
  memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (connect(connection, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    close(connection);
    fail(strerror(error));
  }
  return connection;
}

void receive_exactly(int connection, void* to, size_t size) {
  auto* place = static_cast<char*>(to);
  while (size > 0) {
    const ssize_t n = recv(connection, place, size, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail("the service has closed the connection");
    place += n;
    size -= n;
  }
}

/* TB_IMPORT_FDS of them go with a byte. */
void receive_files(ImportedExport& to, uint32_t count) {
  while (to.files.size() < count) {
    char byte;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * TB_IMPORT_FDS)];
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(to.connection, &message, MSG_CMSG_CLOEXEC);
    if (n < 0 && errno == EINTR) continue;
    const size_t before = to.files.size();
    for (cmsghdr* head = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr; head != nullptr;
         head = CMSG_NXTHDR(&message, head)) {
      if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
      const size_t found = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      const size_t old = to.files.size();
      to.files.resize(old + found);
      memcpy(to.files.data() + old, CMSG_DATA(head), found * sizeof(int));
    }
    if (to.files.size() == before) fail("descriptors are missing");
  }
}

}  // namespace

ImportedExport::~ImportedExport() {
  close_files();
  close_connection();
}

void ImportedExport::close_files() {
  for (const int file : files) close(file);
  files.clear();
}

void ImportedExport::close_connection() {
  if (connection >= 0) close(connection);
  connection = -1;
}

void import_export(const char* token, size_t length, ImportedExport& to) {
  TbTokenHead head;
  if (length < sizeof head) fail("a malformed token");
  memcpy(&head, token, sizeof head);
  const size_t path_length = head.path_length[0] | static_cast<size_t>(head.path_length[1]) << 8;
  if (length != sizeof head + path_length) fail("a malformed token");
  // Ask
  TbImportRequest request{{'P', 'G', 'T', 'I'}, TB_IMPORT_VERSION, {}};
  memcpy(request.secret, head.secret, sizeof request.secret);
  to.connection = connect_to(std::string(token + sizeof head, path_length));
  if (send(to.connection, &request, sizeof request, MSG_NOSIGNAL) != sizeof request) fail(strerror(errno));
  // Read the answer
  TbImportReply reply;
  receive_exactly(to.connection, &reply, sizeof reply);
  if (memcmp(reply.magic, "PGTR", 4) != 0 || reply.json_length > kMostJson) fail("a malformed answer");
  std::string text(reply.json_length, '\0');
  receive_exactly(to.connection, text.data(), text.size());
  if (reply.status != TB_IMPORT_GRANTED) fail(text);
  receive_files(to, reply.nfds);
  read_description(text, to);
  for (const ImportedColumn& column : to.columns)
    if (column.file >= to.files.size()) fail("a malformed answer");
}

}  // namespace turbine
