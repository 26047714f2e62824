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
    """Return a connected producer. The caller flushes it; if a task fails, it is closed, and its unsent records are
    dropped.

    `topic`: None if the rows have their topics. There is one producer for each topic: a producer refreshes the
    metadata of its topics, and with auto-creation on brokers that would recreate a deleted topic.
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
