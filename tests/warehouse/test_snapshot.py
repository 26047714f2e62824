"""The commit protocol against a model of a metastore: processes die between any two effects, readers read between them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.warehouse.file_system import FileExists, LocalFileSystem
from kafkapy.warehouse.ledger import Ledger, LedgerError
from kafkapy.warehouse.snapshot import (
    AddPart,
    Batch,
    BatchPart,
    DefineTable,
    DeletePath,
    DropPart,
    Effect,
    Hour,
    HourGeneration,
    Loss,
    PlaceHour,
    RegisterHours,
    Rollup,
    ShowSnapshot,
    Snapshot,
    State,
    TableDefinition,
    TopicLog,
    effects_of_batch,
    effects_of_restart,
    effects_of_rollup,
    effects_of_sweep,
)

HOURS = [f"2026-11-24-0{hour}" for hour in range(5)]
TABLE = TableDefinition("t", "topic", "events", {})


class Row(NamedTuple):
    event: int
    hour: Hour
    batch: int


class View(NamedTuple):
    """A text: it names the version of the tables."""

    version: int
    snapshot: Snapshot


@dataclass
class Metastore:
    """What readers see: texts of views, partitions of each version of the tables, and the files behind them."""

    view: View | None = None
    version: int = 0
    parts: dict[int, dict[int, str]] = field(default_factory=dict)
    hours: dict[int, dict[Hour, str]] = field(default_factory=dict)
    files: dict[str, list[Row]] = field(default_factory=dict)

    def perform(self, effect: Effect) -> None:
        match effect:
            case AddPart(batch, part):
                self.parts[self.version].setdefault(batch, part.path)
            case DropPart(batch, _):
                self.parts[self.version].pop(batch, None)
            case PlaceHour(generation):
                self.hours[self.version][generation.hour] = generation.path
            case RegisterHours(_, generations):
                for generation in generations:
                    self.hours[self.version].setdefault(generation.hour, generation.path)
            case ShowSnapshot(_, snapshot):
                self.view = View(self.version, snapshot)
            case DeletePath(path):
                for each in [name for name in self.files if f"{name}/".startswith(f"{path}/")]:
                    del self.files[each]
            case DefineTable(table):
                self.version = table.version
                self.parts.setdefault(table.version, {})
                self.hours.setdefault(table.version, {})

    def query(self, view: View) -> list[Row]:
        """What the view's SQL gives: rows of hours, and of current the first of each id that hours don't have."""
        snapshot = view.snapshot
        paths = self.hours[view.version].values()
        hours = [row for path in paths for row in self.files[path] if snapshot.in_hours(row.batch, row.hour)]
        published = {(row.hour, row.event) for row in hours if row.hour in snapshot.late}
        first: dict[tuple[Hour, int], Row] = {}
        parts = self.parts[view.version]
        for batch in sorted(number for number in parts if snapshot.oldest <= number < snapshot.end):
            for row in self.files[parts[batch]]:
                if snapshot.in_current(row.batch, row.hour) and (row.hour, row.event) not in published:
                    first.setdefault((row.hour, row.event), row)
        return hours + list(first.values())


class Died(Exception):
    pass


@dataclass
class Model:
    """A driver of the pipeline. `lives`: how many effects it may perform before it dies."""

    ledger: Ledger
    metastore: Metastore = field(default_factory=Metastore)
    truth: set[int] = field(default_factory=set)
    state: State = field(default_factory=State)
    applied: int = 0
    lives: int = 10**9
    names: int = 0

    def __post_init__(self) -> None:
        self.check_readers: list[tuple[View, frozenset[int]]] = []

    def perform(self, effects: list[Effect]) -> None:
        for effect in effects:
            if self.lives == 0:
                raise Died
            self.lives -= 1
            self.metastore.perform(effect)
            self.check()

    def check(self) -> None:
        """A reader that starts now, and those that have read the view's text before, find each event once."""
        if self.metastore.view is not None:
            self.check_readers.append((self.metastore.view, self.shown(self.metastore.view.snapshot)))
        for view, expected in self.check_readers:
            assert Counter(row.event for row in self.metastore.query(view)) == Counter(expected), view

    def shown(self, snapshot: Snapshot) -> frozenset[int]:
        return frozenset(event for batch, events in self.sent.items() if batch < snapshot.end for event in events)

    sent: dict[int, set[int]] = field(default_factory=dict)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}/{self.names}"

    def batch(self, events: list[tuple[int, Hour]], wider: bool) -> None:
        number = self.state.end
        directory = self.name("current")
        rows = [Row(event, hour, number) for event, hour in events]
        self.metastore.files[f"{directory}/s"] = rows
        part = BatchPart("t", "s", f"{directory}/s", dict(Counter(row.hour for row in rows)))
        known = self.state.tables.get("t")
        tables: tuple[TableDefinition, ...] = () if known and not wider else (TABLE._replace(version=number + 1),)
        batch = Batch(number, {"topic": {0: (number, number + 1)}}, (part,) if rows else (), tables)
        self.die_perhaps()
        self.ledger.add_batch(batch)
        self.sent[number] = {event for event, _ in events}
        self.state = self.state.with_batch(batch)
        self.perform(effects_of_batch(self.state, batch))

    def rollup(self, cutoff: Hour) -> None:
        cutoff = max(cutoff, self.state.cutoff)
        generations = []
        for move in self.state.moves(cutoff):
            rows = [] if move.before is None else list(self.metastore.files[move.before.path])
            known = {row.event for row in rows}
            for _, part in move.parts:
                for row in self.metastore.files[part.path]:
                    if row.hour == move.hour and row.event not in known:
                        known.add(row.event)
                        rows.append(row)
            path = self.name("hours")
            self.metastore.files[path] = rows
            generations.append(HourGeneration("t", move.hour, path, len(rows), 0, {}))
        self.die_perhaps()
        rollup = Rollup(self.state.rollups, self.state.end, cutoff, tuple(generations))
        self.ledger.add_rollup(rollup)
        self.state = self.state.with_rollup(rollup)
        self.perform(effects_of_rollup(self.state, rollup))
        self.applied = self.state.rollups

    def die_perhaps(self) -> None:
        if self.lives == 0:
            raise Died
        self.lives -= 1

    def sweep(self) -> None:
        """The time of grace is over: readers from before are gone."""
        self.check_readers.clear()
        batches, old = self.state.garbage(self.applied)
        self.perform(effects_of_sweep(batches, old))
        self.state = self.state.without((batch.number for batch in batches), old)
        self.ledger.fold(self.state, batches)

    def restart(self, lives: int) -> None:
        self.lives = lives
        self.state = self.ledger.load()
        self.perform(effects_of_restart(self.state))
        self.applied = self.state.rollups


def event_hour(event: int) -> Hour:
    return HOURS[event % len(HOURS)]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["batch", "batch", "wider"]), st.lists(st.integers(0, 30), max_size=6)),
        st.sampled_from(HOURS).map(lambda hour: ("rollup", hour)),
        st.just(("sweep", None)),
    ),
    max_size=14,
)


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, lives=st.lists(st.integers(0, 12), max_size=8))
def test_readers_see_each_event_once_whatever_dies(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]], lives: list[int]
) -> None:
    model = Model(Ledger(LocalFileSystem(tmp_path_factory.mktemp("ledger"))))
    deaths: Iterator[int] = iter(lives)
    model.lives = next(deaths, 10**9)
    todo = list(steps)
    while todo:
        kind, what = todo[0]
        before = model.state.end
        try:
            if kind in ("batch", "wider"):
                assert isinstance(what, list)
                model.batch([(event, event_hour(event)) for event in what], kind == "wider")
            elif kind == "rollup":
                assert isinstance(what, str)
                model.rollup(what)
            else:
                model.sweep()
        except Died:
            restarted = False
            while not restarted:
                try:
                    model.restart(next(deaths, 10**9))
                    restarted = True
                except Died:
                    pass
            if kind in ("batch", "wider") and model.state.end == before:
                continue  # Spark runs the batch again, unless its record was there
        todo.pop(0)
    model.restart(10**9)
    assert model.metastore.view is None or model.metastore.view.snapshot.end == model.state.end
    assert replace(model.state, batches={}) == replace(model.ledger.load(), batches={})


def test_a_row_is_in_one_place() -> None:
    snapshot = Snapshot(oldest=2, boundary=4, cutoff=HOURS[2], end=6, late=())
    for batch in range(2, 6):
        for hour in HOURS:
            assert snapshot.in_hours(batch, hour) != snapshot.in_current(batch, hour)


def test_an_open_hour_stays_in_current() -> None:
    part = BatchPart("t", "s", "p", {HOURS[1]: 5, HOURS[2]: 7})
    state = State(tables={"t": TABLE}).with_batch(Batch(0, {}, (part,)))
    assert [move.hour for move in state.moves(HOURS[2])] == [HOURS[1]]
    rolled = state.with_rollup(Rollup(0, 1, HOURS[2], (HourGeneration("t", HOURS[1], "g", 5, 0, {}),)))
    assert rolled.current_rows("t") == {HOURS[2]: 7}
    assert rolled.snapshot("t") == Snapshot(0, 1, HOURS[2], 1, ())
    assert rolled.garbage(1) == ([], [])
    closed = rolled.with_rollup(Rollup(1, 1, HOURS[3], (HourGeneration("t", HOURS[2], "h", 7, 0, {}),)))
    assert closed.garbage(1) == ([], [])
    assert closed.garbage(2) == ([closed.batches[0]], [])
    late = rolled.with_batch(Batch(1, {}, (BatchPart("t", "s", "q", {HOURS[1]: 1}),)))
    assert late.snapshot("t").late == (HOURS[1],)
    (move,) = late.moves(HOURS[2])
    assert (move.parts, move.before) == (
        ((1, BatchPart("t", "s", "q", {HOURS[1]: 1})),),
        rolled.generations["t", HOURS[1]],
    )


def test_records_must_follow() -> None:
    with pytest.raises(ValueError, match="the next is 0"):
        State().with_batch(Batch(1, {}, ()))
    with pytest.raises(ValueError, match="does not follow"):
        State(boundary=3).with_rollup(Rollup(0, 2, HOURS[0], ()))


def test_a_number_is_taken_once(tmp_path: Path) -> None:
    ledger = Ledger(LocalFileSystem(tmp_path))
    ledger.add_batch(Batch(0, {}, ()))
    with pytest.raises(FileExists):
        ledger.add_batch(Batch(0, {"other": {0: (0, 1)}}, ()))
    assert ledger.load().offsets == {}


def test_history_has_all_batches(tmp_path: Path) -> None:
    ledger = Ledger(LocalFileSystem(tmp_path))
    batches = [Batch(number, {"t": {0: (number, number + 1)}}, ()) for number in range(4)]
    for batch in batches:
        ledger.add_batch(batch)
    ledger.fold(ledger.load().without([0, 1], ()), batches[:2])
    state = ledger.load()
    assert sorted(state.batches) == [2, 3]
    assert state.end == 4
    assert state.offsets == {"t": {0: (0, 4)}}
    assert [(batch.number, batch.offsets["t"][0]) for batch in ledger.history(state)] == [
        (number, (number, number + 1)) for number in range(4)
    ]


def test_a_ledger_of_an_older_version_is_read(tmp_path: Path) -> None:
    """It knew neither ids of topics nor losses."""
    files = LocalFileSystem(tmp_path)
    old = {"number": 0, "at_ms": 5, "offsets": {"t": {"0": [3, 9]}}, "parts": [], "tables": []}
    files.create("_ledger/batches/000000000000.json", json.dumps(old).encode())
    state = Ledger(files).load()
    assert state.offsets == {"t": {0: (3, 9)}}
    assert state.log_of("t") == TopicLog("t", "t")
    assert (state.losses, state.unread) == ((), {})


def test_logs_losses_and_what_is_unread_are_kept(tmp_path: Path) -> None:
    ledger = Ledger(LocalFileSystem(tmp_path))
    first = Batch(0, {"t": {0: (0, 5)}}, (), logs=(TopicLog("t", "t", "a"),), unread={"t": {0: 7}})
    loss = Loss("t", "t", 0, 5, 7, "gone", 3)
    second = Batch(1, {"t@1": {0: (0, 2)}}, (), logs=(TopicLog("t@1", "t", "b", 1),), losses=(loss,))
    for batch in (first, second):
        ledger.add_batch(batch)
    state = ledger.load()
    assert (state.batches[0], state.batches[1]) == (first, second)
    ledger.fold(state.without([0, 1], ()), [first, second])
    folded = Ledger(LocalFileSystem(tmp_path)).load()
    assert replace(folded, batches={}) == replace(state, batches={})
    assert folded.log_of("t") == TopicLog("t@1", "t", "b", 1)
    assert folded.losses == (loss,)


def test_a_record_that_is_missing_is_an_error(tmp_path: Path) -> None:
    ledger = Ledger(LocalFileSystem(tmp_path))
    for number in range(3):
        ledger.add_batch(Batch(number, {}, ()))
    (tmp_path / "_ledger/batches/000000000001.json").unlink()
    with pytest.raises(LedgerError, match="Batch 2 does not follow: the next is 1"):
        ledger.load()


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    files = LocalFileSystem(tmp_path)
    files.create("_ledger/batches/000000000000.json", b"{")
    with pytest.raises(ValueError, match=r"000000000000\.json is no record"):
        Ledger(files).load()


def test_tables_of_a_rollup_count_beside_those_of_batches_before_and_behind_it(tmp_path: Path) -> None:
    """The ledger reads rollups before batches."""
    ledger = Ledger(LocalFileSystem(tmp_path))
    grown = TABLE._replace(schemas=("1", "2"), version=2, views=("other",))
    whole = grown._replace(schemas=("1", "2", "3"))
    ledger.add_batch(Batch(0, {}, (), (TABLE._replace(schemas=("1",)),)))
    rollup = Rollup(0, 1, HOURS[1], (), tables=(grown,))
    ledger.add_rollup(rollup)
    state = ledger.load()
    assert state.tables == {"t": grown}
    assert effects_of_rollup(state, rollup)[0] == DefineTable(grown)
    assert ("t" in state.defined) and DefineTable(grown) in effects_of_restart(state)
    ledger.add_batch(Batch(1, {}, (), (whole,)))
    assert ledger.load().tables == {"t": whole}
    assert whole.view == "other"
