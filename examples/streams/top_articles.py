"""The most read articles of each topic: a table of counts, aggregated by another key, which adds and subtracts."""

from __future__ import annotations

from dataclasses import dataclass, field

from examples.streams.serdes import grouped, stored
from kafkapy.streams import StreamsBuilder, Topology

LIMIT = 3


@dataclass(frozen=True)
class Read:
    article: str
    topic: str


@dataclass(frozen=True)
class Entry:
    article: str
    reads: int


@dataclass(frozen=True)
class Ranking:
    """All articles of a topic; the first `LIMIT` are written."""

    entries: list[Entry] = field(default_factory=list)

    def add(self, entry: Entry) -> Ranking:
        return Ranking(sorted([*self.entries, entry], key=lambda one: (-one.reads, one.article)))

    def remove(self, entry: Entry) -> Ranking:
        return Ranking([one for one in self.entries if one != entry])


def topology() -> Topology:
    builder = StreamsBuilder()
    reads = builder.stream("reads", key=str, value=Read)
    counts = reads.group_by(lambda reader, read: f"{read.topic}/{read.article}", grouped(str, Read)).count(
        store="reads"
    )
    rankings = counts.group_by(by_topic, grouped(str, Entry)).aggregate(
        Ranking,
        lambda topic, entry, ranking: ranking.add(entry),
        lambda topic, entry, ranking: ranking.remove(entry),
        materialized=stored("rankings", str, Ranking),
    )
    top = rankings.to_stream().map_values(lambda ranking: [one.article for one in ranking.entries[:LIMIT]])
    top.to("top-articles", key=str, value=list)
    return builder.build()


def by_topic(name: str, reads: int) -> tuple[str, Entry]:
    topic, article = name.split("/", 1)
    return topic, Entry(article, reads)
