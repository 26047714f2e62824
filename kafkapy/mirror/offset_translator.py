"""Computes a task's checkpoints and the offsets to commit (the rules of Kafka's `MirrorCheckpointTask`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from kafkapy.mirror.checkpoint_store import CheckpointStore
from kafkapy.mirror.filters import TopicFilter
from kafkapy.mirror.mirror_records import Checkpoint
from kafkapy.mirror.offset_sync_store import OffsetSyncStore
from kafkapy.mirror.opposite_syncs import OppositeSyncs
from kafkapy.mirror.replication_policy import ReplicationPolicy, SourceAndTarget
from kafkapy.structs import OffsetAndMetadata, TopicPartition

log = logging.getLogger("kafkapy.mirror")

GroupOffsets = Mapping[TopicPartition, OffsetAndMetadata | None]


class OffsetTranslator:
    """Translates offsets of groups. A translated offset decreases only if the group has moved back on the source
    cluster.

    Args:
        pair: The two clusters.
        policy: Policy for names of remote topics.
        topic_filter: Selects the topics whose offsets are translated.
        syncs: Translates offsets.
        checkpoints: Earlier translations.
    """

    def __init__(
        self,
        pair: SourceAndTarget,
        policy: ReplicationPolicy,
        topic_filter: TopicFilter,
        syncs: OffsetSyncStore,
        checkpoints: CheckpointStore,
        opposite: OppositeSyncs | None = None,
    ) -> None:
        self._pair = pair
        self._policy = policy
        self._topics = topic_filter
        self._syncs = syncs
        self._checkpoints = checkpoints
        self._opposite = opposite

    def new_checkpoints(self, group: str, offsets: GroupOffsets) -> dict[TopicPartition, Checkpoint]:
        """Return the checkpoints of a group to write, by partitions of the target cluster.

        Args:
            group: Id of the group.
            offsets: Its committed offsets on the source cluster.
        """
        last = self._checkpoints.get(group)
        found = {}
        for partition, committed in offsets.items():
            if committed is None or not self._topics.should_replicate_topic(partition.topic):
                continue
            checkpoint = self._translated(group, partition, committed)
            if checkpoint is not None and _is_news(checkpoint, last.get(checkpoint.topic_partition)):
                found[checkpoint.topic_partition] = checkpoint
        return found

    def remote_partition(self, partition: TopicPartition) -> TopicPartition:
        """Return the partition's name on the target cluster; a topic that was copied from there has the name of its
        original."""
        original = self._original(partition)
        if original is not None:
            return original
        return TopicPartition(self._policy.format_remote_topic(self._pair.source, partition.topic), partition.partition)

    def _original(self, partition: TopicPartition) -> TopicPartition | None:
        """Return the partition of the target cluster of which this one is a copy; None: it is none."""
        if self._policy.topic_source(partition.topic) != self._pair.target:
            return None
        upstream = self._policy.upstream_topic(partition.topic)
        return None if upstream is None else TopicPartition(upstream, partition.partition)

    def _translated(self, group: str, partition: TopicPartition, committed: OffsetAndMetadata) -> Checkpoint | None:
        original = self._original(partition)
        if original is not None and self._opposite is not None:
            downstream = self._opposite.translate(original, committed.offset)
        else:
            downstream = self._syncs.translate(partition, committed.offset)
        if downstream is None or downstream < 0:
            return None
        remote = self.remote_partition(partition)
        return Checkpoint(group, remote, committed.offset, downstream, committed.metadata or "")


def _is_news(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    return (
        last is None
        or checkpoint.upstream_offset < last.upstream_offset
        or checkpoint.downstream_offset > last.downstream_offset
    )


def offsets_to_commit(
    translated: Mapping[str, Mapping[TopicPartition, OffsetAndMetadata]], idle: Mapping[str, GroupOffsets]
) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
    """Return the offsets to commit on the target cluster, by group.

    Args:
        translated: The translated offsets of all groups.
        idle: Committed offsets of the groups without members on the target cluster; other groups are new there, or
            have members: the brokers refuse commits for the latter.

        Offsets of groups that have advanced on the target cluster are not changed.

    Example:
        >>> translated = {"g": {TopicPartition("A.t", 0): OffsetAndMetadata(5)}}
        >>> offsets_to_commit(translated, {"g": {TopicPartition("A.t", 0): OffsetAndMetadata(7)}})
        {}
    """
    found = {}
    for group, offsets in translated.items():
        there = idle.get(group)
        if there is None:
            wanted = dict(offsets)
        else:
            wanted = {
                partition: offset
                for partition, offset in offsets.items()
                if (known := there.get(partition)) is None or known.offset < offset.offset
            }
        if wanted or there is None:
            found[group] = wanted
    return {group: wanted for group, wanted in found.items() if wanted}
