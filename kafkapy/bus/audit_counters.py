"""What the bus's clients say of how much they have sent: counters in the topic `_bus_audit`, the ground of every audit.

A record tells how many events one run of a program has sent to one topic with times in one hour (UTC), and that the brokers have
acknowledged. Its key is `producer|topic|hour`, so that of a compacted topic the last word stays; counters of a key only grow, so
a reader takes the largest. The value is JSON:

    {"producer": "booking-service-3f9c1d22a7b0", "application": "booking-service", "topic": "bookings", "hour": "2026-11-24T02",
     "sent": 1200, "failed": 0, "last_seq": 1200, "at": 1795487461000, "closed": false}

`sent`: events whose delivery was acknowledged. `failed`: events whose delivery failed; they may be in the log or not.
`last_seq`: the largest `producer-seq` among those sent in that hour.
`closed`: the run has ended in order, and this is its last word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kafkapy.common import strict_json

AUDIT_TOPIC = "_bus_audit"
HOUR_MS = 3_600_000


class AuditRecord(NamedTuple):
    """A counter, as it is written to the topic."""

    producer: str
    application: str
    topic: str
    hour: str
    sent: int
    failed: int
    last_seq: int
    at: int
    closed: bool

    @property
    def key(self) -> bytes:
        return f"{self.producer}|{self.topic}|{self.hour}".encode()

    def encode(self) -> bytes:
        return json.dumps(self._asdict(), separators=(",", ":")).encode()

    @classmethod
    def decode(cls, value: bytes) -> AuditRecord:
        """Decode a record. Raises ValueError if it is no counter. Further fields are ignored."""
        found: Any = strict_json.loads(value)
        try:
            return cls(*(kind(found[name]) for name, kind in _FIELDS.items()))
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"This is no counter of {AUDIT_TOPIC}: {error!r} in {value[:200]!r}") from None


_FIELDS: dict[str, Any] = {
    "producer": str,
    "application": str,
    "topic": str,
    "hour": str,
    "sent": int,
    "failed": int,
    "last_seq": int,
    "at": int,
    "closed": bool,
}


def hour_of(time_ms: int) -> str:
    """The hour of a timestamp in the audit's format, `2026-11-24T02`. Timestamps outside of the calendar count into
    1970 or 9999."""
    try:
        return datetime.fromtimestamp(time_ms // 1000, UTC).strftime("%Y-%m-%dT%H")
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00" if time_ms < 0 else "9999-12-31T23"


class _Counter:
    __slots__ = ("changed", "failed", "hour", "last_seq", "sent", "topic")

    def __init__(self, topic: str, hour: str) -> None:
        self.topic = topic
        self.hour = hour
        self.sent = self.failed = self.last_seq = 0
        self.changed = False


class AuditCounters:
    """The counters of one run. Not thread-safe: its owner has a lock, or a loop.

    Invariant: exactly the counters that `changed` has not returned yet, or that were handed to `given_back`, are
    marked as changed.
    """

    def __init__(self, producer: str, application: str) -> None:
        self.producer = producer
        self.application = application
        self._counters: dict[tuple[str, int], _Counter] = {}
        self._sequences: dict[str, int] = {}

    def next_sequence(self, topic: str) -> int:
        """The `producer-seq` of the next event to a topic."""
        sequence = self._sequences.get(topic, 0) + 1
        self._sequences[topic] = sequence
        return sequence

    def sent(self, topic: str, time_ms: int, sequence: int) -> None:
        counter = self._counter(topic, time_ms)
        counter.sent += 1
        counter.last_seq = max(counter.last_seq, sequence)

    def failed(self, topic: str, time_ms: int) -> None:
        self._counter(topic, time_ms).failed += 1

    def changed(self, at_ms: int, *, closed: bool = False) -> Iterator[AuditRecord]:
        """The counters that have changed, which then count as written; with `closed`, all counters."""
        for counter in list(self._counters.values()):
            if counter.changed or closed:
                counter.changed = False
                numbers = counter.sent, counter.failed, counter.last_seq
                yield AuditRecord(self.producer, self.application, counter.topic, counter.hour, *numbers, at_ms, closed)

    def given_back(self, record: AuditRecord) -> None:
        """A counter that `changed` returned could not be written: return it again."""
        for counter in self._counters.values():
            if counter.topic == record.topic and counter.hour == record.hour:
                counter.changed = True

    def _counter(self, topic: str, time_ms: int) -> _Counter:
        place = topic, time_ms // HOUR_MS
        counter = self._counters.get(place)
        if counter is None:
            counter = self._counters[place] = _Counter(topic, hour_of(time_ms))
        counter.changed = True
        return counter
