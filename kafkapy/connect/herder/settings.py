"""The settings of a distributed herder, from the worker's configs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HerderSettings:
    """Settings with the names of the worker's configs; times in ms."""

    group_id: str
    worker_sync_timeout_ms: int = 3_000
    worker_unsync_backoff_ms: int = 300_000
    scheduled_rebalance_max_delay_ms: int = 300_000
    task_shutdown_graceful_timeout_ms: int = 5_000
    key_ttl_ms: int = 3_600_000
    key_algorithm: str = "HmacSHA256"
    key_size_bits: int | None = None
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: tuple[str, ...] = ("HmacSHA256",)
    exactly_once_source: bool = False
    """`exactly.once.source.support` is enabled."""
    topic_tracking: bool = True
    topic_tracking_allow_reset: bool = True
    topic_creation: bool = True
