#!/usr/bin/env python3
"""rogue_service.py - a turbined that misbehaves on order.

Stands between backends and a real turbined, which it starts: it takes the
service's place (pg_turbine.service_path), hands every message on with its
descriptors, and spoils those that an order names. The order is a file, so that
one server serves all cases:

    {"case": "...", "to": "backend" or "daemon", "message": number, "nth": 0,
     "do": "...", ...}

`case` must change with each order. Whatever is spoiled is written to a file, so
that the test knows that its case took place. Copied to where the server's
account can read it: imports nothing of the repository. Must never: outlive its
parent, the supervisor.
Used by: protocol.py, which describes the orders.
"""

import array
import ctypes
import json
import mmap
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time

HEADER = struct.Struct("<II")
HELLO, STATUS, FILES, QUERY, READY, CHUNK, CHUNK_RELEASE, CHUNK_DONE, RESULT_BATCH, LAYOUT = 1, 3, 5, 6, 7, 9, 11, 12, 14, 20
PAGE = 8192
REAL_SOCKET = "pg_turbine/real.sock"

READY_STRUCT = struct.Struct("<IIQQQQQIIIffIQII")
FIELDS = {
    READY: (READY_STRUCT, ("device", "nslots", "memory_id", "memory_size", "first_slot_offset", "slot_size",
                           "ids_offset", "slot_pages", "has_fd", "code_source", "compile_ms", "queue_ms", "host_because",
                           "lease", "gpus", "reserved")),
    2: (struct.Struct("<IIQ"), ("version", "ndevices", "generation")),
    4: (struct.Struct("<QiIQQQQQQ"), ("generation", "pid", "ndevices", "shared_bytes", "sessions", "open_queries",
                                     "code_compiled", "code_memory_hits", "code_disk_hits")),
    10: (struct.Struct("<II"), ("slot", "outcome")),
    CHUNK_DONE: (struct.Struct("<IIIIQ"), ("slot", "verdict", "nrows", "ndeferred", "rows_in")),
    RESULT_BATCH: (struct.Struct("<IIIIQQ"), ("slot", "nrows", "ncolumns", "reserved", "bytes_offset", "bytes_size")),
    17: (struct.Struct("<6sHI"), ("sqlstate", "verdict", "reason")),
    QUERY: (struct.Struct("<IIQddIIQQ"), ("device", "flags", "nblocks", "estimated_rows", "estimated_groups", "wait_ms",
                                          "program_size", "params_size", "debug_fault")),
    FILES: (struct.Struct("<II"), ("first_file", "count")),
    CHUNK: (struct.Struct("<IIIIQIIQ"), ("slot", "kind", "npages", "nruns", "sequence", "layout", "part", "map_lsn")),
    CHUNK_RELEASE: (struct.Struct("<II"), ("slot", "reserved")),
    LAYOUT: (struct.Struct("<IIQ"), ("program_size", "reserved", "params_size")),
    15: (struct.Struct("<II"), ("slot", "reserved")),
    21: (struct.Struct("<QQ"), ("generation", "lease")),
    22: (struct.Struct("<QQ"), ("memory_id", "memory_size")),
    24: (struct.Struct("<IIIIQQIIIIII"), ("tablespace", "database", "file_number", "reserved", "inode", "birth_ns", "part",
                                         "layout", "nblocks", "nmap_pages", "flags", "reserved2")),
    25: (struct.Struct("<IIQQQQQQQQ"), ("part", "reserved", "blocks", "rows", "excluded", "excluded_rows", "segments",
                                       "excluded_by_filter", "excluded_by_join", "doubtful")),
}


def note(text):
    print(f"rogue service: {text}", file=sys.stderr, flush=True)


class Gone(Exception):
    """The connection is over, or is to be."""


class Order:
    """What to do wrong now. Each connection counts messages for itself."""

    def __init__(self, path):
        self.path, self.log = path, path + ".done"

    def current(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def done(self, order):
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(order["case"] + "\n")


class SlotMemory:
    """The shared memory of a connection, seen through READY."""

    def __init__(self):
        self.memory, self.ready = None, {}

    def take(self, payload, fds):
        form, names = FIELDS[READY]
        self.ready = dict(zip(names, form.unpack(payload), strict=True))
        if fds:
            self.memory = mmap.mmap(fds[0], self.ready["memory_size"])

    def slot(self, number):
        return self.ready["first_slot_offset"] + number * self.ready["slot_size"]


def receive(sock):
    """(type, payload, descriptors) of one message."""
    head, fds = b"", []
    while len(head) < HEADER.size:
        part, ancillary, _, _ = sock.recvmsg(HEADER.size - len(head), socket.CMSG_SPACE(256 * 4))
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(data[:len(data) - len(data) % numbers.itemsize])
                fds += numbers
        if not part:
            raise Gone
        head += part
    kind, length = HEADER.unpack(head)
    payload = bytearray()
    while len(payload) < length:
        part = sock.recv(length - len(payload))
        if not part:
            raise Gone
        payload += part
    return kind, bytes(payload), fds


def send(sock, data, fds=()):
    while data:
        if fds:
            sent = socket.send_fds(sock, [data], list(fds))
            fds = ()
        else:
            sent = sock.send(data)
        data = data[sent:]


def message(kind, payload, length=None):
    return HEADER.pack(kind, len(payload) if length is None else length) + payload


class Relay:
    """One connection of a backend, and the one to the real service behind it."""

    def __init__(self, client, orders):
        self.client, self.orders = client, orders
        self.real = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.real.connect(REAL_SOCKET)
        self.slots = SlotMemory()
        self.order, self.counts = {}, {}
        self.silent = False

    def run(self):
        threads = [threading.Thread(target=self.pump, args=side, daemon=True)
                   for side in ((self.client, self.real, "daemon"), (self.real, self.client, "backend"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.client.close()
        self.real.close()

    def pump(self, source, target, to):
        try:
            while True:
                kind, payload, fds = receive(source)
                try:
                    self.hand_on(target, to, kind, payload, fds)
                finally:
                    for fd in fds:
                        os.close(fd)
        except (Gone, OSError):
            pass
        except Exception as error:  # must be seen, not hidden by a fallback
            note(repr(error))
        for sock in (self.client, self.real):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def hand_on(self, target, to, kind, payload, fds):
        # An order holds for what comes after a HELLO, or the start of a query.
        if to == "daemon" and kind in (HELLO, FILES, QUERY, STATUS):
            order = self.orders.current()
            if order.get("case") != self.order.get("case"):
                self.order, self.counts = order, {}
        if to == "backend" and kind == READY:
            self.slots.take(payload, fds)
        order = self.order
        seed = order.get("seed")
        if seed is not None and order.get("to") in (to, "both"):
            return self.fuzz(target, to, kind, payload, fds, order)
        if order.get("to") == to and order.get("message") == kind and self.meets(kind, payload, order.get("where")):
            nth = self.counts.get(kind, 0)
            self.counts[kind] = nth + 1
            if order.get("nth", 0) in (nth, "all"):
                self.orders.done(order)
                return self.spoil(target, kind, payload, fds, order)
        if not self.silent or to == "daemon":
            send(target, message(kind, payload), fds)

    @staticmethod
    def meets(kind, payload, where):
        """Whether the message's fields have the values that an order asks for."""
        if not where:
            return True
        form, names = FIELDS[kind]
        values = dict(zip(names, form.unpack_from(payload), strict=True))
        return all(values[name] == value for name, value in where.items())

    def spoil(self, target, kind, payload, fds, order):
        do = order["do"]
        getattr(self, "do_" + do)(target, kind, payload, fds, order)

    # What can be done wrong with a message:

    def do_set(self, target, kind, payload, fds, order):
        """Other values of fields."""
        send(target, message(kind, self.with_fields(kind, payload, order["fields"])), fds)

    @staticmethod
    def with_fields(kind, payload, fields):
        form, names = FIELDS[kind]
        values = dict(zip(names, form.unpack_from(payload), strict=True))
        for name, value in fields.items():
            values[name] = bytes(value, "latin-1") if isinstance(value, str) else value
        return form.pack(*values.values()) + payload[form.size:]

    def do_bytes(self, target, kind, payload, fds, order):
        """Other bytes at an offset of the payload."""
        data = bytes.fromhex(order["hex"])
        payload = payload[:order["offset"]] + data + payload[order["offset"] + len(data):]
        send(target, message(kind, payload), fds)

    def do_resize(self, target, kind, payload, fds, order):
        """A shorter or longer payload, with a length to match."""
        by = order["by"]
        send(target, message(kind, payload[:by] if by < 0 else payload + b"\x5a" * by), fds)

    def do_empty(self, target, kind, payload, fds, order):
        send(target, message(kind, b""), fds)

    def do_length(self, target, kind, payload, fds, order):
        """A length in the header that is not the payload's."""
        send(target, message(kind, payload, order["length"]), fds)

    def do_cut(self, target, kind, payload, fds, order):
        """Ends in the middle of the message."""
        data = message(kind, payload)
        send(target, data[:max(1, int(len(data) * order["part"]))], fds)
        raise Gone

    def do_type(self, target, kind, payload, fds, order):
        send(target, message(order["type"], payload), fds)

    def do_twice(self, target, kind, payload, fds, order):
        send(target, message(kind, payload), fds)
        send(target, message(kind, payload))

    def do_before(self, target, kind, payload, fds, order):
        """Another message first."""
        send(target, message(order["type"], bytes(order["size"])))
        send(target, message(kind, payload), fds)

    def do_close(self, target, kind, payload, fds, order):
        raise Gone

    def do_silence(self, target, kind, payload, fds, order):
        """Nothing more comes, but the connection stays open."""
        self.silent = True

    def do_drip(self, target, kind, payload, fds, order):
        """Byte by byte: slow, but right."""
        data = message(kind, payload)
        for i in range(len(data)):
            send(target, data[i:i + 1], fds if i == 0 else ())
            if i < 40:
                time.sleep(0.0005)

    def do_flood(self, target, kind, payload, fds, order):
        """More than anyone should keep in memory."""
        block = message(order["type"], bytes(60000)) * 16
        for _ in range(200):
            send(target, block)

    def do_kill(self, target, kind, payload, fds, order):
        """The service dies here, all of it."""
        os.killpg(0, signal.SIGKILL)

    def do_fds(self, target, kind, payload, fds, order):
        """Descriptors where none belong, or too many."""
        pipe = os.pipe()
        send(target, message(kind, payload), list(fds) + [pipe[0]] * order["count"])
        for fd in pipe:
            os.close(fd)

    def do_memory(self, target, kind, payload, fds, order):
        """READY or ATTACHED with another kind of memory."""
        form, names = FIELDS[kind]
        what, size = order["what"], dict(zip(names, form.unpack(payload), strict=True))["memory_size"]
        fields = {"has_fd": 1} if kind == READY else {}
        if what == "none":
            fd = None
        elif what == "pipe":
            ends = os.pipe()
            os.close(ends[1])
            fd = ends[0]
        elif what == "null":
            fd = os.open("/dev/null", os.O_RDWR)
        elif what == "file":
            fd = os.open("pg_turbine/memory", os.O_RDWR | os.O_CREAT, 0o600)
            os.truncate(fd, size)
        else:
            fd = os.memfd_create("rogue", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
            os.truncate(fd, size - PAGE if what == "short" else size)
            # As <linux/fcntl.h>: F_ADD_SEALS; F_SEAL_SHRINK 2, F_SEAL_WRITE 8.
            import fcntl
            seals = {"unsealed": 0, "short": 2, "read-only": 2 | 8}[what]
            if seals:
                fcntl.fcntl(fd, 1033, seals)
        send(target, message(kind, self.with_fields(kind, payload, fields)), [] if fd is None else [fd])
        if fd is not None:
            os.close(fd)

    def do_ids(self, target, kind, payload, fds, order):
        """Other row ids in the slot of a CHUNK_DONE."""
        slot, _, nrows, ndeferred, _ = FIELDS[CHUNK_DONE][0].unpack(payload)
        at = self.slots.slot(slot) + self.slots.ready["ids_offset"]
        for i in range(nrows + ndeferred):
            struct.pack_into("<I", self.slots.memory, at + 4 * i, order["id"])
        send(target, message(kind, payload), fds)

    def do_scribble(self, target, kind, payload, fds, order):
        """Garbage in the pages of the slot."""
        (slot,) = struct.unpack_from("<I", payload)
        source, base = random.Random(order.get("random", 1)), self.slots.slot(slot)
        for page in range(self.slots.ready["slot_pages"]):
            start = base + page * PAGE
            if order["what"] == "pages":
                self.slots.memory[start:start + PAGE] = source.randbytes(PAGE)
            elif order["what"] == "lines":      # line pointers
                self.slots.memory[start + 24:start + 1000] = source.randbytes(976)
            elif order["what"] == "bounds":     # pd_lower, pd_upper
                self.slots.memory[start + 12:start + 16] = source.randbytes(4)
            else:                               # some bytes of tuples
                for _ in range(60):
                    self.slots.memory[start + source.randrange(1000, PAGE)] = source.randrange(256)
        send(target, message(kind, payload), fds)

    def do_columns(self, target, kind, payload, fds, order):
        """Another number in the header of a TbColumnsChunk: nrows, ncolumns, bytes_offset,
        bytes_size, then values and valid of each column; or in its text views."""
        (slot,) = struct.unpack_from("<I", payload)
        base = self.slots.slot(slot)
        if "view" in order:
            (at,) = struct.unpack_from("<Q", self.slots.memory, base + 24 + 16 * order["column"])
            struct.pack_into("<IIII", self.slots.memory, base + at, *order["view"])
        else:
            struct.pack_into("<I" if order["offset"] < 8 else "<Q", self.slots.memory, base + order["offset"],
                             order["value"])
        send(target, message(kind, payload), fds)

    def do_groups(self, target, kind, payload, fds, order):
        """Other offsets of a column of RESULT_BATCH."""
        at = FIELDS[RESULT_BATCH][0].size + 16 * order["column"] + (8 if order["what"] == "valid" else 0)
        payload = payload[:at] + struct.pack("<Q", order["value"]) + payload[at + 8:]
        send(target, message(kind, payload), fds)

    def do_views(self, target, kind, payload, fds, order):
        """Other text views in the slot of RESULT_BATCH."""
        slot, nrows = struct.unpack_from("<II", payload)
        (values,) = struct.unpack_from("<Q", payload, FIELDS[RESULT_BATCH][0].size + 16 * order["column"])
        at = self.slots.slot(slot) + values + 16 * (nrows - 1)
        struct.pack_into("<IIII", self.slots.memory, at, order["length"], 0, order["buffer"], order["offset"])
        send(target, message(kind, payload), fds)

    def do_files(self, target, kind, payload, fds, order):
        """Something else instead of the relation's files."""
        if order["what"] == "pipe":
            ends = os.pipe()
            os.close(ends[1])
            other = ends[0]
        else:
            other = os.open({"empty": "/dev/null", "folder": "/", "write-only": "/dev/null"}[order["what"]],
                            os.O_WRONLY if order["what"] == "write-only" else os.O_RDONLY)
        send(target, message(kind, payload), [other] * len(fds))
        os.close(other)

    def do_strangers(self, target, kind, payload, fds, order):
        """Connections that are no backend's, while this one goes on."""
        source, opened = random.Random(order.get("random", 1)), []
        greeting = message(HELLO, struct.pack("<II16siI", 0x57505442, 1, source.randbytes(16), 1, 0))
        for _ in range(order["count"]):
            stranger = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            stranger.connect(REAL_SOCKET)
            opened.append(stranger)
            try:
                send(stranger, source.choice((source.randbytes(100), greeting, greeting[:7], message(QUERY, payload),
                                              HEADER.pack(HELLO, 0xffffffff), message(STATUS, b""), b"")))
            except OSError:
                pass
        send(target, message(kind, payload), fds)
        for stranger in opened:
            stranger.close()

    def do_hold(self, target, kind, payload, fds, order):
        time.sleep(order["seconds"])
        send(target, message(kind, payload), fds)

    def do_hold_until(self, target, kind, payload, fds, order):
        """Until there is a file, for as long as anyone may wait."""
        deadline = time.monotonic() + 10
        while not os.path.exists(order["file"]) and time.monotonic() < deadline:
            time.sleep(0.002)
        send(target, message(kind, payload), fds)

    # By chance:

    def fuzz(self, target, to, kind, payload, fds, order):
        """One message in a few is spoiled somehow."""
        if "source" not in order:
            order["source"] = random.Random(order["seed"])
        source = order["source"]
        if kind == HELLO or source.random() > order["rate"]:
            return send(target, message(kind, payload), fds)
        self.orders.done(order)
        choice = source.randrange(8)
        if choice < 4 and payload:              # bits or bytes
            data = bytearray(payload)
            for _ in range(source.choice((1, 1, 2, 8))):
                at = source.randrange(len(data))
                data[at] = source.choice((0, 255, 127, 128, data[at] ^ (1 << source.randrange(8)), source.randrange(256)))
            return send(target, message(kind, bytes(data)), fds)
        if choice == 4:                         # an interesting number
            data = bytearray(payload)
            if len(data) >= 4:
                at = source.randrange(len(data) // 4) * 4
                number = source.choice((0, 1, 63, 64, 65, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffff0, 8191))
                data[at:at + 4] = struct.pack("<I", number)
            return send(target, message(kind, bytes(data)), fds)
        if choice == 5:
            return send(target, message(source.randrange(20), payload), fds)
        if choice == 6:
            cut = source.randrange(len(payload) + 1)
            return send(target, message(kind, payload[:cut]), fds)
        for _ in range(2):
            send(target, message(kind, payload), fds)
            fds = ()
        if source.random() < 0.3:
            raise Gone


def read_nonce(fd):
    nonce = b""
    while len(nonce) < 16:
        part = os.read(fd, 16 - len(nonce))
        if not part:
            break
        nonce += part
    return nonce


def start_real(arguments, nonce):
    """The real turbined, with the same arguments but for the socket."""
    ends = os.pipe()
    os.write(ends[1], nonce)
    os.close(ends[1])
    arguments = list(arguments)
    arguments[arguments.index("--socket") + 1] = REAL_SOCKET
    arguments[arguments.index("--nonce-fd") + 1] = str(ends[0])
    beside = os.path.dirname(os.path.abspath(__file__))
    compiler = os.path.join(beside, "turbine-compiler")
    if os.path.exists(compiler):
        arguments += ["--compiler", compiler]
    process = subprocess.Popen([os.path.join(beside, "turbined"), *arguments, "--no-gpu"], pass_fds=[ends[0]])
    os.close(ends[0])
    with open("pg_turbine/real.pid", "w", encoding="ascii") as file:
        file.write(str(process.pid))
    return process


def wait_until_listening():
    for _ in range(1000):
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
                probe.connect(REAL_SOCKET)
            return
        except OSError:
            time.sleep(0.01)
    raise RuntimeError("turbined does not start")


def main():
    arguments = sys.argv[1:]
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)     # PR_SET_PDEATHSIG
    nonce = read_nonce(int(arguments[arguments.index("--nonce-fd") + 1]))
    path = arguments[arguments.index("--socket") + 1]
    real = start_real(arguments, nonce)
    signal.signal(signal.SIGTERM, lambda *_: (real.terminate(), real.wait(), os._exit(0)))
    wait_until_listening()
    orders = Order(os.path.join(os.path.dirname(os.path.abspath(__file__)), "order"))
    if os.path.exists(path):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    os.umask(0o177)
    listener.bind(path)
    listener.listen(64)
    listener.settimeout(0.2)
    while real.poll() is None:
        try:
            client, _ = listener.accept()
        except TimeoutError:
            continue
        client.settimeout(None)
        try:
            relay = Relay(client, orders)
        except OSError as error:
            note(repr(error))
            client.close()
            continue
        threading.Thread(target=relay.run, daemon=True).start()
    note(f"turbined ended with {real.returncode}")
    os._exit(1)


if __name__ == "__main__":
    main()
