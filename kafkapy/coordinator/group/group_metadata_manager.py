"""The groups this broker coordinates, and their way into and out of `__consumer_offsets`.

Kafka's `GroupMetadataManager`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

from kafkapy.common import metadata_version
from kafkapy.common.scheduler import ScheduledTask, Scheduler
from kafkapy.common.time import Time
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.coordinator.group.config import OffsetConfig
from kafkapy.coordinator.group.group_loader import LoadedPartition, load_partition
from kafkapy.coordinator.group.group_metadata import GroupMetadata
from kafkapy.coordinator.group.group_offsets import Offsets
from kafkapy.coordinator.group.group_state import GroupState
from kafkapy.coordinator.group.offset_records import group_key, group_value, offset_key, offset_value
from kafkapy.coordinator.partition_writer import PartitionReader, PartitionWriter
from kafkapy.protocol.errors import Errors
from kafkapy.record.compression import CompressionType
from kafkapy.record.record_batch import NO_SEQUENCE
from kafkapy.record.records_builder import MemoryRecordsBuilder

log = logging.getLogger("kafkapy.coordinator.group.GroupMetadataManager")


GROUPS_PER_TURN = 200
"""How many groups the expiry looks at before it lets the reactor do something else."""

LOAD_RETRY_MS = 10_000

_STORE_GROUP_ERRORS = {
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.REQUEST_TIMED_OUT: Errors.REBALANCE_IN_PROGRESS,
    Errors.MESSAGE_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.RECORD_LIST_TOO_LARGE: Errors.UNKNOWN_SERVER_ERROR,
    Errors.INVALID_FETCH_SIZE: Errors.UNKNOWN_SERVER_ERROR,
}

_STORE_OFFSETS_ERRORS = {
    Errors.NETWORK_EXCEPTION: Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.UNKNOWN_TOPIC_OR_PARTITION: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_LEADER_OR_FOLLOWER: Errors.NOT_COORDINATOR,
    Errors.KAFKA_STORAGE_ERROR: Errors.NOT_COORDINATOR,
    Errors.MESSAGE_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.RECORD_LIST_TOO_LARGE: Errors.INVALID_COMMIT_OFFSET_SIZE,
    Errors.INVALID_FETCH_SIZE: Errors.INVALID_COMMIT_OFFSET_SIZE,
}


class GroupMetadataManager:
    """The cache of groups and what is written of them.

    Invariants:
    - `groups` holds groups of owned partitions only, none of them Dead.
    - A partition is in at most one of `_owned` and `_loading`; `_epochs` has the newest leader epoch heard of each.
    - `_open_groups[producer id]` are the groups in which that producer's open transaction has offsets.
    """

    def __init__(
        self,
        config: OffsetConfig,
        writer: PartitionWriter,
        reader: PartitionReader,
        scheduler: Scheduler,
        time: Time,
    ) -> None:
        self.config = config
        protocol_version = config.inter_broker_protocol_version
        self._offset_value_version = metadata_version.offset_commit_value_version(protocol_version)
        self._group_value_version = metadata_version.group_metadata_value_version(protocol_version)
        self.groups: dict[str, GroupMetadata] = {}
        self._writer = writer
        self._reader = reader
        self._scheduler = scheduler
        self._time = time
        self._partition_count: int | None = None
        self._owned: set[int] = set()
        self._loading: dict[int, object] = {}
        self._epochs: dict[int, int] = {}
        self._open_groups: dict[int, set[str]] = {}
        self._expiry: ScheduledTask | None = None

    def startup(self, topic_partition_count: int | None = None) -> None:
        """With the count of `__consumer_offsets`' partitions that ZooKeeper has, as in Kafka: what the broker has been told
        by the controller so far may be a part of them."""
        self._partition_count = topic_partition_count
        self._expiry = self._scheduler.schedule(
            "delete-expired-group-metadata", self.remove_expired, 0, self.config.retention_check_interval_ms
        )

    def shutdown(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()

    # ------------------------------------------------------------------------------------------------ whose group

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that keeps the group. Does not change once the topic is known."""
        count = self._partition_count
        if count is None:
            count = self._partition_count = self._writer.partition_count(GROUP_METADATA_TOPIC)
        return abs_hash(group_id) % (count or self.config.topic_num_partitions)

    def is_group_local(self, group_id: str) -> bool:
        return self.partition_for(group_id) in self._owned

    def is_group_loading(self, group_id: str) -> bool:
        return self.partition_for(group_id) in self._loading

    @property
    def is_loading(self) -> bool:
        return bool(self._loading)

    def get(self, group_id: str) -> GroupMetadata | None:
        return self.groups.get(group_id)

    def get_or_create(self, group_id: str) -> GroupMetadata:
        group = self.groups.get(group_id)
        if group is None:
            group = GroupMetadata(group_id, GroupState.EMPTY, self._time.milliseconds())
            self.groups[group_id] = group
        return group

    def _log_of(self, group_id: str) -> TopicPartition:
        return TopicPartition(GROUP_METADATA_TOPIC, self.partition_for(group_id))

    # ------------------------------------------------------------------------------------------------ writing

    def _batch(self, records: Iterable[tuple[bytes, bytes | None]], base_sequence: int = NO_SEQUENCE) -> bytes:
        builder = MemoryRecordsBuilder(
            compression_type=CompressionType(self.config.compression_codec), base_sequence=base_sequence
        )
        now = self._time.milliseconds()
        for key, value in records:
            builder.append(now, key, value)
        return builder.build()

    def store_group(
        self, group: GroupMetadata, assignment: Mapping[str, bytes], done: Callable[[Errors], None]
    ) -> None:
        """Write the group's generation; `done` gets the error that its members may see."""
        generation_id = group.generation_id

        def appended(error: Errors, base_offset: int) -> None:
            if error is not Errors.NONE:
                log.warning(
                    "Metadata from group %s with generation %d failed when appending to log due to %s",
                    group.group_id, generation_id, error.name,
                )  # fmt: skip
            done(_STORE_GROUP_ERRORS.get(error, error))

        value = group_value(group, assignment, self._group_value_version)
        batch = self._batch([(group_key(group.group_id), value)])
        self._writer.append(self._log_of(group.group_id), batch, appended, self.config.commit_timeout_ms)

    def store_offsets(self, group: GroupMetadata, offsets: Offsets, done: Callable[[Errors], None]) -> None:
        """Write the commits; they can be fetched when `done` is called with NONE. `offsets` is not empty."""

        def appended(error: Errors, base_offset: int) -> None:
            for partition, value in offsets.items():
                if error is Errors.NONE:
                    group.offsets.complete(partition, value, base_offset)
                else:
                    group.offsets.fail(partition, value)
            if error is not Errors.NONE:
                log.debug("Offset commit from group %s failed when appending to log: %s", group.group_id, error.name)
            done(_STORE_OFFSETS_ERRORS.get(error, error))

        log_partition = self._log_of(group.group_id)
        version = self._offset_value_version
        records = ((offset_key(group.group_id, p), offset_value(value, version)) for p, value in offsets.items())
        # Kafka gives commits the sequence 0 although they have no producer id; so the bytes are the same.
        batch = self._batch(records, base_sequence=0)
        group.offsets.prepare(offsets)
        self._writer.append(log_partition, batch, appended, self.config.commit_timeout_ms)

    def is_metadata_valid(self, metadata: str) -> bool:
        """Is the text that goes with a commit short enough?"""
        limit = self.config.max_metadata_size
        if len(metadata) * 2 <= limit:
            return True
        return len(metadata) <= limit and len(metadata.encode("utf-16-le", "surrogatepass")) // 2 <= limit

    # ------------------------------------------------------------------------------------------------ cleaning up

    def clean_up(
        self, groups: Iterable[GroupMetadata], remove: Callable[[GroupMetadata], Iterable[TopicPartition]]
    ) -> int:
        """Remove offsets of the groups, and groups that are Dead, or Empty without offsets; write tombstones for both.

        Returns the number of offsets removed.
        """
        count = 0
        for group in groups:
            tombstones = [offset_key(group.group_id, partition) for partition in remove(group)]
            count += len(tombstones)
            if group.is_in(GroupState.EMPTY) and not group.offsets:
                log.info("Group %s transitioned to Dead in generation %d", group.group_id, group.generation_id)
                group.transition_to(GroupState.DEAD, self._time.milliseconds())
            if group.is_in(GroupState.DEAD) and self.groups.get(group.group_id) is group:
                del self.groups[group.group_id]
                # Generation 0: the group never had a record, it only stored offsets.
                if group.generation_id > 0:
                    tombstones.append(group_key(group.group_id))
            if tombstones:
                self._append_tombstones(group.group_id, tombstones)
        return count

    def _append_tombstones(self, group_id: str, keys: list[bytes]) -> None:
        """Should they be lost, what they take back is loaded again some day and expires again."""

        def appended(error: Errors, base_offset: int) -> None:
            if error is not Errors.NONE:
                log.error(
                    "Failed to append %d tombstones for expired/deleted offsets and/or metadata for group %s: %s",
                    len(keys), group_id, error.name,
                )  # fmt: skip

        batch = self._batch((key, None) for key in keys)
        self._writer.append(self._log_of(group_id), batch, appended, self.config.commit_timeout_ms)

    def remove_expired(self) -> None:
        """Go through all groups, some at a time."""
        self._remove_expired_some(iter(list(self.groups.values())))

    def _remove_expired_some(self, groups: Iterator[GroupMetadata]) -> None:
        now = self._time.milliseconds()
        some = [group for group in islice(groups, GROUPS_PER_TURN) if not group.is_in(GroupState.DEAD)]
        count = self.clean_up(some, lambda group: group.remove_expired_offsets(now, self.config.retention_ms))
        if count:
            log.info("Removed %d expired offsets.", count)
        if some:
            self._scheduler.schedule_once("expired groups", lambda: self._remove_expired_some(groups), 0)

    # ------------------------------------------------------------------------------------------------ loading

    def load(self, partition: int, epoch: int, on_loaded: Callable[[GroupMetadata], None]) -> None:
        """This broker leads the partition now: read its groups, then answer for them."""
        if not self._update_epoch(partition, epoch):
            log.info("Not loading %s-%d in epoch %d since current epoch is %d",
                     GROUP_METADATA_TOPIC, partition, epoch, self._epochs[partition])  # fmt: skip
        elif partition in self._owned or partition in self._loading:
            log.info("Already loading or loaded %s-%d", GROUP_METADATA_TOPIC, partition)
        else:
            self._start_loading(partition, on_loaded)

    def _start_loading(self, partition: int, on_loaded: Callable[[GroupMetadata], None]) -> None:
        log_partition = TopicPartition(GROUP_METADATA_TOPIC, partition)
        token = object()
        self._loading[partition] = token
        start = self._time.monotonic_ms()

        def load() -> None:
            result: LoadedPartition | Exception
            try:
                result = load_partition(self._reader.read_batches(log_partition))
            except Exception as error:
                result = error
            self._scheduler.schedule_once("install groups", lambda: done(result), 0)

        def done(result: LoadedPartition | Exception) -> None:
            if self._loading.get(partition) is not token:
                return  # resigned meanwhile
            if isinstance(result, Exception):
                # An owned partition with half its offsets would send consumers back to the start of their topics.
                log.error("Error loading offsets from %s; trying again", log_partition, exc_info=result)
                self._scheduler.schedule_once("load groups", retry, LOAD_RETRY_MS)
                return
            del self._loading[partition]
            self._owned.add(partition)
            self._install(result, on_loaded)
            log.info("Finished loading offsets and group metadata from %s in %d milliseconds.",
                     log_partition, self._time.monotonic_ms() - start)  # fmt: skip

        def retry() -> None:
            if self._loading.get(partition) is token:
                self._start_loading(partition, on_loaded)

        self._scheduler.schedule_in_thread("load groups", load)

    def _install(self, loaded: LoadedPartition, on_loaded: Callable[[GroupMetadata], None]) -> None:
        offsets = loaded.offsets_by_group()
        pending = loaded.pending_by_group()
        for group_id in {**loaded.groups, **offsets, **pending}:
            # Offsets without a group record are those of a group that had no members.
            group = loaded.groups.get(group_id)
            if group is None:
                group = GroupMetadata(group_id, GroupState.EMPTY, self._time.milliseconds())
            group.offsets.load(offsets.get(group_id, {}), pending.get(group_id, {}))
            for producer_id in group.offsets.producers:
                self._open_groups.setdefault(producer_id, set()).add(group_id)
            self.groups[group_id] = group
            on_loaded(group)

    def unload(self, partition: int, epoch: int | None, on_unloaded: Callable[[GroupMetadata], None]) -> None:
        """This broker leads the partition no longer: forget its groups. `epoch` None: whatever the epoch is."""
        if epoch is not None and not self._update_epoch(partition, epoch):
            log.info("Not unloading %s-%d in epoch %d since current epoch is %d",
                     GROUP_METADATA_TOPIC, partition, epoch, self._epochs[partition])  # fmt: skip
            return
        self._owned.discard(partition)
        self._loading.pop(partition, None)
        for group in [group for group in self.groups.values() if self.partition_for(group.group_id) == partition]:
            del self.groups[group.group_id]
            for producer_id in group.offsets.producers:
                self._open_groups.get(producer_id, set()).discard(group.group_id)
            on_unloaded(group)

    def _update_epoch(self, partition: int, epoch: int) -> bool:
        """False if a newer epoch has been heard of."""
        newest = max(epoch, self._epochs.get(partition, epoch))
        self._epochs[partition] = newest
        return epoch == newest

    # ------------------------------------------------------------------------------------------------ transactions

    def complete_transaction(self, producer_id: int, partitions: Iterable[int], commit: bool) -> None:
        """The producer's marker was written to these partitions: its offsets in their groups hold, or are forgotten."""
        of_these = set(partitions)
        open_groups = self._open_groups.get(producer_id, set())
        completed = [group_id for group_id in open_groups if self.partition_for(group_id) in of_these]
        for group_id in completed:
            open_groups.discard(group_id)
            group = self.groups.get(group_id)
            if group is not None:
                group.offsets.complete_transaction(producer_id, commit)
        if not open_groups:
            self._open_groups.pop(producer_id, None)


@lru_cache(maxsize=65536)
def abs_hash(text: str) -> int:
    """`Utils.abs(text.hashCode())` of Java: the hash is over UTF-16 code units, and the lowest int becomes 0."""
    code = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for position in range(0, len(units), 2):
        code = (31 * code + (units[position] << 8) + units[position + 1]) & 0xFFFFFFFF
    if code >= 0x80000000:
        code = 0x100000000 - code
    return 0 if code == 0x80000000 else code
