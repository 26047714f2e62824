"""Java's serialization of a `HashMap<byte[], byte[]>`, the format of the offsets file of Kafka's standalone worker.

Only this class is read: anything else in the file is an error, so that a file cannot make the worker load other
classes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

_STREAM = bytes.fromhex("aced0005")
_OBJECT, _CLASS, _ARRAY, _REFERENCE, _NULL, _BLOCK, _END = 0x73, 0x72, 0x75, 0x71, 0x70, 0x77, 0x78
_MAP_CLASS = b"\x00\x11java.util.HashMap" + bytes.fromhex("0507dac1c31660d1") + b"\x03\x00\x02"
_MAP_FIELDS = b"F\x00\nloadFactorI\x00\tthreshold" + bytes((_END, _NULL))
_BYTES_CLASS = b"\x00\x02[B" + bytes.fromhex("acf317f8060854e0") + b"\x02\x00\x00" + bytes((_END, _NULL))
_FIRST_HANDLE = 0x7E0000
_BYTES_HANDLE = _FIRST_HANDLE + 2  # after the map's class and the map
_LOAD_FACTOR = 0.75
_FIRST_CAPACITY = 16


class JavaStreamError(ValueError):
    """The bytes are not a serialized map of byte arrays."""


def write_map(entries: Mapping[bytes, bytes | None]) -> bytes:
    """Return the serialized form.

    Example:
        >>> read_map(write_map({b"k": b"v", b"gone": None}))
        {b'k': b'v', b'gone': None}
    """
    capacity = _FIRST_CAPACITY
    while len(entries) > capacity * _LOAD_FACTOR:
        capacity *= 2
    threshold = int(capacity * _LOAD_FACTOR) if entries else 0
    parts = [_STREAM, bytes((_OBJECT, _CLASS)), _MAP_CLASS, _MAP_FIELDS, struct.pack(">fi", _LOAD_FACTOR, threshold)]
    parts.append(struct.pack(">BBii", _BLOCK, 8, capacity, len(entries)))
    described = False
    for entry in entries.items():
        for value in entry:
            if value is None:
                parts.append(bytes((_NULL,)))
                continue
            if described:
                parts.append(struct.pack(">BBI", _ARRAY, _REFERENCE, _BYTES_HANDLE))
            else:
                parts.append(bytes((_ARRAY, _CLASS)) + _BYTES_CLASS)
                described = True
            parts.append(struct.pack(">i", len(value)) + value)
    parts.append(bytes((_END,)))
    return b"".join(parts)


def read_map(data: bytes) -> dict[bytes, bytes | None]:
    """Return the entries. Raises JavaStreamError."""
    return _MapReader(data).read()


class _MapReader:
    """Invariant: `_handles` has an entry for each handle assigned in the stream so far, None for classes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._handles: list[bytes | None] = []

    def read(self) -> dict[bytes, bytes | None]:
        self._expect(_STREAM + bytes((_OBJECT, _CLASS)) + _MAP_CLASS + _MAP_FIELDS, "the head of a HashMap")
        self._handles += [None, None]  # the class and the map
        self._take(8)
        self._expect(bytes((_BLOCK, 8)), "the map's size")
        _, size = struct.unpack(">ii", self._take(8))
        if not 0 <= size <= len(self._data):
            raise JavaStreamError(f"The map says that it has {size} entries")
        entries: dict[bytes, bytes | None] = {}
        for _ in range(size):
            key, value = self._array(), self._array()
            if key is not None:
                entries[key] = value
        self._expect(bytes((_END,)), "the map's end")
        return entries

    def _array(self) -> bytes | None:
        kind = self._take(1)[0]
        if kind == _NULL:
            return None
        if kind == _REFERENCE:
            found = self._handle()
            if found is None:
                raise JavaStreamError("A reference leads to no byte array")
            return found
        if kind != _ARRAY:
            raise JavaStreamError(f"Byte {kind:#04x} at {self._at - 1} begins no byte array")
        self._bytes_class()
        (length,) = struct.unpack(">i", self._take(4))
        if length < 0:
            raise JavaStreamError(f"An array of {length} bytes")
        value = self._take(length)
        self._handles.append(value)
        return value

    def _bytes_class(self) -> None:
        kind = self._take(1)[0]
        if kind == _REFERENCE:
            self._handle()
        elif kind == _CLASS:
            self._expect(_BYTES_CLASS, "the class of byte arrays")
            self._handles.append(None)
        else:
            raise JavaStreamError(f"Byte {kind:#04x} at {self._at - 1} begins no class")

    def _handle(self) -> bytes | None:
        handle: int = struct.unpack(">I", self._take(4))[0]
        if not 0 <= handle - _FIRST_HANDLE < len(self._handles):
            raise JavaStreamError(f"Handle {handle:#x} was not given out")
        return self._handles[handle - _FIRST_HANDLE]

    def _expect(self, wanted: bytes, what: str) -> None:
        if self._take(len(wanted)) != wanted:
            raise JavaStreamError(f"{what} is expected at byte {self._at - len(wanted)}")

    def _take(self, count: int) -> bytes:
        part = self._data[self._at : self._at + count]
        if len(part) < count:
            raise JavaStreamError(f"The stream ends at byte {len(self._data)}, within the map")
        self._at += count
        return part
