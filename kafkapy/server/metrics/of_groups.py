"""Consumer groups, and how far they are behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.group import ClassicGroup
from kafkapy.coordinator.group.group_state import ClassicGroupState
from kafkapy.server.metrics.metric import Metric, Sample, gauge
from kafkapy.server.metrics.sources import Sources

_MANAGER = "kafka.server:type=GroupMetadataManager,name={}"
_OF_PARTITION = ("consumergroup", "topic", "partition")
_COORDINATOR = "As kafka_exporter, told by the group's coordinator: "


def _groups(sources: Sources) -> list[ClassicGroup]:
    return list(sources.group_coordinator.groups.values())


def _in_state(state: ClassicGroupState) -> Callable[[Sources], float]:
    return lambda sources: sum(group.is_in(state) for group in _groups(sources))


def _committed(sources: Sources) -> Iterator[tuple[ClassicGroup, TopicPartition, int]]:
    for group in _groups(sources):
        for partition, committed in list(group.offsets.committed.items()):
            yield group, partition, committed.value.offset


def partitions_with_offsets(sources: Sources) -> set[TopicPartition]:
    """Those whose ends must be known."""
    return {partition for _, partition, _ in _committed(sources)}


def _lags(sources: Sources) -> Iterator[tuple[ClassicGroup, TopicPartition, int]]:
    for group, partition, offset in _committed(sources):
        end = sources.end_offsets.of(partition)
        if end is not None and offset >= 0:
            # Of a partition that is followed here the high watermark may be older than the commit.
            yield group, partition, max(0, end - offset)


def _by_partition(
    of: Callable[[Sources], Iterator[tuple[ClassicGroup, TopicPartition, int]]],
) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        for group, partition, value in of(sources):
            yield (group.group_id, partition.topic, str(partition.partition)), value

    return read


def _by_topic(
    of: Callable[[Sources], Iterator[tuple[ClassicGroup, TopicPartition, int]]],
) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        sums: dict[tuple[str, ...], int] = {}
        for group, partition, value in of(sources):
            key = group.group_id, partition.topic
            sums[key] = sums.get(key, 0) + value
        yield from sums.items()

    return read


def _members(sources: Sources) -> Iterator[Sample]:
    for group in _groups(sources):
        yield (group.group_id,), len(group.members)


def _state_metric(state: ClassicGroupState) -> Metric:
    name = f"NumGroups{state.value}"
    return gauge(
        f"kafka_server_groupmetadatamanager_{name.lower()}",
        _MANAGER.format(name),
        f"Of these, groups in state {state.value}.",
        _in_state(state),
    )


GROUP_METRICS: tuple[Metric, ...] = (
    gauge(
        "kafka_server_groupmetadatamanager_numgroups", _MANAGER.format("NumGroups"),
        "Groups that are coordinated here.", lambda s: len(s.group_coordinator.groups)),
    *map(_state_metric, ClassicGroupState),
    gauge(
        "kafka_server_groupmetadatamanager_numoffsets", _MANAGER.format("NumOffsets"),
        "Committed offsets of these groups.", lambda s: sum(len(group.offsets.committed) for group in _groups(s))),
    gauge(
        "kafka_consumergroup_members", "", _COORDINATOR + "members of a group.", _members, "consumergroup"),
    gauge(
        "kafka_consumergroup_current_offset", "", _COORDINATOR + "the offset that a group has committed.",
        _by_partition(_committed), *_OF_PARTITION),
    gauge(
        "kafka_consumergroup_current_offset_sum", "", _COORDINATOR + "the sum of these over a topic.",
        _by_topic(_committed), "consumergroup", "topic"),
    gauge(
        "kafka_consumergroup_lag", "",
        _COORDINATOR + "records between the offset that a group has committed and the partition's high watermark.",
        _by_partition(_lags), *_OF_PARTITION),
    gauge(
        "kafka_consumergroup_lag_sum", "", _COORDINATOR + "the sum of these over a topic.",
        _by_topic(_lags), "consumergroup", "topic"),
)  # fmt: skip
