"""The configs of the transaction coordinator; the server sets them from the broker's configuration."""

from __future__ import annotations

from typing import NamedTuple


class TransactionConfig(NamedTuple):
    """Configs of transactions and their topic (Kafka's `TransactionConfig`). Times in ms."""

    transactional_id_expiration_ms: int = 7 * 24 * 60 * 60 * 1000
    """transactional.id.expiration.ms"""
    max_timeout_ms: int = 15 * 60 * 1000
    """transaction.max.timeout.ms"""
    topic_num_partitions: int = 50
    """transaction.state.log.num.partitions"""
    abort_timed_out_interval_ms: int = 10_000
    """transaction.abort.timed.out.transaction.cleanup.interval.ms"""
    remove_expired_interval_ms: int = 60 * 60 * 1000
    """transaction.remove.expired.transaction.cleanup.interval.ms"""
    request_timeout_ms: int = 30_000
    """request.timeout.ms: of appends to the topic"""
