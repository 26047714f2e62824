"""Users with more than three failed logins within a minute, reported once a minute: suppressed until windows close."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from examples.streams.serdes import grouped
from kafkapy.streams import BufferConfig, StreamsBuilder, Suppressed, TimeWindows, Topology

LIMIT = 3


@dataclass(frozen=True)
class Login:
    user: str
    succeeded: bool


@dataclass(frozen=True)
class Alarm:
    user: str
    from_ms: int
    failures: int


def topology() -> Topology:
    builder = StreamsBuilder()
    failures = (
        builder.stream("logins", key=str, value=Login)
        .filter_not(lambda address, login: login.succeeded)
        .group_by(lambda address, login: login.user, grouped(str, Login))
        .windowed_by(TimeWindows.of_size_and_grace(timedelta(minutes=1), timedelta(seconds=10)))
        .count(store="failures")
        .suppress(Suppressed.until_window_closes(BufferConfig.unbounded()))
    )
    (
        failures.to_stream()
        .filter(lambda where, count: count > LIMIT)
        .map(lambda where, count: (where.key, Alarm(where.key, where.window.start, count)))
        .to("alarms", key=str, value=Alarm)
    )
    return builder.build()
