"""`KafkaConsumer.metrics()`: a consumer's metrics, with the names of the Java client and kafka-python."""

from __future__ import annotations

from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.network_metrics import Figures, timing
from kafkapy.common.sampled_stat import average, largest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.statistics import FetchStatistics
from kafkapy.consumer.group.coordinator import ConsumerCoordinator
from kafkapy.consumer.health import ConsumerHealth
from kafkapy.consumer.subscription_state import SubscriptionState
from kafkapy.protocol.api_keys import ApiKey


def figures_of(
    client: NetworkClient,
    prefix: str,
    statistics: FetchStatistics,
    subscriptions: SubscriptionState,
    coordinator: ConsumerCoordinator | None,
    health: ConsumerHealth,
) -> dict[str, Figures]:
    """Return metrics by group and name. Groups of a topic, partition or broker end with `.<topic>`,
    `.<topic>-<partition>`, `.node-<id>`."""
    now = client.driver.time.monotonic_ms()
    of_fetches = f"{prefix}-fetch-manager-metrics"
    network = client.metrics
    throttle = network.throttles(ApiKey.FETCH)
    partitions = {partition: _partition_figures(subscriptions, health, partition) for partition in health.partitions}
    fetch = {
        **statistics.figures(now),
        **timing(network.latencies(ApiKey.FETCH), now, "fetch", "fetch-latency"),
        "fetch-throttle-time-avg": average(throttle, now),
        "fetch-throttle-time-max": largest(throttle, now),
        "records-lag-max": max(_all(partitions, "records-lag"), default=0),
        "records-lead-min": min(_all(partitions, "records-lead"), default=0),
    }
    groups = {
        of_fetches: fetch,
        f"{prefix}-metrics": {**client.figures(), "last-poll-seconds-ago": health.last_poll_seconds},
    }
    if coordinator is not None:
        groups[f"{prefix}-coordinator-metrics"] = _coordinator_figures(client, coordinator, health, now)
    groups |= {f"{of_fetches}.{topic}": found.figures(now) for topic, found in list(statistics.topics.items())}
    groups |= {
        f"{of_fetches}.{partition.topic}-{partition.partition}": found for partition, found in partitions.items()
    }
    return groups | network.node_figures(prefix, now)


def _all(partitions: dict[TopicPartition, Figures], name: str) -> list[float]:
    """Return the metric's values of the partitions that have it."""
    return [figures[name] for figures in partitions.values() if name in figures]


def _partition_figures(subscriptions: SubscriptionState, health: ConsumerHealth, partition: TopicPartition) -> Figures:
    lag = health.partitions[partition]
    state = subscriptions.assignment.get(partition)
    figures: Figures = {}
    if lag.records is not None:
        figures["records-lag"] = lag.records
    if state is not None and state.log_start_offset is not None and lag.position is not None:
        figures["records-lead"] = lag.position - state.log_start_offset
    return figures


def _coordinator_figures(
    client: NetworkClient, coordinator: ConsumerCoordinator, health: ConsumerHealth, now: float
) -> Figures:
    latencies = client.metrics.latencies
    beat = health.last_heartbeat_seconds
    return {
        "assigned-partitions": len(health.partitions),
        **timing(latencies(ApiKey.OFFSET_COMMIT), now, "commit", "commit-latency"),
        **timing(latencies(ApiKey.HEARTBEAT), now, "heartbeat", "heartbeat-response-time"),
        **timing(latencies(ApiKey.JOIN_GROUP), now, "join", "join-time"),
        **timing(latencies(ApiKey.SYNC_GROUP), now, "sync", "sync-time"),
        "last-heartbeat-seconds-ago": -1.0 if beat is None else beat,
        "rebalance-total": coordinator.rebalances.count,
        "rebalance-rate-per-hour": coordinator.rebalances.frequency(now) * 3600,
    }
