"""Page views by region: a stream of views joined with a table of users, counted in windows of a minute."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from examples.streams.serdes import grouped
from kafkapy.streams import StreamsBuilder, TimeWindows, Topology


@dataclass(frozen=True)
class View:
    page: str


@dataclass(frozen=True)
class User:
    region: str


@dataclass(frozen=True)
class Count:
    region: str
    minute: int
    views: int


def topology() -> Topology:
    builder = StreamsBuilder()
    users = builder.table("users", key=str, value=User)
    regions = builder.stream("views", key=str, value=View).left_join(users, region_of)
    counts = (
        regions.group_by(lambda user, region: region, grouped(str, str))
        .windowed_by(TimeWindows.of_size_with_no_grace(timedelta(minutes=1)))
        .count(store="views-by-region")
    )
    (
        counts.to_stream()
        .map(lambda where, views: (where.key, Count(where.key, where.window.start // 60_000, views)))
        .to("views-by-region", key=str, value=Count)
    )
    return builder.build()


def region_of(view: View, user: User | None) -> str:
    return "unknown" if user is None else user.region
