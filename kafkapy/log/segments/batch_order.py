"""Finds batches of a segment whose offsets can't be right: no checksum covers a base offset."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkapy.log.files.file_batches import Batch
from kafkapy.protocol.errors import Errors, KafkaError


def in_order(batches: Iterable[Batch], base_offset: int, end_offset: int) -> Iterator[Batch]:
    """The batches of a segment with offsets from `base_offset` on and below `end_offset`, as long as these ascend.

    `KafkaError` CORRUPT_MESSAGE in place of the first one whose offsets do not fit those of its neighbours, or the segment. Each
    batch comes when the next one has been read, which shows whether its offsets are too high.
    """
    latest: Batch | None = None
    next_offset = base_offset
    walk = iter(batches)
    while True:
        try:
            batch = next(walk, None)
        except KafkaError:
            if latest is not None:
                yield latest
            raise
        if latest is not None:
            # What begins right behind the batch before it is in its place, whatever comes.
            has_gap = first_offset(latest) > next_offset
            if has_gap and batch is not None and next_offset <= first_offset(batch) <= latest.last_offset:
                raise _misplaced(latest, next_offset)
            yield latest
            next_offset = latest.last_offset + 1
        if batch is None:
            return
        if first_offset(batch) < next_offset or not base_offset <= batch.last_offset < end_offset:
            raise _misplaced(batch, next_offset)
        latest = batch


def first_offset(batch: Batch) -> int:
    """As its header has it: that of a compressed batch of the formats before v2 has the last offset only."""
    return batch.base_offset if batch.magic >= 2 else batch.last_offset


def _misplaced(batch: Batch, next_offset: int) -> KafkaError:
    found = f"a batch with the offsets {first_offset(batch)} to {batch.last_offset}"
    return KafkaError(Errors.CORRUPT_MESSAGE, f"Found {found} where one of {next_offset} or a little more is expected")
