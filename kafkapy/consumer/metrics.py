"""`KafkaConsumer.metrics()`: what a consumer counts, under the names of the Java client and kafka-python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.clients.network_metrics import Figures, timing
from kafkapy.common.sampled_stat import average, largest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.health import ConsumerHealth
from kafkapy.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from kafkapy.consumer.core import ConsumerCore


def figures_of(core: ConsumerCore) -> dict[str, Figures]:
    """By group and name. Groups of a topic, partition or broker end with `.<topic>`, `.<topic>-<partition>`, `.node-<id>`."""
    now = core.driver.time.monotonic_ms()
    prefix = core.config.metric_group_prefix
    of_fetches = f"{prefix}-fetch-manager-metrics"
    health = core.health()
    network = core.client.metrics
    throttle = network.throttles(ApiKey.FETCH)
    seen = core.fetcher.statistics
    partitions = {partition: _partition_figures(core, health, partition) for partition in health.partitions}
    fetch = {
        **seen.figures(now),
        **timing(network.latencies(ApiKey.FETCH), now, "fetch", "fetch-latency"),
        "fetch-throttle-time-avg": average(throttle, now),
        "fetch-throttle-time-max": largest(throttle, now),
        "records-lag-max": max(_all(partitions, "records-lag"), default=0),
        "records-lead-min": min(_all(partitions, "records-lead"), default=0),
    }
    groups = {
        of_fetches: fetch,
        f"{prefix}-metrics": {**core.client.figures(), "last-poll-seconds-ago": health.last_poll_seconds},
    }
    if core.coordinator is not None:
        groups[f"{prefix}-coordinator-metrics"] = _coordinator_figures(core, health, now)
    groups |= {f"{of_fetches}.{topic}": found.figures(now) for topic, found in list(seen.topics.items())}
    groups |= {
        f"{of_fetches}.{partition.topic}-{partition.partition}": found for partition, found in partitions.items()
    }
    return groups | network.node_figures(prefix, now)


def _all(partitions: dict[TopicPartition, Figures], name: str) -> list[float]:
    """Of the partitions that have it."""
    return [figures[name] for figures in partitions.values() if name in figures]


def _partition_figures(core: ConsumerCore, health: ConsumerHealth, partition: TopicPartition) -> Figures:
    lag = health.partitions[partition]
    state = core.subscriptions.assignment.get(partition)
    figures: Figures = {}
    if lag.records is not None:
        figures["records-lag"] = lag.records
    if state is not None and state.log_start_offset is not None and lag.position is not None:
        figures["records-lead"] = lag.position - state.log_start_offset
    return figures


def _coordinator_figures(core: ConsumerCore, health: ConsumerHealth, now: float) -> Figures:
    assert core.coordinator is not None
    latencies = core.client.metrics.latencies
    beat = health.last_heartbeat_seconds
    return {
        "assigned-partitions": len(health.partitions),
        **timing(latencies(ApiKey.OFFSET_COMMIT), now, "commit", "commit-latency"),
        **timing(latencies(ApiKey.HEARTBEAT), now, "heartbeat", "heartbeat-response-time"),
        **timing(latencies(ApiKey.JOIN_GROUP), now, "join", "join-time"),
        **timing(latencies(ApiKey.SYNC_GROUP), now, "sync", "sync-time"),
        "last-heartbeat-seconds-ago": -1.0 if beat is None else beat,
        "rebalance-total": core.coordinator.rebalances.count,
        "rebalance-rate-per-hour": core.coordinator.rebalances.frequency(now) * 3600,
    }
