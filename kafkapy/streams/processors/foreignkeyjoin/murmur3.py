"""The hash by which a foreign-key join detects changed values: Murmur3, 128 bits, with Kafka's seed."""

from __future__ import annotations

import struct
from typing import Final

_SEED: Final = 104729
_C1: Final = 0x87C37B91114253D5
_C2: Final = 0x4CF5AD432745937F
_N1: Final = 0x52DCE729
_N2: Final = 0x38495AB5
_MASK: Final = 0xFFFFFFFFFFFFFFFF
_BLOCK: Final = struct.Struct("<QQ")
_HASH: Final = struct.Struct(">QQ")


def hash128(data: bytes) -> bytes:
    """Return the hash: 16 bytes, as two big-endian numbers of 64 bits.

    Example:
        >>> hash128(b"").hex()
        '9d2764a018e329428c3cf3b035938518'
    """
    length = len(data)
    one = two = _SEED
    whole = length & ~15
    for first, second in _BLOCK.iter_unpack(data[:whole]):
        one ^= _mixed_first(first)
        one = (_rotated(one, 27) + two) * 5 + _N1 & _MASK
        two ^= _mixed_second(second)
        two = (_rotated(two, 31) + one) * 5 + _N2 & _MASK
    tail = data[whole:]
    if len(tail) > 8:
        two ^= _mixed_second(int.from_bytes(tail[8:], "little"))
    if tail:
        one ^= _mixed_first(int.from_bytes(tail[:8], "little"))
    one ^= length
    two ^= length
    one = one + two & _MASK
    two = two + one & _MASK
    one = _finished(one)
    two = _finished(two)
    one = one + two & _MASK
    return _HASH.pack(one, two + one & _MASK)


def _mixed_first(number: int) -> int:
    return _rotated(number * _C1 & _MASK, 31) * _C2 & _MASK


def _mixed_second(number: int) -> int:
    return _rotated(number * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(number: int, bits: int) -> int:
    return (number << bits | number >> 64 - bits) & _MASK


def _finished(number: int) -> int:
    number ^= number >> 33
    number = number * 0xFF51AFD7ED558CCD & _MASK
    number ^= number >> 33
    number = number * 0xC4CEB9FE1A85EC53 & _MASK
    return number ^ number >> 33
