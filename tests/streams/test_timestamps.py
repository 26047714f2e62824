"""Timestamp extractors."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.timestamps import (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)

GOOD, BAD = SimpleNamespace(timestamp=7), SimpleNamespace(timestamp=-1)


@pytest.mark.parametrize(
    "extractor", [FailOnInvalidTimestamp(), LogAndSkipOnInvalidTimestamp(), UsePartitionTimeOnInvalidTimestamp()]
)
def test_the_records_own_time(extractor: FailOnInvalidTimestamp) -> None:
    assert extractor.extract(GOOD, 99) == 7


def test_records_without_time() -> None:
    with pytest.raises(StreamsException, match="invalid"):
        FailOnInvalidTimestamp().extract(BAD, 99)
    assert LogAndSkipOnInvalidTimestamp().extract(BAD, 99) == -1
    assert UsePartitionTimeOnInvalidTimestamp().extract(BAD, 99) == 99
    with pytest.raises(StreamsException, match="partition time is unknown"):
        UsePartitionTimeOnInvalidTimestamp().extract(BAD, -1)


def test_wall_clock() -> None:
    assert WallclockTimestampExtractor().extract(BAD, -1) > 1_600_000_000_000
