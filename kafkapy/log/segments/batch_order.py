"""Finds batches with wrong base offsets, which no checksum covers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafkapy.log.files.file_batches import Batch
from kafkapy.protocol.errors import Errors, KafkaError


def in_order(batches: Iterable[Batch], base_offset: int, end_offset: int) -> Iterator[Batch]:
    """Yield the batches of a segment with offsets in `[base_offset, end_offset)` while these ascend.

    `KafkaError` CORRUPT_MESSAGE in place of the first batch whose offsets do not fit those of its neighbours, or the
    segment. Each batch is yielded when the next one has been read, which shows whether its offsets are too high.
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
            # A batch without a gap before it is in its place, whatever follows.
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
    """Return the base offset in the header: for compressed batches of formats before v2 the header has the last offset
    only.
    """
    return batch.base_offset if batch.magic >= 2 else batch.last_offset


def _misplaced(batch: Batch, next_offset: int) -> KafkaError:
    found = f"a batch with the offsets {first_offset(batch)} to {batch.last_offset}"
    return KafkaError(Errors.CORRUPT_MESSAGE, f"Found {found} where one of {next_offset} or a little more is expected")
