"""Statistics of fetched bytes and consumed records, in total and by topic."""

from __future__ import annotations

from functools import partial

from kafkapy.common.sampled_stat import SampledStat


class TopicStatistics:
    """Bytes per response, and records per `collect`."""

    __slots__ = ("bytes", "records")

    def __init__(self, stat: partial[SampledStat]) -> None:
        self.bytes = stat()
        self.records = stat()

    def figures(self, now: float) -> dict[str, float]:
        seconds = self.bytes.elapsed_seconds(now)
        responses = self.bytes.frequency(now) * seconds
        records = self.records.rate(now)
        return {
            "fetch-size-avg": self.bytes.average(now),
            "fetch-size-max": self.bytes.largest(now),
            "bytes-consumed-rate": self.bytes.rate(now),
            "bytes-consumed-total": self.bytes.total,
            "records-per-request-avg": records * self.records.elapsed_seconds(now) / responses if responses else 0.0,
            "records-consumed-rate": records,
            "records-consumed-total": self.records.total,
        }


class FetchStatistics(TopicStatistics):
    """Statistics of all topics together, and of each topic."""

    __slots__ = ("_stat", "topics")

    def __init__(self, stat: partial[SampledStat]) -> None:
        super().__init__(stat)
        self._stat = stat
        self.topics: dict[str, TopicStatistics] = {}

    def fetched(self, sizes: dict[str, int], now: float) -> None:
        """Record a response's bytes by topic."""
        self.bytes.record(sum(sizes.values()), now)
        for topic, size in sizes.items():
            self._of(topic).bytes.record(size, now)

    def taken(self, topic: str, records: int, now: float) -> None:
        self.records.record(records, now)
        self._of(topic).records.record(records, now)

    def _of(self, topic: str) -> TopicStatistics:
        found = self.topics.get(topic)
        if found is None:
            found = self.topics[topic] = TopicStatistics(self._stat)
        return found
