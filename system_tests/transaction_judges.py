"""What a history says of transactions beyond single records: read in halves (G1b), torn, and in circles (G1c).

Only those who read committed records are judged: the others may see anything.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from system_tests.history import Assign, EndTransaction, Kind, Partition, Poll, Send

TransactionId = tuple[str, int]
"""The process, and which of its transactions."""

Finding = tuple[str, Partition | None, str]
"""Name of the anomaly, where, and what."""


class _Reading(NamedTuple):
    time: int
    reader: str
    partition: Partition
    offset: int
    value: int
    transaction: TransactionId | None
    """The reader's own, in which it used the record."""


class _Transactions:
    """The history, sorted by transaction."""

    def __init__(self, history: Iterable[object]) -> None:
        self.of_value: dict[int, TransactionId] = {}
        self.last_sent: dict[tuple[TransactionId, Partition], int] = {}
        """When a transaction's last record for the partition was sent."""
        self.committed: set[TransactionId] = set()
        self.aborted: set[TransactionId] = set()
        self.values_at: dict[tuple[Partition, int], int] = {}
        self.readings: list[_Reading] = []
        self.skipped: dict[str, set[int]] = defaultdict(set)
        """reader → values that it went past without being given them"""
        self._passed: list[tuple[str, Partition, int, int]] = []
        positions: dict[tuple[str, Partition], int] = {}
        for index, event in enumerate(history):
            match event:
                case Send():
                    self._send(index, event)
                case EndTransaction(kind=Kind.OK):
                    (self.committed if event.commit else self.aborted).add((event.process, event.transaction))
                case Assign():
                    for partition in event.partitions:
                        positions.pop((event.process, partition), None)
                case Poll(read_committed=True):
                    self._poll(index, event, positions)
                case Poll():
                    self.values_at.update({(record.partition, record.offset): record.value for record in event.records})
        for reader, partition, first, last in self._passed:
            values = (self.values_at.get((partition, offset)) for offset in range(first, last + 1))
            self.skipped[reader].update(value for value in values if value is not None)

    def _send(self, index: int, event: Send) -> None:
        if event.kind is Kind.INVOKE and event.transaction is not None:
            transaction = self.of_value[event.value] = (event.process, event.transaction)
            self.last_sent[transaction, event.partition] = index
        elif event.kind is Kind.OK and event.offset >= 0:
            self.values_at[event.partition, event.offset] = event.value

    def _poll(self, index: int, event: Poll, positions: dict[tuple[str, Partition], int]) -> None:
        used_in = None if event.transaction is None else (event.process, event.transaction)
        for partition, offset, value in event.records:
            self.values_at[partition, offset] = value
            self.readings.append(_Reading(index, event.process, partition, offset, value, used_in))
            last = positions.get((event.process, partition), offset)
            if offset > last + 1:
                self._passed.append((event.process, partition, last + 1, offset - 1))
            positions[event.process, partition] = offset


def judge_transactions(history: Iterable[object]) -> Iterator[Finding]:
    books = _Transactions(history)
    yield from _read_in_halves(books)
    yield from _torn(books)
    yield from _circles(books)


def _read_in_halves(books: _Transactions) -> Iterator[Finding]:
    """G1b: a record was read before its transaction had written its last one there."""
    for reading in books.readings:
        transaction = books.of_value.get(reading.value)
        if transaction is not None and books.last_sent[transaction, reading.partition] > reading.time:
            yield (
                "intermediate-read",
                reading.partition,
                f"{reading.reader} polled {reading.value} at offset {reading.offset}, and {_name(transaction)} went on there",
            )


def _torn(books: _Transactions) -> Iterator[Finding]:
    """Of one transaction a reader was given some records, and went past others. (Of an aborted one all are too many: G1a.)"""
    seen: dict[tuple[str, TransactionId], int] = {}
    for reading in books.readings:
        transaction = books.of_value.get(reading.value)
        if transaction is not None and transaction not in books.aborted:
            seen.setdefault((reading.reader, transaction), reading.value)
    for reader, values in sorted(books.skipped.items()):
        for value in sorted(values):
            transaction = books.of_value.get(value)
            if transaction is not None and (reader, transaction) in seen:
                given = seen[reader, transaction]
                yield (
                    "torn-transaction",
                    None,
                    f"of {_name(transaction)} {reader} polled {given}, and went past {value}",
                )


def _circles(books: _Transactions) -> Iterator[Finding]:
    """G1c: transactions that were committed, each of which has used what the next has written."""
    read_from: dict[TransactionId, set[TransactionId]] = defaultdict(set)
    for reading in books.readings:
        writer = books.of_value.get(reading.value)
        if reading.transaction in books.committed and writer in books.committed and writer != reading.transaction:
            assert reading.transaction is not None and writer is not None
            read_from[reading.transaction].add(writer)
    done: set[TransactionId] = set()
    for start in sorted(read_from):
        circle = _circle(start, read_from, done)
        if circle:
            yield "circular-information-flow", None, " read from ".join(map(_name, circle))


def _circle(
    start: TransactionId, read_from: dict[TransactionId, set[TransactionId]], done: set[TransactionId]
) -> list[TransactionId]:
    """A way from a transaction back to itself among those that `start` leads to; empty if there is none. `done`: those that are
    known to lead to none."""
    way = [start]
    left = [sorted(read_from.get(start, ()))]
    while way:
        if not left[-1]:
            done.add(way.pop())
            left.pop()
            continue
        following = left[-1].pop()
        if following in way:
            done.update(way)
            return [*way[way.index(following) :], following]
        if following not in done:
            way.append(following)
            left.append(sorted(read_from.get(following, ())))
    return []


def _name(transaction: TransactionId) -> str:
    return f"transaction {transaction[1]} of {transaction[0]}"
