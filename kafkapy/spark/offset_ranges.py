"""Plans which offsets a query reads, and how they are divided into tasks. Pure functions over offsets.


After Spark's `KafkaOffsetRangeCalculator`, `KafkaOffsetReaderAdmin.getOffsetRanges...` and the rate limits of
`KafkaMicroBatchStream`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.errors import OffsetError
from kafkapy.spark.offset_limits import names


class OffsetRange(NamedTuple):
    """Offsets of one partition; `until` is exclusive."""

    partition: TopicPartition
    start: int
    until: int

    @property
    def size(self) -> int:
        """Return the number of offsets, which may exceed that of records because of compaction and transaction
        markers."""
        return self.until - self.start


def divide(
    ranges: Sequence[OffsetRange], min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Divide ranges into tasks: first into ranges of at most `max_records`, then large ones into about
    `min_partitions` in total.

    Empty ranges are dropped. A range is cut in proportion to its size; rounding may give some tasks more or less
    than `min_partitions`.
    """
    wanted = [r for r in ranges if r.size > 0]
    if max_records is not None:
        wanted = [piece for r in wanted for piece in _cut(r, -(-r.size // max_records))]
    if min_partitions is None or len(wanted) >= min_partitions:
        return wanted
    total = sum(r.size for r in wanted)
    whole = {r for r in wanted if _share(r.size, total, min_partitions) == 1}
    # Ranges that stay whole must not reduce the shares of the others.
    rest_total = total - sum(r.size for r in whole)
    rest_partitions = max(min_partitions - len(whole), 1)
    pieces = []
    for r in wanted:
        parts = 1 if r in whole else _share(r.size, rest_total, rest_partitions)
        pieces += _cut(r, parts)
    return [piece for piece in pieces if piece.size > 0]


def _share(size: int, total: int, min_partitions: int) -> int:
    return max(math.floor(size / total * min_partitions + 0.5), 1)


def _cut(r: OffsetRange, parts: int) -> list[OffsetRange]:
    """Cut a range into equal pieces; the last ones get the remainder."""
    pieces = []
    start, remaining = r.start, r.size
    for part in range(parts):
        size = remaining // (parts - part)
        remaining -= size
        pieces.append(OffsetRange(r.partition, start, start + size))
        start += size
    return pieces


SMALL = 1_000
"""Number of offsets below which a task's overhead exceeds the time to read them."""
ENOUGH_TASKS = 32
"""Ranges share tasks only if there are more than this, so that all machines have work."""
FEWEST_TASKS = 8
"""Least number of shared tasks, however few records they have, because processing each record may be slow."""
MOST_RANGES = 32
"""In one task."""


def share_tasks(
    pieces: Sequence[OffsetRange], min_partitions: int | None = None, max_records: int | None = None
) -> list[tuple[OffsetRange, ...]]:
    """Return the ranges of each task; small ranges share tasks.

    At least `min_partitions` tasks remain if there were as many pieces; none has more than `max_records` offsets. More
    than `ENOUGH_TASKS` pieces are combined to that many tasks, or fewer if these would have less than `SMALL` offsets
    each.
    """
    large = [(piece,) for piece in pieces if piece.size > SMALL]
    small = [piece for piece in pieces if piece.size <= SMALL]
    tasks = max(_enough_tasks(pieces), min_partitions or 0) - len(large)
    tasks = max(tasks, math.ceil(len(small) / MOST_RANGES))
    shared: list[tuple[OffsetRange, ...]] = []
    for group in _evenly(small, tasks):
        first, size = 0, 0
        for n, piece in enumerate(group):
            if max_records is not None and n > first and size + piece.size > max_records:
                shared.append(tuple(group[first:n]))
                first, size = n, 0
            size += piece.size
        shared.append(tuple(group[first:]))
    return sorted(large + shared)


def _enough_tasks(pieces: Sequence[OffsetRange]) -> int:
    if len(pieces) <= ENOUGH_TASKS:
        return ENOUGH_TASKS
    offsets = sum(piece.size for piece in pieces)
    return min(max(FEWEST_TASKS, math.ceil(offsets / SMALL)), ENOUGH_TASKS)


def _evenly(pieces: Sequence[OffsetRange], parts: int) -> list[Sequence[OffsetRange]]:
    """Split into at most `parts` runs of equal length, plus or minus one."""
    parts = min(parts, len(pieces))
    edges = [part * len(pieces) // parts for part in range(parts + 1)] if parts else []
    return [pieces[start:end] for start, end in pairwise(edges)]


def ranges_of_batch(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> list[OffsetRange]:
    """Return a batch query's ranges from resolved offsets. Raises `OffsetError` if they are inconsistent."""
    if start.keys() != end.keys():
        raise OffsetError(
            "different topic partitions for starting offsets topics"
            f"[{','.join(map(str, sorted(start)))}] and ending offsets topics[{','.join(map(str, sorted(end)))}]"
        )
    ranges = []
    for partition in sorted(end):
        first, last = start[partition], end[partition]
        if first > last:
            raise OffsetError(
                f"The resolved start offset {first} is greater than the resolved end offset {last} for topic "
                f"{partition.topic} partition {partition.partition}. There may be multiple reasons: 1. Start offset "
                "is set to too big a value that after resolution, end offset is smaller than it. There are multiple "
                "input cases: (a) Start offset is set to a timestamp, and the end offset is set to an index. (b) "
                "Start offset is set to an index, and the end offset is set to a timestamp. (c) Start offset is set, "
                "and the end offset is set to latest. 2. The Kafka topic partition is broken."
            )
        ranges.append(OffsetRange(partition, first, last))
    return ranges


def ranges_of_micro_batch(
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    earliest_of: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
    report_data_loss: Callable[[str], None],
    group_id: str | None = None,
) -> list[OffsetRange]:
    """Return a micro-batch's ranges. New partitions begin at their earliest offset.

    `report_data_loss` is called for missing partitions, new ones that do not begin at 0, and those whose end is before
    their start; it raises or warns.
    """
    added = sorted(end.keys() - start.keys())
    earliest = dict(earliest_of(added)) if added else {}
    lost = set(added) - earliest.keys()
    if lost:
        report_data_loss(f"Cannot find initial offsets for partitions {names(lost)}. They may have been deleted.")
    for partition in sorted(earliest):
        if earliest[partition] != 0:
            report_data_loss(f"Added partition {partition} starts from {earliest[partition]} instead of 0.")
    deleted = start.keys() - end.keys()
    if deleted:
        report_data_loss(f"Partitions {names(deleted)} have been deleted." + (_GROUP_ID if group_id else ""))
    ranges = []
    for partition in sorted(end.keys() - lost):
        first = start[partition] if partition in start else earliest[partition]
        last = end[partition]
        if last < first:
            report_data_loss(
                f"Partition {partition} offset was changed from {first} to {last}. This could either be a user error "
                "that the start offset is set too high and this is the first batch, or the kafka topic-partition is "
                "broken, and some data may have been missed."
            )
        ranges.append(OffsetRange(partition, first, last))
    return ranges


def limit_offsets(
    limit: int,
    start: Mapping[TopicPartition, int],
    end: Mapping[TopicPartition, int],
    earliest_of: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
) -> dict[TopicPartition, int]:
    """Ends for a micro-batch of about `limit` offsets, shared out by lag (maxOffsetsPerTrigger).

    A share below 1 counts as 1, so that small partitions do not starve; others are rounded down.
    """
    added = sorted(end.keys() - start.keys())
    begins = {**start, **(earliest_of(added) if added else {})}
    sizes = {p: last - begins[p] for p, last in end.items() if p in begins and last > begins[p]}
    total = sum(sizes.values())
    limited = dict(end)
    for partition, size in sizes.items():
        share = limit * (size / total)
        step = math.ceil(share) if share < 1 else math.floor(share)
        limited[partition] = min(end[partition], begins[partition] + step, MAX_LONG)
    return limited


def new_offsets(start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int]) -> int:
    """Return the number of new offsets; a new partition counts from 0."""
    return sum(last - start.get(partition, 0) for partition, last in end.items())


_GROUP_ID = (
    " Kafka option 'kafka.group.id' has been set on this query, it is not recommended to set this option. This option "
    "is unsafe to use since multiple concurrent queries or sources using the same group id will interfere with each "
    "other as they are part of the same consumer group."
)
