"""Producers that stay in a worker process; a stand-in is in their place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.spark import producers
from kafkapy.spark.producers import MOST_KEPT, kept_producer


class Made:
    """Stands for a producer."""

    def __init__(self, **configs: Any) -> None:
        self.configs = configs
        self.closed_within: list[float | None] = []

    def close(self, timeout: float | None = None) -> None:
        self.closed_within.append(timeout)


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(producers, "KafkaProducer", Made)
    producers._kept.clear()
    yield
    producers._kept.clear()


def used(topic: str | None = "t", **configs: Any) -> Any:
    with kept_producer(configs, topic) as producer:
        return producer


def test_the_next_task_has_the_producer_of_the_last() -> None:
    first = used(acks=1, linger_ms=5)
    assert used(linger_ms=5, acks=1) is first
    assert first.configs == {"acks": 1, "linger_ms": 5}
    assert not first.closed_within


def test_other_configs_and_topics_have_their_own() -> None:
    assert len({id(used("t", acks=1)), id(used("t", acks=0)), id(used("u", acks=1)), id(used(None, acks=1))}) == 4


def test_the_producer_of_a_task_that_failed_is_closed_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), kept_producer({}, "t") as producer:
        raise KeyboardInterrupt
    assert producer.closed_within == [0]  # type: ignore[attr-defined]
    assert used() is not producer


def test_few_are_kept() -> None:
    made = [used(f"t{i}") for i in range(MOST_KEPT)]
    assert used("t0") is made[0]
    used("one more")
    assert [len(producer.closed_within) for producer in made] == [0, 1, *[0] * (MOST_KEPT - 2)]
    assert used("t0") is made[0]
