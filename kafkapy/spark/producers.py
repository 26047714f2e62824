"""Producers that a worker process keeps from one task to the next, as Spark's own connector keeps them in its executors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kafkapy.producer.kafka_producer import KafkaProducer

MOST_KEPT = 4
"""Writes that alternate between more configs and topics than that connect anew."""

_kept: dict[tuple[str | None, str], KafkaProducer[Any, Any]] = {}
"""By topic and configs; the last one was used last. A worker process runs one task at a time; Spark ends it when it is idle."""


@contextmanager
def kept_producer(configs: dict[str, Any], topic: str | None) -> Iterator[KafkaProducer[Any, Any]]:
    """A connected producer. Who uses it flushes it; if a task fails, it is closed, and what it has not sent is dropped.

    `topic`: None if the rows say theirs. Each topic has a producer of its own: a producer asks for the topics that it knows from
    time to time, and where brokers make topics of themselves that would bring back one that was deleted.
    """
    key = topic, repr(sorted(configs.items()))
    producer = _kept.pop(key, None) or KafkaProducer(**configs)
    try:
        yield producer
    except BaseException:
        producer.close(timeout=0)
        raise
    _kept[key] = producer
    if len(_kept) > MOST_KEPT:
        _kept.pop(next(iter(_kept))).close()
