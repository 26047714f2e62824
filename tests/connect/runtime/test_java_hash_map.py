"""`kafkapy.connect.runtime.java_hash_map`: the file that Kafka's standalone worker writes."""

from __future__ import annotations

import pytest

from kafkapy.connect.runtime.java_hash_map import JavaStreamError, read_map, write_map

_EMPTY = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249"
    "00097468726573686f6c6478703f400000000000007708000000100000000078"
)
_ONE = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249"
    "00097468726573686f6c6478703f4000000000000c77080000001000000001757200025b42acf317f8060854e00200007870"
    "0000001b5b226c696e6573222c7b2266696c656e616d65223a226630227d5d7571007e00020000000e7b22706f736974696f"
    "6e223a307d78"
)
_TWO = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249"
    "00097468726573686f6c6478703f4000000000000c77080000001000000002757200025b42acf317f8060854e00200007870"
    "0000001b5b226c696e6573222c7b2266696c656e616d65223a226631227d5d707571007e00020000001b5b226c696e657322"
    "2c7b2266696c656e616d65223a226630227d5d7571007e00020000000e7b22706f736974696f6e223a307d78"
)
"""Written by JDK 17."""


def test_what_java_has_written_is_read() -> None:
    assert read_map(_EMPTY) == {}
    assert read_map(_ONE) == {b'["lines",{"filename":"f0"}]': b'{"position":0}'}
    assert read_map(_TWO) == {
        b'["lines",{"filename":"f1"}]': None,
        b'["lines",{"filename":"f0"}]': b'{"position":0}',
    }


@pytest.mark.parametrize("data", [_EMPTY, _ONE, _TWO])
def test_it_is_written_as_java_writes_it(data: bytes) -> None:
    assert write_map(read_map(data)) == data


def test_many_entries_come_back() -> None:
    entries = {b"key-%d" % number: b"v" * number for number in range(100)}
    assert read_map(write_map(entries)) == entries


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xac\xed\x00\x05",
        b"no java stream at all, but long enough to be one",
        _ONE[:-1],
        _ONE.replace(b"java.util.HashMap", b"java.util.HashSet"),
        _EMPTY[:-5] + b"\x7f\xff\xff\xff" + _EMPTY[-1:],
        _ONE.replace(b"\x00\x00\x00\x0e{", b"\x7f\xff\xff\xff{"),
        _ONE.replace(b"\x7e\x00\x02", b"\x7e\x00\x77"),
    ],
)
def test_anything_else_is_an_error(data: bytes) -> None:
    with pytest.raises(JavaStreamError):
        read_map(data)
