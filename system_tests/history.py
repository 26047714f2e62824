"""What clients did and saw, in one order: the history that `checker.check` judges.

After Jepsen: who sends says so before (`INVOKE`) and after, when it knows that the record was written (`OK`), that it was
not (`FAIL`), or that nobody can tell (`INFO`: a timeout, a cut connection). A poll is one event with all that it brought.
An event's place in the list is its time: what stands before has happened before.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

Partition = tuple[str, int]
"""Topic and number."""


class Kind(StrEnum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Send(NamedTuple):
    """One record. Its value is unique in the history; `offset` is known with OK only (-1: the broker didn't say).
    `transaction`: which of the process's transactions it belongs to."""

    kind: Kind
    process: str
    partition: Partition
    value: int
    offset: int = -1
    transaction: int | None = None


class Polled(NamedTuple):
    partition: Partition
    offset: int
    value: int


class Poll(NamedTuple):
    """What one poll brought, in its order. `transaction`: that of the process in which it is used."""

    process: str
    records: tuple[Polled, ...]
    read_committed: bool = False
    transaction: int | None = None


class Assign(NamedTuple):
    """From here on the process reads these too, from a position that may be any: a group's, or one it has sought."""

    process: str
    partitions: tuple[Partition, ...]
    group: str | None = None


class Commit(NamedTuple):
    """A group's offsets were acknowledged."""

    process: str
    group: str
    offsets: tuple[tuple[Partition, int], ...]


class EndTransaction(NamedTuple):
    """A transaction of the process is committed, or else aborted."""

    kind: Kind
    process: str
    transaction: int
    commit: bool


class Failure(NamedTuple):
    """An error that a client should have kept from its user."""

    process: str
    error: str


Event = Send | Poll | Assign | Commit | EndTransaction | Failure
_EVENTS: dict[str, Any] = {kind.__name__: kind for kind in (Send, Poll, Assign, Commit, EndTransaction, Failure)}


class History:
    """Events in order; any thread may add to it.

    Invariant: only ever appended to, one event at a time (which needs no lock).
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)
        self.add = self.events.append

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    # ------------------------------------------------------------------------------------------------ for clients

    def invoke(self, process: str, partition: Partition, value: int, transaction: int | None = None) -> None:
        self.add(Send(Kind.INVOKE, process, partition, value, -1, transaction))

    def ok(self, process: str, partition: Partition, value: int, offset: int) -> None:
        self.add(Send(Kind.OK, process, partition, value, offset))

    def fail(self, process: str, partition: Partition, value: int) -> None:
        self.add(Send(Kind.FAIL, process, partition, value))

    def info(self, process: str, partition: Partition, value: int) -> None:
        self.add(Send(Kind.INFO, process, partition, value))

    def poll(
        self,
        process: str,
        records: Iterable[tuple[Partition, int, int]],
        read_committed: bool = False,
        transaction: int | None = None,
    ) -> None:
        self.add(Poll(process, tuple(Polled(*record) for record in records), read_committed, transaction))

    def assign(self, process: str, partitions: Iterable[Partition], group: str | None = None) -> None:
        self.add(Assign(process, tuple(sorted(partitions)), group))

    def commit(self, process: str, group: str, offsets: Mapping[Partition, int]) -> None:
        self.add(Commit(process, group, tuple(sorted(offsets.items()))))

    def end_transaction(self, kind: Kind, process: str, transaction: int, commit: bool) -> None:
        self.add(EndTransaction(kind, process, transaction, commit))

    def failure(self, process: str, error: BaseException | str) -> None:
        self.add(Failure(process, error if isinstance(error, str) else f"{type(error).__name__}: {error}"))

    # ------------------------------------------------------------------------------------------------ as a file

    def save(self, path: Path) -> None:
        """One JSON array a line: the event's name, then its fields."""
        with open(path, "w") as file:
            file.writelines(json.dumps([type(event).__name__, *event]) + "\n" for event in self.events)

    @classmethod
    def load(cls, path: Path) -> History:
        with open(path) as file:
            return cls(_event(*json.loads(line)) for line in file)


def _event(name: str, *fields: Any) -> Event:
    event: Event = _EVENTS[name](*map(_frozen, fields))
    if isinstance(event, Poll):
        return event._replace(records=tuple(Polled(*record) for record in event.records))
    if isinstance(event, Send | EndTransaction):
        return event._replace(kind=Kind(event.kind))
    return event


def _frozen(field: Any) -> Hashable:
    return tuple(map(_frozen, field)) if isinstance(field, list) else field
