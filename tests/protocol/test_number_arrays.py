"""Arrays of numbers: few go in one piece, very many in several, and nobody sees a difference."""

from __future__ import annotations

import struct

import pytest

from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkapy.protocol.number_arrays import number_array, read_numbers
from kafkapy.protocol.wire import SchemaError


@pytest.mark.parametrize("count", [0, 1, 16, 4096, 4097, 3 * 4096, 20_000])
def test_read_and_written_alike(count: int) -> None:
    numbers = [n * 1_000_003 % (1 << 31) - (1 << 30) for n in range(count)]
    encoded = number_array("i", numbers, False)
    assert encoded == struct.pack(f">i{count}i", count, *numbers)
    assert read_numbers("i", b"ab" + encoded, 6, count) == numbers
    compact = number_array("i", numbers, True)
    assert compact.endswith(encoded[4:])


def test_a_number_that_does_not_fit() -> None:
    with pytest.raises(struct.error):
        number_array("i", [0] * 10_000 + [1 << 31], False)


def test_an_array_that_ends_too_early() -> None:
    with pytest.raises(struct.error):
        read_numbers("i", bytes(4 * 9_999), 0, 10_000)
    topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=list(range(10_000)))
    encoded = OffsetFetchRequest(group_id="g", topics=[topic]).encode(1)
    assert OffsetFetchRequest.decode(encoded, 1).topics == [topic]
    with pytest.raises(SchemaError):
        OffsetFetchRequest.decode(encoded[:-1], 1)
