"""parquet_by_hand.py - Parquet files of flat columns, byte by byte, for what no library writes.

Owns: the bytes of a file: Thrift's compact protocol, one plain page for each column of a row group, statistics. Values come
as they are stored, so a file may hold what its types forbid.
Must never: check a value.
Used by: file_values.py.
"""

import os
import struct

INT32, INT64, INT96, BYTE_ARRAY = 1, 2, 3, 6
# Converted types.
UTF8, ENUM, UINT_8, UINT_16, INT_8, INT_16, JSON = 0, 4, 11, 12, 15, 16, 19
_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12
_OPTIONAL = 1
_PLAIN, _RLE = 0, 3
_TYPE_ORDER = b"\x1c\0\0"   # field 1 of the union: a struct of nothing


class Column:
    """`values`: bytes as they are stored, without a length, or None for NULL."""

    def __init__(self, name, physical, values, converted=None, statistics=False):
        self.name, self.physical, self.values = name, physical, values
        self.converted, self.statistics = converted, statistics


def _varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _zigzag(number):
    return _varint(number << 1 if number >= 0 else (-number << 1) - 1)


def _text(text):
    return _varint(len(text)) + text


def _fields(*fields):
    """A struct of (number, type, bytes); None is left out."""
    out, last = b"", 0
    for number, kind, content in fields:
        if content is not None:
            out += bytes([(number - last) << 4 | kind]) + content
            last = number
    return out + b"\0"


def _items(kind, items):
    head = bytes([len(items) << 4 | kind]) if len(items) < 15 else bytes([0xf0 | kind]) + _varint(len(items))
    return head + b"".join(items)


def _page(column, values):
    """Header and page: levels of one bit, then the values that are there."""
    bits = [value is not None for value in values]
    packed = bytes(sum(bit << place for place, bit in enumerate(bits[first:first + 8])) for first in range(0, len(bits), 8))
    levels = _varint(len(packed) << 1 | 1) + packed
    stored = b"".join((struct.pack("<I", len(value)) if column.physical == BYTE_ARRAY else b"") + value
                      for value in values if value is not None)
    body = struct.pack("<I", len(levels)) + levels + stored
    page = _fields((1, _I32, _zigzag(len(values))), (2, _I32, _zigzag(_PLAIN)), (3, _I32, _zigzag(_RLE)), (4, _I32, _zigzag(_RLE)))
    return _fields((1, _I32, _zigzag(0)), (2, _I32, _zigzag(len(body))), (3, _I32, _zigzag(len(body))), (5, _STRUCT, page)) + body


def _statistics(column, values):
    there = [value for value in values if value is not None]
    if not column.statistics or not there:
        return None
    key = (lambda value: int.from_bytes(value, "little", signed=True)) if column.physical in (INT32, INT64) else bytes
    return _fields((5, _BINARY, _text(max(there, key=key))), (6, _BINARY, _text(min(there, key=key))))


def write(file_path, columns, group_rows):
    body, groups, rows = b"PAR1", [], len(columns[0].values)
    for first in range(0, rows, group_rows):
        chunks, start = [], len(body)
        for column in columns:
            values = column.values[first:first + group_rows]
            page, offset = _page(column, values), len(body)
            body += page
            encodings = _items(_I32, [_zigzag(_PLAIN), _zigzag(_RLE)])
            path = _items(_BINARY, [_text(column.name.encode())])
            about = _fields((1, _I32, _zigzag(column.physical)), (2, _LIST, encodings), (3, _LIST, path),
                            (4, _I32, _zigzag(0)), (5, _I64, _zigzag(len(values))), (6, _I64, _zigzag(len(page))),
                            (7, _I64, _zigzag(len(page))), (9, _I64, _zigzag(offset)), (12, _STRUCT, _statistics(column, values)))
            chunks.append(_fields((2, _I64, _zigzag(offset)), (3, _STRUCT, about)))
        groups.append(_fields((1, _LIST, _items(_STRUCT, chunks)), (2, _I64, _zigzag(len(body) - start)),
                              (3, _I64, _zigzag(len(columns[0].values[first:first + group_rows])))))
    schema = [_fields((4, _BINARY, _text(b"root")), (5, _I32, _zigzag(len(columns))))]
    for column in columns:
        converted = None if column.converted is None else _zigzag(column.converted)
        schema.append(_fields((1, _I32, _zigzag(column.physical)), (3, _I32, _zigzag(_OPTIONAL)),
                              (4, _BINARY, _text(column.name.encode())), (6, _I32, converted)))
    foot = _fields((1, _I32, _zigzag(1)), (2, _LIST, _items(_STRUCT, schema)), (3, _I64, _zigzag(rows)),
                   (4, _LIST, _items(_STRUCT, groups)), (7, _LIST, _items(_STRUCT, [_TYPE_ORDER] * len(columns))))
    with open(file_path, "wb") as file:
        file.write(body + foot + struct.pack("<I", len(foot)) + b"PAR1")
    os.chmod(file_path, 0o644)
    return file_path
