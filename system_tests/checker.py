"""Judges a history: what Kafka promises, and each breach of it by Jepsen's name.

`python -m system_tests.checker FILE` judges a history that was saved.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from system_tests.history import Assign, Commit, EndTransaction, Failure, History, Kind, Partition, Poll, Send
from system_tests.transaction_judges import judge_transactions

ANOMALIES = {
    "lost-write": "an acknowledged record was never polled, though records behind it were",
    "unseen": "an acknowledged record was never polled, by anybody or by a group that reads the topic",
    "duplicate": "one record lies at two offsets",
    "inconsistent-offsets": "one offset has had two records",
    "gap": "an offset that nobody knows of, before others (of topics without transactions)",
    "nonmonotonic-poll": "a poll goes back behind the process's poll before",
    "int-nonmonotonic-poll": "offsets go back within one poll",
    "poll-skip": "a poll leaves out records behind the process's poll before",
    "int-poll-skip": "records are left out within one poll",
    "nonmonotonic-send": "of two records of a process the one that was sent first lies behind the other",
    "int-nonmonotonic-send": "the same within one transaction",
    "aborted-read": "a record was polled that was refused, or whose transaction was aborted (G1a)",
    "precommitted-read": "a reader of committed records polled one before its transaction was told to commit",
    "intermediate-read": "a reader of committed records polled one before its transaction had sent its last one there (G1b)",
    "torn-transaction": "a reader of committed records was given some records of a transaction and went past others",
    "circular-information-flow": "committed transactions have read from each other in a circle (G1c)",
    "phantom": "a record was polled that nobody has sent there",
    "lost-commit": "a group went on before an offset that it had committed",
    "client-error": "an error came through to a client's user",
}
"""Jepsen's names (jepsen.tests.kafka) but for gap, phantom, lost-commit, client-error, and the three of transactions before
these."""

OF_REPEATED_SENDS = frozenset({"duplicate", "nonmonotonic-send", "gap"})
"""What Kafka allows a producer without idempotence, whose retries may overtake each other."""


class Anomaly(NamedTuple):
    name: str
    partition: Partition | None
    text: str

    def __str__(self) -> str:
        where = "" if self.partition is None else f" in {self.partition[0]}-{self.partition[1]}"
        return f"{self.name}{where}: {self.text}"


@dataclass
class Verdict:
    """What was found. `anomalies` are those that are not allowed."""

    anomalies: list[Anomaly]
    sent: int = 0
    acknowledged: int = 0
    unknown: int = 0
    polled: int = 0

    @property
    def valid(self) -> bool:
        return not self.anomalies

    @property
    def names(self) -> set[str]:
        return {anomaly.name for anomaly in self.anomalies}

    def __str__(self) -> str:
        counts = (
            f"{self.sent:,} sent, {self.acknowledged:,} acknowledged, {self.unknown:,} unknown, {self.polled:,} polled"
        )
        if self.valid:
            return f"{counts}: no anomaly"
        lines = [f"{counts}: {len(self.anomalies)} anomalies"]
        for name, count in Counter(anomaly.name for anomaly in self.anomalies).most_common():
            lines.append(f"{count} x {name} ({ANOMALIES[name]}), e.g.")
            examples = [anomaly for anomaly in self.anomalies if anomaly.name == name][:3]
            lines.extend(f"    {example}" for example in examples)
        return "\n".join(lines)

    def require_valid(self) -> None:
        assert self.valid, str(self)


def check(history: Iterable[object], allowed: Collection[str] = ()) -> Verdict:
    """Everything that is wrong with `history` but for anomalies whose names are `allowed`.

    Groups are expected to have read all of what was acknowledged in the partitions that were assigned to them.
    """
    history = list(history)
    books = _Books()
    for index, event in enumerate(history):
        books.enter(index, event)
    found = [*books.errors, *_lost_commits(books), *(Anomaly(*finding) for finding in judge_transactions(history))]
    for partition, book in sorted(books.partitions.items()):
        found.extend(_judge(book, partition, books))
    sends = [send for book in books.partitions.values() for send in book.sends.values()]
    return Verdict(
        [anomaly for anomaly in found if anomaly.name not in allowed],
        sent=len(sends),
        acknowledged=sum(send.outcome is Kind.OK for send in sends),
        unknown=sum(send.outcome in (Kind.INFO, Kind.INVOKE) for send in sends),
        polled=sum(
            len(read) for book in books.partitions.values() for reads in book.reads.values() for _, read in reads
        ),
    )


# ---------------------------------------------------------------------------------------------------- the books


@dataclass(slots=True)
class _SendState:
    process: str
    transaction: int | None
    outcome: Kind = Kind.INVOKE
    offset: int = -1


@dataclass(slots=True)
class _Book:
    """One partition. `reads`: by process, each poll with its index and (offset, value)s; an empty one stands for a
    position that may be any."""

    sends: dict[int, _SendState] = field(default_factory=dict)
    reads: dict[str, list[tuple[int, list[tuple[int, int]]]]] = field(default_factory=lambda: defaultdict(list))
    values: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """offset → what was acknowledged or polled there"""
    offsets: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    """value → where it was acknowledged or polled"""
    seen: set[int] = field(default_factory=set)
    """values that were polled, by whomever"""
    seen_by: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    """group → values that its members have polled"""

    def place(self, offset: int, value: int) -> None:
        self.values[offset].add(value)
        self.offsets[value].add(offset)


class _Books:
    """The history sorted by partition."""

    def __init__(self) -> None:
        self.partitions: dict[Partition, _Book] = defaultdict(_Book)
        self.errors: list[Anomaly] = []
        self.groups: dict[str, str | None] = {}
        """process → its group"""
        self.read_committed: set[str] = set()
        self.commit_told: dict[tuple[str, int], int] = {}
        """transaction → when it was told to commit"""
        self.outcomes: dict[tuple[str, int], bool] = {}
        """transaction → was it committed? (absent: nobody knows)"""
        self.group_events: list[Assign | Commit | Poll] = []

    def enter(self, index: int, event: object) -> None:
        match event:
            case Send():
                self._send(event)
            case Poll():
                self._poll(index, event)
            case Assign():
                self.groups[event.process] = event.group
                self.group_events.append(event)
                for partition in event.partitions:
                    self.partitions[partition].reads[event.process].append((index, []))
                    if event.group is not None:
                        self.partitions[partition].seen_by.setdefault(event.group, set())
            case Commit():
                self.group_events.append(event)
            case EndTransaction():
                self._end_transaction(index, event)
            case Failure():
                self.errors.append(Anomaly("client-error", None, f"{event.process}: {event.error}"))
            case _:
                raise TypeError(f"{event!r} is no event")

    def _send(self, event: Send) -> None:
        book = self.partitions[event.partition]
        if event.kind is Kind.INVOKE:
            assert event.value not in book.sends, f"{event.value} is sent twice"
            book.sends[event.value] = _SendState(event.process, event.transaction)
            return
        send = book.sends[event.value]
        send.outcome = event.kind
        if event.kind is Kind.OK and event.offset >= 0:
            send.offset = event.offset
            book.place(event.offset, event.value)

    def _poll(self, index: int, event: Poll) -> None:
        if event.read_committed:
            self.read_committed.add(event.process)
        group = self.groups.get(event.process)
        if group is not None:
            self.group_events.append(event)
        read: dict[Partition, list[tuple[int, int]]] = defaultdict(list)
        for partition, offset, value in event.records:
            read[partition].append((offset, value))
        for partition, records in read.items():
            book = self.partitions[partition]
            book.reads[event.process].append((index, records))
            for offset, value in records:
                book.place(offset, value)
            values = [value for _, value in records]
            book.seen.update(values)
            if group is not None:
                book.seen_by[group].update(values)

    def _end_transaction(self, index: int, event: EndTransaction) -> None:
        key = (event.process, event.transaction)
        if event.commit and event.kind is Kind.INVOKE:
            self.commit_told.setdefault(key, index)
        elif event.kind is Kind.OK:
            self.outcomes[key] = event.commit

    def is_committed(self, send: _SendState) -> bool:
        """Must readers of committed records see it?"""
        if send.transaction is None:
            return send.outcome is Kind.OK
        return self.outcomes.get((send.process, send.transaction)) is True and send.outcome is Kind.OK

    def is_aborted(self, send: _SendState) -> bool:
        return send.transaction is not None and self.outcomes.get((send.process, send.transaction)) is False


# ---------------------------------------------------------------------------------------------------- the judges


def _judge(book: _Book, partition: Partition, books: _Books) -> Iterator[Anomaly]:
    committed = {value for value, send in book.sends.items() if books.is_committed(send)}
    for name, text in (
        *_places(book, books),
        *_losses(book, committed),
        *_order_of_sends(book),
        *_order_of_polls(book, committed),
        *_forbidden_reads(book, books),
    ):
        yield Anomaly(name, partition, text)


def _places(book: _Book, books: _Books) -> Iterator[tuple[str, str]]:
    """One value for each offset, one offset for each value, and none left out."""
    for offset, values in book.values.items():
        if len(values) > 1:
            yield "inconsistent-offsets", f"offset {offset} was that of {_some(values)}"
    for value, offsets in book.offsets.items():
        if len(offsets) > 1:
            yield "duplicate", f"record {value} was at offsets {_some(offsets)}"
    if book.values and all(send.transaction is None for send in book.sends.values()):
        missing = set(range(max(book.values))) - book.values.keys()
        if missing:
            yield "gap", f"nothing is known of {len(missing)} offsets: {_some(missing)}"


def _losses(book: _Book, committed: set[int]) -> Iterator[tuple[str, str]]:
    end = max((records[-1][0] for reads in book.reads.values() for _, records in reads if records), default=-1)
    for value in committed - book.seen:
        offset = book.sends[value].offset
        place = f"record {value}, acknowledged at offset {offset}"
        if offset <= end:
            yield "lost-write", f"{place}, was never polled, though offset {end} was"
        else:
            yield "unseen", f"{place}, was never polled"
    for group, seen in book.seen_by.items():
        missing = committed - seen
        if missing:
            where = sorted(book.sends[value].offset for value in missing)
            yield "unseen", f"group {group} has not polled {len(missing)} records, at offsets {_some(where)}"


def _order_of_sends(book: _Book) -> Iterator[tuple[str, str]]:
    last: dict[str, tuple[int, int, int | None]] = {}
    for value, send in book.sends.items():  # in the order in which they were sent
        known = book.offsets.get(value)
        if not known:
            continue
        offset = min(known)
        before = last.get(send.process)
        if before is not None and offset <= before[1]:
            inside = send.transaction is not None and send.transaction == before[2]
            yield (
                "int-nonmonotonic-send" if inside else "nonmonotonic-send",
                f"{send.process} sent {before[0]}, which is at offset {before[1]}, before {value}, which is at {offset}",
            )
        last[send.process] = (value, offset, send.transaction)


def _order_of_polls(book: _Book, committed: set[int]) -> Iterator[tuple[str, str]]:
    """Each process goes forward and leaves out nothing that it must see: what is committed or somebody saw."""
    transactional = any(send.transaction is not None for send in book.sends.values())
    must = sorted(
        offset
        for offset, values in book.values.items()
        if any(value in committed or (not transactional and value in book.seen) for value in values)
    )
    for process, reads in book.reads.items():
        last: int | None = None
        for _, records in reads:
            if not records:
                last = None  # assigned anew
                continue
            prefix = ""
            for offset, _ in records:
                if last is not None:
                    if offset <= last:
                        yield f"{prefix}nonmonotonic-poll", f"{process} polled offset {offset} after {last}"
                    elif offset > last + 1:
                        left_out = must[bisect_right(must, last) : bisect_right(must, offset - 1)]
                        if left_out:
                            yield (
                                f"{prefix}poll-skip",
                                f"{process} polled offset {offset} after {last}, without {_some(left_out)}",
                            )
                last = offset
                prefix = "int-"


def _forbidden_reads(book: _Book, books: _Books) -> Iterator[tuple[str, str]]:
    for process, reads in book.reads.items():
        committed_only = process in books.read_committed
        for index, records in reads:
            for offset, value in records:
                send = book.sends.get(value)
                what = f"{process} polled {value} at offset {offset}"
                if send is None:
                    yield "phantom", f"{what}, which was never sent there"
                elif send.outcome is Kind.FAIL:
                    yield "aborted-read", f"{what}, which was refused"
                elif committed_only and books.is_aborted(send):
                    yield "aborted-read", f"{what}, whose transaction was aborted"
                elif committed_only and send.transaction is not None:
                    told = books.commit_told.get((send.process, send.transaction))
                    if told is None or told > index:
                        yield "precommitted-read", f"{what}, before its transaction was told to commit"


def _lost_commits(books: _Books) -> Iterator[Anomaly]:
    """Who is assigned a partition goes on at the last offset that was committed before, or behind it."""
    committed: dict[tuple[str, Partition], int] = {}
    expected: dict[tuple[str, Partition], int] = {}
    for event in books.group_events:
        match event:
            case Commit():
                for partition, offset in event.offsets:
                    committed[event.group, partition] = offset
            case Assign(group=str(group)):
                for partition in event.partitions:
                    expected[event.process, partition] = committed.get((group, partition), 0)
            case Poll():
                for partition, offset, _ in event.records:
                    minimum = expected.pop((event.process, partition), 0)
                    if offset < minimum:
                        group_name = books.groups[event.process]
                        text = f"{event.process} began at offset {offset}, though group {group_name} had committed {minimum}"
                        yield Anomaly("lost-commit", partition, text)


def _some(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    shown = ", ".join(map(str, ordered[:5]))
    return shown if len(ordered) <= 5 else f"{shown} ... {ordered[-1]}"


def main() -> int:
    verdict = check(History.load(Path(sys.argv[1])))
    print(verdict)
    return 0 if verdict.valid else 1


if __name__ == "__main__":
    sys.exit(main())
