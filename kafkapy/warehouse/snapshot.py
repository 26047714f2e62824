"""What a table's view shows at a moment, and in which order things change so that it is right at every moment. Pure.

Rows are in two places. A micro-batch (a number that rises) puts them into `current`, a directory a batch, never changed. A
rollup rewrites hours: a *generation* of an hour is a directory that holds each of its events once, each row with the number of
the batch that it came with. A *snapshot* says which rows count:

    of hours:    batch < boundary and hour < cutoff
    of current:  oldest <= batch < end, but not (batch < boundary and hour < cutoff)

It is the text of the view, which the metastore changes at once; whoever has read it finds the same rows whatever happens next:

- a new batch is at or above `end`;
- a new generation of an hour holds all that the one before held (of events the first of each id, by batch), and what it holds
  beyond that is at or above `boundary` or `cutoff`: so partitions may change their place one by one, before the view does;
- what no snapshot needs any more is deleted after a time of grace, which no reader may take to plan and run its query.

Decisions are the ledger's records: a batch is there when its record is, and so are all hours of a rollup at once. What follows
(`Effect`) may be done again after a crash, from the top.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

Hour = str
"""In UTC, "2026-11-24-03": their order is that of time."""
FIRST_HOUR: Hour = "0000-00-00-00"

Offsets = Mapping[str, Mapping[int, tuple[int, int]]]
"""By log (the name of a `TopicLog`) and partition: the first, and the one after the last."""


class TopicLog(NamedTuple):
    """What a topic's name has stood for since batch number `batch`: a topic that was deleted and made again has another log,
    in which the same offsets are other records. A place is (log, partition, offset).

    `name`: the topic's own for the first log that the ledger knows, and `topic@batch` for a later one ("@" cannot be in
    Kafka's names of topics). `topic_id`: Kafka's, in hexadecimal; empty if it is not known (old brokers and old ledgers).
    """

    name: str
    topic: str
    topic_id: str = ""
    batch: int = 0


class Loss(NamedTuple):
    """Offsets that were gone before they were read: no row will ever come of them. `end`: the one after the last that was
    seen. `at_ms`: when this was found."""

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
    """What a table is: its rows and columns, and the view that shows them.

    | field | what |
    | --- | --- |
    | `name` | what it is called in the ledger and in directories; never changes |
    | `kind` | "events" (the first of each id stays) or "changes" (the last of each key) |
    | `columns` | Spark's schema as JSON, without those of every table |
    | `record`, `model` | which events of the topic are its rows |
    | `schemas` | of their values |
    | `version` | of the columns; each has tables of its own in the metastore |
    | `views` | names that its view has had, if one was another than `name`; the last one counts |

    Tables of the metastore never change: sessions remember a table's columns, but ask for a view's text each time.
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
    """The rows of a batch that belong to one table and were written with one schema: a directory. `hours`: rows by hour."""

    table: str
    schema: str
    path: str
    hours: Mapping[Hour, int]


class Batch(NamedTuple):
    number: int
    offsets: Offsets
    parts: tuple[BatchPart, ...]
    tables: tuple[TableDefinition, ...] = ()
    """Those that are new or have changed."""
    at_ms: int = 0
    logs: tuple[TopicLog, ...] = ()
    """Those that begin with this batch, or whose id is known from here on."""
    losses: tuple[Loss, ...] = ()
    unread: Mapping[str, Mapping[int, int]] = MappingProxyType({})
    """By log and partition: how far the log went when the batch was planned, where that is further than the batch."""

    def rows(self, table: str) -> Mapping[Hour, int]:
        found: dict[Hour, int] = {}
        for part in self.parts:
            if part.table == table:
                for hour, rows in part.hours.items():
                    found[hour] = found.get(hour, 0) + rows
        return found


class HourGeneration(NamedTuple):
    """An hour of a table. `dropped`: rows that were there twice (or, of changes, were followed by others). `offsets`: of the
    logs that its rows are from."""

    table: str
    hour: Hour
    path: str
    rows: int
    dropped: int
    offsets: Offsets


class Rollup(NamedTuple):
    """Rows of batches below `boundary` with hours below `cutoff` are in generations from here on. `tables`: those that are new or
    have changed."""

    number: int
    boundary: int
    cutoff: Hour
    generations: tuple[HourGeneration, ...]
    at_ms: int = 0
    tables: tuple[TableDefinition, ...] = ()


class Snapshot(NamedTuple):
    """What a view shows. `late`: hours below the cutoff that have rows in current."""

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
    """What a rollup does with an hour of a table: rows of `parts` (of batches by number) join those of `before`."""

    table: str
    hour: Hour
    parts: tuple[tuple[int, BatchPart], ...]
    before: HourGeneration | None


@dataclass(frozen=True)
class State:
    """The fold of the ledger's records. `batches`: those whose directories are still there."""

    batches: Mapping[int, Batch] = field(default_factory=dict)
    generations: Mapping[tuple[str, Hour], HourGeneration] = field(default_factory=dict)
    tables: Mapping[str, TableDefinition] = field(default_factory=dict)
    end: int = 0
    boundary: int = 0
    cutoff: Hour = FIRST_HOUR
    rollups: int = 0
    offsets: Offsets = field(default_factory=dict)
    """Where the batches end; the first is where they began."""
    defined: tuple[str, ...] = ()
    """Tables that the last batch has defined anew."""
    placed: tuple[HourGeneration, ...] = ()
    """Those of the last rollup: whoever makes the next one has seen to it that the metastore has them."""
    superseded: tuple[tuple[int, HourGeneration], ...] = ()
    """Generations that others have taken the place of, with the number of the rollup that did it."""
    logs: tuple[TopicLog, ...] = ()
    """In order: of a topic the last one counts."""
    losses: tuple[Loss, ...] = ()
    unread: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """As the last batch has it."""

    def log_of(self, topic: str, batch: int | None = None) -> TopicLog:
        """What batch number `batch` has read of a topic; by default what the next one reads, if it is not made again."""
        at = self.end if batch is None else batch
        found = [log for log in self.logs if log.topic == topic and log.batch <= at]
        return found[-1] if found else TopicLog(topic, topic)

    def earlier_logs(self, topic: str) -> tuple[TopicLog, ...]:
        """Those of topics of that name which are gone."""
        current = self.log_of(topic)
        return tuple(log for log in self.logs if log.topic == topic and log.name != current.name)

    def with_batch(self, batch: Batch) -> State:
        """Raises ValueError if it is not the next."""
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
        """Raises ValueError if it is not the next, or goes back."""
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
        """After their directories are gone."""
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
        """The first batch that still has rows in current; the end if none has."""
        waiting = (
            number
            for number, batch in self.batches.items()
            if number >= self.boundary or any(hour >= self.cutoff for part in batch.parts for hour in part.hours)
        )
        return min(waiting, default=self.end)

    def current_rows(self, table: str) -> dict[Hour, int]:
        """Rows by hour that the view takes out of current (duplicates counted)."""
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
        """What a rollup up to `cutoff` has to do; its boundary is the end."""
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
        """Batches and generations that no view shows, if those of rollups below `applied` have done so for the time of grace."""
        old = [generation for number, generation in self.superseded if number < applied]
        if applied < self.rollups:
            return [], old
        oldest = self.oldest()
        return [batch for number, batch in sorted(self.batches.items()) if number < oldest], old


def joined_offsets(many: Sequence[Offsets]) -> dict[str, dict[int, tuple[int, int]]]:
    """The least first and the greatest end of each partition."""
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for offsets in many:
        for topic, partitions in offsets.items():
            of_topic = found.setdefault(topic, {})
            for partition, (first, end) in partitions.items():
                low, high = of_topic.get(partition, (first, end))
                of_topic[partition] = min(low, first), max(high, end)
    return found


def _grown(tables: Mapping[str, TableDefinition], changed: Iterable[TableDefinition]) -> dict[str, TableDefinition]:
    """Definitions only grow. The one that has grown most counts: the ledger is not read in the order in which it was written."""
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


# -- effects: what the metastore is told, in this order


class AddPart(NamedTuple):
    """A partition of `current`."""

    batch: int
    part: BatchPart


class PlaceHour(NamedTuple):
    """The hour's partition, at its new place. `replaces`: another generation was there."""

    generation: HourGeneration
    replaces: bool = True


class ShowSnapshot(NamedTuple):
    """The view's text: from here on readers see it."""

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
    """All of a table, for a version of its columns that has none so far."""

    table: str
    generations: tuple[HourGeneration, ...]


Effect = DefineTable | RegisterHours | AddPart | PlaceHour | ShowSnapshot | DropPart | DeletePath


def effects_of_batch(state: State, batch: Batch) -> list[Effect]:
    """`state`: with the batch."""
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
    """`state`: with the rollup."""
    anew = {table.name for table in rollup.tables}
    return [
        *map(DefineTable, rollup.tables),
        *_registered(state, anew),
        *(add for add in _shown_parts(state) if add.part.table in anew),
        *_placed(state, rollup.generations),
        *_views(state),
    ]


def _placed(state: State, generations: Iterable[HourGeneration]) -> list[PlaceHour]:
    """Those of the last rollup."""
    replaced = {(old.table, old.hour) for number, old in state.superseded if number == state.rollups - 1}
    return [PlaceHour(each, (each.table, each.hour) in replaced) for each in generations]


def effects_of_restart(state: State, lost: Iterable[str] = ()) -> list[Effect]:
    """All that the metastore might lack, wherever the last process has stopped. `lost`: tables that it does not know at all."""
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
    """Of all parts that were written together: current/000000000012-1f2e3d4c."""
    return "/".join(path.split("/")[:2])


def _views(state: State) -> list[Effect]:
    return [ShowSnapshot(table, state.snapshot(table)) for table in sorted(state.tables)]
