"""Visits: clicks of a user that are at most half an hour apart, with their number and duration."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kafkapy.streams import SessionWindows, StreamsBuilder, Topology, Windowed


@dataclass(frozen=True)
class Visit:
    user: str
    clicks: int
    seconds: int


def topology() -> Topology:
    builder = StreamsBuilder()
    visits = (
        builder.stream("clicks", key=str, value=str)
        .group_by_key()
        .windowed_by(SessionWindows.of_inactivity_gap_with_no_grace(timedelta(minutes=30)))
        .count(store="visits")
    )
    (
        visits.to_stream()
        .filter(lambda session, clicks: clicks is not None)  # a session that was merged into another one is deleted
        .map(lambda session, clicks: (session.key, visit(session, clicks)))
        .to("visits", key=str, value=Visit)
    )
    return builder.build()


def visit(session: Windowed[str], clicks: int) -> Visit:
    return Visit(session.key, clicks, (session.window.end - session.window.start) // 1000)
