"""The ledger: one file for each decision, created atomically by a rename. It is the source of truth; all else is
derived.


    _ledger/batches/000000000123.json   a batch is committed
    _ledger/rollups/000000017.json      all hours of a rollup at once
    _ledger/base/000000018.json.gz      rollups before number 18, folded: one is enough to begin with, the newest counts
    _ledger/history/000000001439.json.gz   offsets of batches up to number 1439, whose directories are gone: for `backfill`

Two writing processes are safe, because each number can be created once: the loser reloads.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from kafkapy.warehouse.file_system import FileSystem
from kafkapy.warehouse.snapshot import (
    Batch,
    BatchPart,
    HourGeneration,
    Loss,
    Offsets,
    Rollup,
    State,
    TableDefinition,
    TopicLog,
)

BATCHES, ROLLUPS, BASE, HISTORY = (f"_ledger/{name}" for name in ("batches", "rollups", "base", "history"))


class LedgerError(ValueError):
    """A record of the ledger is damaged; the message names its file."""


class Ledger:
    """Reads and appends records. Raises OSError, FileExists if another process was first, LedgerError for damaged
    records."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def load(self) -> State:
        """Return the state after all records."""
        try:
            return self._folded()
        except LedgerError:
            raise
        except ValueError as error:
            raise LedgerError(f"A record is missing in {self._files.url('_ledger')}: {error}") from None

    def _folded(self) -> State:
        state = self._base()
        for number in self._numbers(ROLLUPS):
            if number >= state.rollups:
                state = state.with_rollup(rollup_of(self._read(f"{ROLLUPS}/{number:09}.json")))
        batches = [batch_of(self._read(f"{BATCHES}/{number:012}.json")) for number in self._numbers(BATCHES)]
        return _with_batches(state, batches)

    def has_more_than(self, state: State) -> bool:
        """Return whether another process has added records since; only file names are read."""
        last = max(self._numbers(BATCHES), default=-1), max(self._numbers(ROLLUPS), default=-1)
        return last[0] >= state.end or last[1] >= state.rollups

    def add_batch(self, batch: Batch) -> None:
        self._files.create(f"{BATCHES}/{batch.number:012}.json", _bytes(batch_json(batch)))

    def add_rollup(self, rollup: Rollup) -> None:
        self._files.create(f"{ROLLUPS}/{rollup.number:09}.json", _bytes(rollup_json(rollup)))

    # -- when directories are gone

    def fold(self, state: State, batches: list[Batch]) -> None:
        """`state`: as it is without `batches`, whose directories are gone: their offsets become history."""
        if batches:
            lines = [
                {"number": batch.number, "at_ms": batch.at_ms, "offsets": _offsets_json(batch.offsets)}
                for batch in batches
            ]
            name = f"{HISTORY}/{batches[-1].number:012}.json.gz"
            if name.rpartition("/")[2] not in self._files.names(HISTORY):
                self._files.create(name, gzip.compress(_bytes(lines), mtime=0))
        names = self._files.names(BASE)
        version = 1 + max((int(name.partition(".")[0]) for name in names), default=-1)
        self._files.create(f"{BASE}/{version:09}.json.gz", gzip.compress(_bytes(_base_json(state)), mtime=0))
        for batch in batches:
            self._files.delete(f"{BATCHES}/{batch.number:012}.json")
        for name in names:
            self._files.delete(f"{BASE}/{name}")
        for number in self._numbers(ROLLUPS):
            if number < state.rollups:
                self._files.delete(f"{ROLLUPS}/{number:09}.json")

    def history(self, state: State) -> Iterator[Batch]:
        """Return number, time and offsets of all batches, in order."""
        last = -1
        for name in self._files.names(HISTORY):
            for line in json.loads(gzip.decompress(self._files.read(f"{HISTORY}/{name}"))):
                if line["number"] > last:
                    last = line["number"]
                    yield Batch(last, _offsets_of(line["offsets"]), (), at_ms=line["at_ms"])
        for number, batch in sorted(state.batches.items()):
            if number > last:
                yield batch

    def _base(self) -> State:
        names = self._files.names(BASE)
        return _base_of(json.loads(gzip.decompress(self._files.read(f"{BASE}/{names[-1]}")))) if names else State()

    def _numbers(self, directory: str) -> list[int]:
        return [int(name.partition(".")[0]) for name in self._files.names(directory)]

    def _read(self, path: str) -> Any:
        try:
            return json.loads(self._files.read(path))
        except ValueError as error:
            raise LedgerError(f"{self._files.url(path)} is no record of the warehouse's ledger: {error}") from None


def _with_batches(state: State, batches: list[Batch]) -> State:
    """Rollups are folded before the batches that they are about: only what comes after the base's end counts as new."""
    kept = dict(state.batches)
    for batch in sorted(batches):
        if batch.number >= state.end:
            state = state.with_batch(batch)
        kept[batch.number] = batch
    return replace(state, batches={**kept, **state.batches})


# -- records as JSON


def batch_json(batch: Batch) -> dict[str, Any]:
    return {
        "number": batch.number,
        "at_ms": batch.at_ms,
        "offsets": _offsets_json(batch.offsets),
        "parts": [part._asdict() for part in batch.parts],
        "tables": [table._asdict() for table in batch.tables],
        **_places_json(batch),
    }


def batch_of(found: Mapping[str, Any]) -> Batch:
    return Batch(
        found["number"],
        _offsets_of(found["offsets"]),
        tuple(BatchPart(**part) for part in found["parts"]),
        _tables_of(found["tables"]),
        found["at_ms"],
        **_places_of(found),
    )


def _places_json(record: Batch | State) -> dict[str, Any]:
    """What a batch and a base both say of logs. Older ledgers have none of it."""
    return {
        "logs": [log._asdict() for log in record.logs],
        "losses": [loss._asdict() for loss in record.losses],
        "unread": {log: {str(each): end for each, end in ends.items()} for log, ends in record.unread.items()},
    }


def _places_of(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "logs": tuple(TopicLog(**log) for log in found.get("logs", ())),
        "losses": tuple(Loss(**loss) for loss in found.get("losses", ())),
        "unread": {
            log: {int(each): end for each, end in ends.items()} for log, ends in found.get("unread", {}).items()
        },
    }


def rollup_json(rollup: Rollup) -> dict[str, Any]:
    generations = [_generation_json(each) for each in rollup.generations]
    return {**rollup._asdict(), "generations": generations, "tables": [table._asdict() for table in rollup.tables]}


def rollup_of(found: Mapping[str, Any]) -> Rollup:
    generations = tuple(map(_generation_of, found["generations"]))
    return Rollup(**{**found, "generations": generations, "tables": _tables_of(found.get("tables", []))})


def _base_json(state: State) -> dict[str, Any]:
    return {
        "end": state.end,
        "boundary": state.boundary,
        "cutoff": state.cutoff,
        "rollups": state.rollups,
        "offsets": _offsets_json(state.offsets),
        "tables": [table._asdict() for table in state.tables.values()],
        "generations": [_generation_json(each) for each in state.generations.values()],
        "defined": list(state.defined),
        "placed": [_generation_json(each) for each in state.placed],
        "superseded": [[number, _generation_json(each)] for number, each in state.superseded],
        **_places_json(state),
    }


def _base_of(found: Mapping[str, Any]) -> State:
    generations = [_generation_of(each) for each in found["generations"]]
    return State(
        generations={(each.table, each.hour): each for each in generations},
        tables={table.name: table for table in _tables_of(found["tables"])},
        end=found["end"],
        boundary=found["boundary"],
        cutoff=found["cutoff"],
        rollups=found["rollups"],
        offsets=_offsets_of(found["offsets"]),
        defined=tuple(found["defined"]),
        placed=tuple(map(_generation_of, found["placed"])),
        superseded=tuple((number, _generation_of(each)) for number, each in found["superseded"]),
        **_places_of(found),
    )


def _generation_json(generation: HourGeneration) -> dict[str, Any]:
    return {**generation._asdict(), "offsets": _offsets_json(generation.offsets)}


def _generation_of(found: Mapping[str, Any]) -> HourGeneration:
    return HourGeneration(**{**found, "offsets": _offsets_of(found["offsets"])})


def _tables_of(found: list[dict[str, Any]]) -> tuple[TableDefinition, ...]:
    return tuple(
        TableDefinition(**{**table, "schemas": tuple(table["schemas"]), "views": tuple(table.get("views", ()))})
        for table in found
    )


def _offsets_json(offsets: Offsets) -> dict[str, dict[str, list[int]]]:
    return {
        log: {str(partition): list(bounds) for partition, bounds in partitions.items()}
        for log, partitions in offsets.items()
    }


def _offsets_of(found: Mapping[str, Mapping[str, list[int]]]) -> Offsets:
    return {
        log: {int(partition): (first, end) for partition, (first, end) in partitions.items()}
        for log, partitions in found.items()
    }


def _bytes(record: Any) -> bytes:
    return json.dumps(record, separators=(",", ":"), sort_keys=True).encode()
