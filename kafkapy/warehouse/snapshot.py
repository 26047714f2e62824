"""The rows that a table's view shows, and the order of changes that keeps the view correct at every moment. Pure.

Rows are in two places. A micro-batch, which has an increasing number, writes them into a directory of `current` that
never changes. A rollup rewrites hours: a *generation* of an hour is a directory with each of its events once, and each
row has the number of its batch. A *snapshot* selects the valid rows:

    of hours:    batch < boundary and hour < cutoff
    of current:  oldest <= batch < end, but not (batch < boundary and hour < cutoff)

The snapshot is in the text of the view, which the metastore changes atomically. A query that has read the text finds
the same rows whatever changes later:

- a new batch is at or above `end`;
- a new generation of an hour has all rows of the previous one (of events the first of each id, by batch), and its
  further rows are at or above `boundary` or `cutoff`: so partitions can be switched one by one, before the view is;
- files that no snapshot needs are deleted after a grace period, within which readers must plan and run their queries.

The ledger's records are the commits: a batch exists when its record does, and so do all hours of a rollup at once. The
effects on the metastore (`Effect`) are idempotent, and are repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

Hour = str
"""An hour in UTC, "2026-11-24-03"; sorts by time."""
FIRST_HOUR: Hour = "0000-00-00-00"

Offsets = Mapping[str, Mapping[int, tuple[int, int]]]
"""By log (the name of a `TopicLog`) and partition: the first offset, and the one after the last."""


class TopicLog(NamedTuple):
    """The log that a topic's name stands for since batch number `batch`. A topic that was deleted and recreated has
    another log, in which the same offsets are other records. A place is (log, partition, offset).

    `name`: the topic's name for the first log in the ledger, and `topic@batch` for a later one (Kafka's topic names
    can't contain "@"). `topic_id`: in hexadecimal; empty if it is not known (old brokers and old ledgers).
    """

    name: str
    topic: str
    topic_id: str = ""
    batch: int = 0


class Loss(NamedTuple):
    """Offsets that were deleted before they were read. `end`: the one after the last known. `at_ms`: when the loss was
    found."""

    log: str
    topic: str
    partition: int
    first: int
    end: int
    reason: str
    at_ms: int

    def __str__(self) -> str:
        return f"{self.topic} partition {self.partition}, offsets {self.first} to {self.end - 1}: {self.reason}"


class TableDefinition(NamedTuple):
    """A table's rows, columns and view.

    | field | meaning |
    | --- | --- |
    | `name` | its name in the ledger and in directories; never changes |
    | `kind` | "events" (the first of each id stays) or "changes" (the last of each key) |
    | `columns` | Spark's schema as JSON, without the columns that every table has |
    | `record`, `model` | the events of the topic that are its rows |
    | `schemas` | ids of the events' schemas |
    | `version` | version of the columns; each has its own tables in the metastore |
    | `views` | names of its view, past and present, if they differ from `name`; the last one is valid |

    Tables of the metastore never change, because sessions cache a table's columns, but read a view's text for each
    query.
    """

    name: str
    topic: str
    kind: str
    columns: Any
    record: str = ""
    model: int = 1
    schemas: tuple[str, ...] = ()
    version: int = 1
    views: tuple[str, ...] = ()

    @property
    def view(self) -> str:
        return self.views[-1] if self.views else self.name

    def viewed_as(self, name: str) -> TableDefinition:
        return self if name == self.view else self._replace(views=(*self.views, name))


class BatchPart(NamedTuple):
    """A directory with a batch's rows of one table and one schema. `hours`: number of rows by hour."""

    table: str
    schema: str
    path: str
    hours: Mapping[Hour, int]


class Batch(NamedTuple):
    number: int
    offsets: Offsets
    parts: tuple[BatchPart, ...]
    tables: tuple[TableDefinition, ...] = ()
    """New and changed tables."""
    at_ms: int = 0
    logs: tuple[TopicLog, ...] = ()
    """Logs that begin with this batch, or whose topic id became known."""
    losses: tuple[Loss, ...] = ()
    unread: Mapping[str, Mapping[int, int]] = MappingProxyType({})
    """By log and partition: the log's end when the batch was planned, where it is above the batch's end."""

    def rows(self, table: str) -> Mapping[Hour, int]:
        found: dict[Hour, int] = {}
        for part in self.parts:
            if part.table == table:
                for hour, rows in part.hours.items():
                    found[hour] = found.get(hour, 0) + rows
        return found


class HourGeneration(NamedTuple):
    """An hour of a table. `dropped`: number of duplicate (of changes: superseded) rows. `offsets`: of the logs of its
    rows."""

    table: str
    hour: Hour
    path: str
    rows: int
    dropped: int
    offsets: Offsets


class Rollup(NamedTuple):
    """Moves rows of batches below `boundary` with hours below `cutoff` into generations. `tables`: new and changed
    tables."""

    number: int
    boundary: int
    cutoff: Hour
    generations: tuple[HourGeneration, ...]
    at_ms: int = 0
    tables: tuple[TableDefinition, ...] = ()


class Snapshot(NamedTuple):
    """The rows that a view shows. `late`: hours below the cutoff that have rows in current."""

    oldest: int
    boundary: int
    cutoff: Hour
    end: int
    late: tuple[Hour, ...]

    def in_hours(self, batch: int, hour: Hour) -> bool:
        return batch < self.boundary and hour < self.cutoff

    def in_current(self, batch: int, hour: Hour) -> bool:
        return self.oldest <= batch < self.end and not self.in_hours(batch, hour)


class Move(NamedTuple):
    """A rollup's step for an hour of a table: it merges rows of `parts` (by batch number) into those of `before`."""

    table: str
    hour: Hour
    parts: tuple[tuple[int, BatchPart], ...]
    before: HourGeneration | None


@dataclass(frozen=True)
class State:
    """The fold of the ledger's records. `batches`: batches whose directories still exist."""

    batches: Mapping[int, Batch] = field(default_factory=dict)
    generations: Mapping[tuple[str, Hour], HourGeneration] = field(default_factory=dict)
    tables: Mapping[str, TableDefinition] = field(default_factory=dict)
    end: int = 0
    boundary: int = 0
    cutoff: Hour = FIRST_HOUR
    rollups: int = 0
    offsets: Offsets = field(default_factory=dict)
    """The offsets read so far: where the first batch began, and where the last one ended."""
    defined: tuple[str, ...] = ()
    """Tables that the last batch created or changed."""
    placed: tuple[HourGeneration, ...] = ()
    """Generations of the last rollup. Those of earlier ones are in the metastore: a process ensures that before the
    next rollup."""
    superseded: tuple[tuple[int, HourGeneration], ...] = ()
    """Replaced generations, with the number of the rollup that replaced them."""
    logs: tuple[TopicLog, ...] = ()
    """In order; a topic's last log is the current one."""
    losses: tuple[Loss, ...] = ()
    unread: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The last batch's `unread`."""

    def log_of(self, topic: str, batch: int | None = None) -> TopicLog:
        """Return the topic's log that batch number `batch` has read; default: the one for the next batch, unless it is
        recreated."""
        at = self.end if batch is None else batch
        found = [log for log in self.logs if log.topic == topic and log.batch <= at]
        return found[-1] if found else TopicLog(topic, topic)

    def earlier_logs(self, topic: str) -> tuple[TopicLog, ...]:
        """Return the logs of deleted topics of that name."""
        current = self.log_of(topic)
        return tuple(log for log in self.logs if log.topic == topic and log.name != current.name)

    def with_batch(self, batch: Batch) -> State:
        """Return the state after a batch. Raises ValueError if the batch is not the next one."""
        if batch.number != self.end:
            raise ValueError(f"Batch {batch.number} does not follow: the next is {self.end}")
        return replace(
            self,
            batches={**self.batches, batch.number: batch},
            tables=_grown(self.tables, batch.tables),
            end=batch.number + 1,
            defined=tuple(table.name for table in batch.tables),
            offsets=joined_offsets([self.offsets, batch.offsets]),
            logs=(*(log for log in self.logs if log.name not in {new.name for new in batch.logs}), *batch.logs),
            losses=(*self.losses, *batch.losses),
            unread=batch.unread,
        )

    def with_rollup(self, rollup: Rollup) -> State:
        """Return the state after a rollup. Raises ValueError if it is not the next one, or its boundary or cutoff
        decreases."""
        if rollup.number != self.rollups or rollup.boundary < self.boundary or rollup.cutoff < self.cutoff:
            raise ValueError(f"Rollup {rollup.number} does not follow rollup {self.rollups - 1}")
        replaced = [
            (rollup.number, self.generations[new.table, new.hour])
            for new in rollup.generations
            if (new.table, new.hour) in self.generations
        ]
        return replace(
            self,
            generations={**self.generations, **{(new.table, new.hour): new for new in rollup.generations}},
            tables=_grown(self.tables, rollup.tables),
            defined=tuple(dict.fromkeys([*self.defined, *(table.name for table in rollup.tables)])),
            boundary=rollup.boundary,
            cutoff=rollup.cutoff,
            rollups=rollup.number + 1,
            placed=rollup.generations,
            superseded=(*self.superseded, *replaced),
        )

    def without(self, batches: Iterable[int], superseded: Iterable[HourGeneration]) -> State:
        """Return the state after directories of these batches and generations were deleted."""
        gone, old = set(batches), set(map(_key, superseded))
        return replace(
            self,
            batches={number: batch for number, batch in self.batches.items() if number not in gone},
            superseded=tuple(each for each in self.superseded if _key(each[1]) not in old),
        )

    # -- what is shown

    def snapshot(self, table: str) -> Snapshot:
        late = {hour for _, hour in self._in_current(table) if hour < self.cutoff}
        return Snapshot(self.oldest(), self.boundary, self.cutoff, self.end, tuple(sorted(late)))

    def oldest(self) -> int:
        """Return the first batch that still has rows in current; the end if none has."""
        waiting = (
            number
            for number, batch in self.batches.items()
            if number >= self.boundary or any(hour >= self.cutoff for part in batch.parts for hour in part.hours)
        )
        return min(waiting, default=self.end)

    def current_rows(self, table: str) -> dict[Hour, int]:
        """Return the number of rows by hour that the view reads from current, duplicates included."""
        found: dict[Hour, int] = {}
        for number, hour in self._in_current(table):
            found[hour] = found.get(hour, 0) + self.batches[number].rows(table)[hour]
        return found

    def _in_current(self, table: str) -> list[tuple[int, Hour]]:
        return [
            (number, hour)
            for number, batch in self.batches.items()
            for hour in batch.rows(table)
            if not (number < self.boundary and hour < self.cutoff)
        ]

    # -- what is next

    def moves(self, cutoff: Hour) -> list[Move]:
        """Return the steps of a rollup up to `cutoff`; its boundary is the end."""
        cutoff = max(cutoff, self.cutoff)
        parts: dict[tuple[str, Hour], list[tuple[int, BatchPart]]] = {}
        for number, batch in sorted(self.batches.items()):
            for part in batch.parts:
                for hour in part.hours:
                    if hour < cutoff and not (number < self.boundary and hour < self.cutoff):
                        parts.setdefault((part.table, hour), []).append((number, part))
        return [
            Move(table, hour, tuple(found), self.generations.get((table, hour)))
            for (table, hour), found in sorted(parts.items(), key=lambda item: item[0])
        ]

    def garbage(self, applied: int) -> tuple[list[Batch], list[HourGeneration]]:
        """Return batches and generations that no view shows, if rollups below `applied` are visible since the grace
        period."""
        old = [generation for number, generation in self.superseded if number < applied]
        if applied < self.rollups:
            return [], old
        oldest = self.oldest()
        return [batch for number, batch in sorted(self.batches.items()) if number < oldest], old


def joined_offsets(many: Sequence[Offsets]) -> dict[str, dict[int, tuple[int, int]]]:
    """Return the smallest start and the largest end of each partition."""
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for offsets in many:
        for topic, partitions in offsets.items():
            of_topic = found.setdefault(topic, {})
            for partition, (first, end) in partitions.items():
                low, high = of_topic.get(partition, (first, end))
                of_topic[partition] = min(low, first), max(high, end)
    return found


def _grown(tables: Mapping[str, TableDefinition], changed: Iterable[TableDefinition]) -> dict[str, TableDefinition]:
    """Merge definitions. They only grow, so the largest one wins: the ledger is not read in the order of its
    writes."""
    found = dict(tables)
    for table in changed:
        known = found.get(table.name, table)
        if (table.version, len(table.schemas), len(table.views)) >= (
            known.version,
            len(known.schemas),
            len(known.views),
        ):
            found[table.name] = table
    return found


def _key(generation: HourGeneration) -> str:
    return generation.path


# -- effects: changes of the metastore, in this order


class AddPart(NamedTuple):
    """Add a partition of `current`."""

    batch: int
    part: BatchPart


class PlaceHour(NamedTuple):
    """Set the location of the hour's partition. `replaces`: the hour had another generation."""

    generation: HourGeneration
    replaces: bool = True


class ShowSnapshot(NamedTuple):
    """Set the view's text, which makes the change visible to readers."""

    table: str
    snapshot: Snapshot


class DropPart(NamedTuple):
    batch: int
    part: BatchPart


class DeletePath(NamedTuple):
    path: str


class DefineTable(NamedTuple):
    table: TableDefinition


class RegisterHours(NamedTuple):
    """Register all hours of a table, for a new version of its columns."""

    table: str
    generations: tuple[HourGeneration, ...]


Effect = DefineTable | RegisterHours | AddPart | PlaceHour | ShowSnapshot | DropPart | DeletePath


def effects_of_batch(state: State, batch: Batch) -> list[Effect]:
    """Return the effects of a batch. `state`: includes the batch."""
    anew = {table.name for table in batch.tables}
    return [
        *map(DefineTable, batch.tables),
        *_registered(state, anew),
        *(add for add in _shown_parts(state) if add.batch == batch.number or add.part.table in anew),
        *_views(state),
    ]


def _registered(state: State, tables: Iterable[str]) -> list[RegisterHours]:
    of_table: dict[str, list[HourGeneration]] = {table: [] for table in sorted(tables)}
    for (table, _), generation in state.generations.items():
        if table in of_table:
            of_table[table].append(generation)
    return [RegisterHours(table, tuple(found)) for table, found in of_table.items() if found]


def _shown_parts(state: State) -> list[AddPart]:
    shown = [batch for number, batch in sorted(state.batches.items()) if number >= state.oldest()]
    return [AddPart(batch.number, part) for batch in shown for part in batch.parts]


def effects_of_rollup(state: State, rollup: Rollup) -> list[Effect]:
    """Return the effects of a rollup. `state`: includes the rollup."""
    anew = {table.name for table in rollup.tables}
    return [
        *map(DefineTable, rollup.tables),
        *_registered(state, anew),
        *(add for add in _shown_parts(state) if add.part.table in anew),
        *_placed(state, rollup.generations),
        *_views(state),
    ]


def _placed(state: State, generations: Iterable[HourGeneration]) -> list[PlaceHour]:
    """Return the effects that place the generations of the last rollup."""
    replaced = {(old.table, old.hour) for number, old in state.superseded if number == state.rollups - 1}
    return [PlaceHour(each, (each.table, each.hour) in replaced) for each in generations]


def effects_of_restart(state: State, lost: Iterable[str] = ()) -> list[Effect]:
    """Return every effect that the last process may have omitted. `lost`: tables that the metastore does not have."""
    return [
        *map(DefineTable, state.tables.values()),
        *_registered(state, {*state.defined, *lost}),
        *_shown_parts(state),
        *_placed(state, state.placed),
        *_views(state),
    ]


def effects_of_sweep(batches: Iterable[Batch], superseded: Iterable[HourGeneration]) -> list[Effect]:
    found: list[Effect] = []
    for batch in batches:
        found += [DropPart(batch.number, part) for part in batch.parts]
        found += [DeletePath(path) for path in sorted({directory_of(part.path) for part in batch.parts})]
    return [*found, *(DeletePath(generation.path) for generation in superseded)]


def directory_of(path: str) -> str:
    """Return the common directory of an attempt's parts: current/000000000012-1f2e3d4c."""
    return "/".join(path.split("/")[:2])


def _views(state: State) -> list[Effect]:
    return [ShowSnapshot(table, state.snapshot(table)) for table in sorted(state.tables)]
