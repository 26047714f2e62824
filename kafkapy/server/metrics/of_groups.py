"""Consumer groups and their lag."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkapy.coordinator.group.group_state import ClassicGroupState
from kafkapy.server.metrics.metric import BrokerMetric, Omitted, Sample, gauge
from kafkapy.server.metrics.sources import Sources

_MANAGER = "kafka.server:type=GroupMetadataManager,name={}"
_OF_PARTITION = ("consumergroup", "topic", "partition")
_COORDINATOR = "As kafka_exporter, exported by the group's coordinator: "


def _in_state(state: ClassicGroupState) -> Callable[[Sources], float]:
    return lambda sources: sum(group.is_in(state) for group in sources.groups())


def _offsets(sources: Sources) -> Iterator[Sample | Omitted]:
    for group, partition, offset, _ in sources.snapshot.offsets:
        yield (group, partition.topic, str(partition.partition)), offset
    yield Omitted(sources.snapshot.offsets_left_out)


def _lags(sources: Sources) -> Iterator[Sample | Omitted]:
    for group, partition, _, lag in sources.snapshot.offsets:
        if lag is not None:
            yield (group, partition.topic, str(partition.partition)), lag
    yield Omitted(sources.snapshot.offsets_left_out)


def _members(sources: Sources) -> Iterator[Sample]:
    for group in sources.groups():
        yield (group.group_id,), len(group.members)


def _state_metric(state: ClassicGroupState) -> BrokerMetric:
    name = f"NumGroups{state.value}"
    return gauge(
        f"kafka_server_groupmetadatamanager_{name.lower()}",
        _MANAGER.format(name),
        f"Of these, groups in state {state.value}.",
        _in_state(state),
    )


GROUP_METRICS: tuple[BrokerMetric, ...] = (
    gauge(
        "kafka_server_groupmetadatamanager_numgroups", _MANAGER.format("NumGroups"),
        "Groups that are coordinated here.", lambda s: len(s.group_coordinator.groups)),
    *map(_state_metric, ClassicGroupState),
    gauge(
        "kafka_server_groupmetadatamanager_numoffsets", _MANAGER.format("NumOffsets"),
        "Committed offsets of these groups.", lambda s: sum(len(group.offsets.committed) for group in s.groups())),
    gauge(
        "kafka_consumergroup_members", "", _COORDINATOR + "members of a group.", _members, "consumergroup"),
    gauge(
        "kafka_consumergroup_current_offset", "", _COORDINATOR + "the offset that a group has committed.",
        _offsets, *_OF_PARTITION),
    gauge(
        "kafka_consumergroup_current_offset_sum", "", _COORDINATOR + "the sum of these over a topic.",
        lambda s: iter(s.snapshot.offset_sums.items()), "consumergroup", "topic"),
    gauge(
        "kafka_consumergroup_lag", "",
        _COORDINATOR + "records between the offset that a group has committed and the partition's high watermark.",
        _lags, *_OF_PARTITION),
    gauge(
        "kafka_consumergroup_lag_sum", "", _COORDINATOR + "the sum of these over a topic.",
        lambda s: iter(s.snapshot.lag_sums.items()), "consumergroup", "topic"),
)  # fmt: skip
