"""Plans the next batch: the offsets to read, new logs, and lost offsets. Pure.

The read position of each log is in the ledger only. A failed attempt leaves no trace, so the next one may read other
offsets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.offset_ranges import OffsetRange, limit_offsets
from kafkapy.warehouse.config import CONTINUE, EARLIEST, LATEST, ConfigError, parse_starting_offsets
from kafkapy.warehouse.snapshot import Loss, Offsets, State, TopicLog

FIRST, AFTER_LAST = -2, -1
"""The markers of earliest and latest, in the JSON of `starting_offsets` as in Kafka's ListOffsets."""


class Bounds(NamedTuple):
    """Offsets of a partition's log. `first`: the log start offset. `stable`: the offset up to which the warehouse can
    read, which is below `end` while a transaction is open. `end`: the log end offset."""

    first: int
    stable: int
    end: int


class LogLook(NamedTuple):
    """A topic's metadata and offsets in the cluster. `topic_id`: in hexadecimal; empty if the broker has no topic
    ids."""

    topic_id: str
    partitions: Mapping[int, Bounds]


Looks = Mapping[str, LogLook]
"""By topic; without topics that do not exist."""


@dataclass(frozen=True)
class PlanRules:
    """The configuration's `max_events_per_batch`, `starting_offsets` and `on_data_loss`."""

    limit: int
    starting_offsets: str
    on_data_loss: str


class RecordsLostError(Exception):
    """Records to be read are gone from the log, and `on_data_loss` is "fail"."""

    def __init__(self, losses: Iterable[Loss]) -> None:
        told = "; ".join(map(str, losses))
        super().__init__(
            f"Records that were not read yet are gone from the log: {told}. Reading stops; to continue without them set "
            'on_data_loss = "continue" in the configuration; the ledger, the audit and the page name what is lost then'
        )


@dataclass(frozen=True)
class BatchPlan:
    """The planned batch. `offsets`: range of each partition that is read, or whose log is new. `ends`: the end of
    every log."""

    ranges: tuple[OffsetRange, ...] = ()
    offsets: Offsets = field(default_factory=dict)
    logs: tuple[TopicLog, ...] = ()
    losses: tuple[Loss, ...] = ()
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    more: bool = False
    """Whether readable records remain for the next batch."""

    @property
    def is_due(self) -> bool:
        """Return whether the ledger needs a record of this batch."""
        return bool(self.ranges or self.logs or self.losses)

    def unread(self, positions: Offsets) -> dict[str, dict[int, int]]:
        """Return the `ends` of partitions that this batch does not read to the end. `positions`: those before this
        batch."""
        found: dict[str, dict[int, int]] = {}
        for log, ends in self.ends.items():
            for partition, end in ends.items():
                _, until = self.offsets.get(log, {}).get(partition) or positions.get(log, {}).get(partition, (0, 0))
                if end > until:
                    found.setdefault(log, {})[partition] = end
        return found


def plan_batch(
    state: State, looks: Looks, rules: PlanRules, now_ms: int, seen: Mapping[str, Mapping[int, int]] | None = None
) -> BatchPlan:
    """Plan the batch that follows `state`.

    Args:
        seen: The last known end by log and partition, if known from another source than the ledger: it tells what was
            unread of a deleted topic.

    Raises RecordsLostError, and ConfigError if `starting_offsets` is invalid.
    """
    topics = [_PlannedTopic(state, name, look, rules, now_ms, seen or {}) for name, look in sorted(looks.items())]
    trimmed = [loss for topic in topics for loss in topic.trimmed]
    if trimmed and rules.on_data_loss != CONTINUE:
        raise RecordsLostError(trimmed)
    starts = {TopicPartition(t.log.topic, p): start for t in topics for p, start in t.starts.items()}
    ends = {
        TopicPartition(t.log.topic, p): max(t.look.partitions[p].stable, t.starts[p]) for t in topics for p in t.starts
    }
    limited = limit_offsets(rules.limit, starts, ends, lambda added: {})
    ranges = tuple(
        OffsetRange(partition, start, limited[partition])
        for partition, start in sorted(starts.items())
        if limited[partition] > start
    )
    return BatchPlan(
        ranges,
        {t.log.name: found for t in topics if (found := t.offsets(limited))},
        tuple(t.log for t in topics if t.is_news),
        (*(loss for t in topics for loss in t.unread), *trimmed),
        {t.log.name: {p: bounds.end for p, bounds in t.look.partitions.items()} for t in topics},
        limited != ends,
    )


class _PlannedTopic:
    """A topic in the plan. `log`: the log that its name stands for now. `starts`: the start of each partition's range.
    `trimmed`: losses subject to `on_data_loss`; `unread`: losses of a deleted topic's log."""

    def __init__(
        self,
        state: State,
        topic: str,
        look: LogLook,
        rules: PlanRules,
        now_ms: int,
        seen: Mapping[str, Mapping[int, int]],
    ) -> None:
        before = state.log_of(topic)
        self.look = look
        self._positions = {partition: end for partition, (_, end) in state.offsets.get(before.name, {}).items()}
        self._now_ms = now_ms
        self.is_new = not self._positions and before not in state.logs
        is_again = not self.is_new and _is_made_again(before, look, self._positions)
        is_cut = not is_again and not self.is_new and falls_short(look, self._positions)
        self.unread: list[Loss] = []
        if is_again:
            self.unread = list(self._unread(before, state.unread.get(before.name, {}), seen.get(before.name, {})))
        name = f"{topic}@{state.end}" if is_again or is_cut else before.name
        self.is_news = self.is_new or is_again or is_cut or (look.topic_id != "" and before.topic_id == "")
        self.log = TopicLog(name, topic, look.topic_id, state.end) if self.is_news else before
        first = _starting(rules.starting_offsets, state.end, topic, look) if self.is_new else {}
        known = {} if is_again else self._positions
        wanted = {partition: known.get(partition, first.get(partition, 0)) for partition in look.partitions}
        self.trimmed = list(self._trimmed(wanted))
        self.starts = {
            p: min(max(offset, look.partitions[p].first), look.partitions[p].end) for p, offset in wanted.items()
        }

    def offsets(self, until: Mapping[TopicPartition, int]) -> dict[int, tuple[int, int]]:
        ends = {partition: until[TopicPartition(self.log.topic, partition)] for partition in self.starts}
        known = self._positions
        return {
            partition: (start, ends[partition])
            for partition, start in self.starts.items()
            if self.is_news or ends[partition] > known.get(partition, start)
        }

    def _unread(self, log: TopicLog, *seen: Mapping[int, int]) -> Iterator[Loss]:
        for partition in sorted({each for ends in seen for each in ends}):
            end = max(ends.get(partition, 0) for ends in seen)
            first = self._positions.get(partition, 0)
            if end > first:
                yield self._loss(
                    log.name, log.topic, partition, first, end, "the topic was deleted before they were read"
                )

    def _trimmed(self, wanted: Mapping[int, int]) -> Iterator[Loss]:
        for partition, offset in sorted(wanted.items()):
            bounds = self.look.partitions[partition]
            if offset < bounds.first:
                reason = "they were deleted from the log (retention, or DeleteRecords) before they were read"
                yield self._loss(self.log.name, self.log.topic, partition, offset, bounds.first, reason)
            if offset > bounds.end:
                reason = "the log has lost them after they were read, and others may have been written at their offsets"
                yield self._loss(self.log.name, self.log.topic, partition, bounds.end, offset, reason)

    def _loss(self, log: str, topic: str, partition: int, first: int, end: int, reason: str) -> Loss:
        return Loss(log, topic, partition, first, end, reason, self._now_ms)


def _is_made_again(log: TopicLog, look: LogLook, positions: Mapping[int, int]) -> bool:
    """Detect a recreated topic without topic ids: its log ends before the read position."""
    if log.topic_id and look.topic_id:
        return log.topic_id != look.topic_id
    return falls_short(look, positions)


def falls_short(look: LogLook, positions: Mapping[int, int]) -> bool:
    """Return whether a log ends before the read position. A new leader may report that for a moment, too."""
    return any(
        offset > look.partitions[partition].end
        for partition, offset in positions.items()
        if partition in look.partitions
    )


def _starting(text: str, ledger_end: int, topic: str, look: LogLook) -> dict[int, int]:
    """Return the start offsets of a topic that the ledger does not have. Partitions added later are read from their
    start."""
    partitions = look.partitions
    earliest = {partition: bounds.first for partition, bounds in partitions.items()}
    if text == EARLIEST or ledger_end > 0:
        return earliest
    if text == LATEST:
        return {partition: bounds.stable for partition, bounds in partitions.items()}
    found = dict(earliest)
    for partition, offset in parse_starting_offsets(text).get(topic, {}).items():
        if partition not in partitions or offset > partitions[partition].end:
            raise ConfigError(f"starting_offsets: {topic} partition {partition} has no offset {offset}")
        symbols = {FIRST: earliest[partition], AFTER_LAST: partitions[partition].stable}
        found[partition] = symbols.get(offset, offset)
    return found
