"""The partitions of this broker: appends, reads and ISR changes (Kafka's `ReplicaManager`)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from kafkapy.cluster.in_sync_replicas import AlterPartitionOutcome
from kafkapy.cluster.partition import Partition
from kafkapy.cluster.replica import Replica
from kafkapy.common import page_cache
from kafkapy.common.leader_and_isr import LeaderAndIsr
from kafkapy.common.metrics_topics import BrokerTopicStats
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import AppendOrigin, FetchDataInfo, FetchIsolation, LogAppendInfo
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.clock import InThread
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.purgatory.deadlines import Deadlines
from kafkapy.server.purgatory.purgatory import DelayedOperationPurgatory
from kafkapy.server.replication.delayed_produce import DelayedProduce, PendingAppend
from kafkapy.server.replication.fetch_params import NO_RECORDS, FetchParams, FetchPartition, FetchResult
from kafkapy.server.replication.hosted_partitions import HostedPartitions
from kafkapy.server.replication.quiet_partitions import QuietPartitions
from kafkapy.server.replication.replica_selector import ReplicaSelector, ReplicaView
from kafkapy.server.replication.replication_quota import ReplicationQuota

log = logging.getLogger("kafkapy.server.ReplicaManager")

AlterPartition = Callable[
    [TopicPartition, bytes, LeaderAndIsr, Mapping[int, int], Callable[[AlterPartitionOutcome], None]], None
]
"""Requests an ISR change, as `PartitionHost.alter_partition`."""
FlushLog = Callable[[Log, Callable[[Errors], None]], None]
"""As `PartitionHost.flush_log`."""

ColdRead = tuple[Log, int, int, FetchIsolation, bool]
"""A log and the arguments of a read that needs the disk, because the offset's position is not in memory."""


class ReplicaManager(HostedPartitions):
    """All partitions of this broker.

    Invariant: on the reactor thread.
    """

    def __init__(
        self,
        broker_id: int,
        log_manager: LogManager,
        metadata_cache: MetadataCache,
        time: Time,
        timer: Deadlines,
        submit_alter_partition: AlterPartition,
        cold_reads: InThread,
        flush_log: FlushLog,
        *,
        producer_purge_interval: int = 1000,
        fetch_purge_interval: int = 1000,
        delete_records_purge_interval: int = 1,
        replica_lag_time_max_ms: int = 30_000,
        replica_selector: ReplicaSelector | None = None,
        leader_quota: ReplicationQuota | None = None,
    ) -> None:
        super().__init__(metadata_cache, ReplicationQuota(time) if leader_quota is None else leader_quota)
        self.broker_id = broker_id
        self.log_manager = log_manager
        self.time = time
        self.controller_epoch = 0
        self.produce_purgatory = DelayedOperationPurgatory("Produce", timer, producer_purge_interval)
        self.fetch_purgatory = DelayedOperationPurgatory("Fetch", timer, fetch_purge_interval)
        self.delete_records_purgatory = DelayedOperationPurgatory("DeleteRecords", timer, delete_records_purge_interval)
        self.quiet_partitions = QuietPartitions()
        self.replica_lag_time_max_ms = replica_lag_time_max_ms
        self._replica_selector = replica_selector
        self.submit_alter_partition = submit_alter_partition
        self._cold_reads = cold_reads
        self.flush_log = flush_log
        self.topic_stats = BrokerTopicStats()
        self._stats_of_clients = self.topic_stats.clients
        self.isr_shrinks = 0
        self.isr_expands = 0
        self.failed_isr_updates = 0

    # ------------------------------------------------------------------------------------------------ partitions

    def get_or_create_partition(self, topic_partition: TopicPartition) -> Partition:
        partition = self._partitions.get(topic_partition)
        if partition is None:
            self._partitions[topic_partition] = partition = Partition(topic_partition, self.broker_id, self.time, self)
        return partition

    def remove_partition(self, topic_partition: TopicPartition) -> Partition | None:
        return self._partitions.pop(topic_partition, None)

    def mark_offline(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Mark partitions of a failed log directory: they are unusable until the broker restarts."""
        for name in topic_partitions:
            self.offline.add(name)
            partition = self._partitions.pop(name, None)
            if partition is not None:
                partition.delete()
            self.role_changed(name)

    # ------------------------------------------------------------------------------------------------ appends

    def append_to_local_log(
        self,
        topic_partition: TopicPartition,
        records: bytearray | memoryview,
        required_acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        api_version: int = 11,
    ) -> LogAppendInfo:
        """Append to one partition that this broker leads; `KafkaError` otherwise. The caller must call `appended`
        after its response.

        `WouldBlock`: a client's records that must go through `BackgroundAppends`.
        """
        partition = self._partitions.get(topic_partition) or self.get_partition(topic_partition)
        info = partition.append_records_to_leader(records, origin, required_acks, api_version)
        self.count_append(topic_partition, len(records), info)
        return info

    def count_append(self, topic_partition: TopicPartition, size: int, info: LogAppendInfo) -> None:
        stats = self._stats_of_clients[topic_partition.topic]
        stats.produces += 1
        stats.bytes_in += size
        if info.first_offset >= 0:
            stats.messages_in += info.last_offset - info.first_offset + 1

    def wait_for_commit(
        self,
        appends: list[PendingAppend],
        timeout_ms: int,
        done: Callable[[], None],
        leader_moved: Callable[[], None] = lambda: None,
    ) -> DelayedProduce:
        """Call `done` when every append is committed or has failed, or after the time-out; each then has its `error`."""
        operation = DelayedProduce(timeout_ms, appends, self, done, leader_moved)
        self.produce_purgatory.try_complete_else_watch(operation, [append.partition for append in appends])
        return operation

    def when_synced(self, topic_partition: TopicPartition, offset: int, done: Callable[[Errors], None]) -> None:
        """As `Partition.when_synced`."""
        partition = self._partitions.get(topic_partition)
        if partition is None:
            done(Errors.NOT_LEADER_OR_FOLLOWER)
        else:
            partition.when_synced(offset, done)

    def appended(self, *topic_partitions: TopicPartition) -> None:
        """Wake operations that wait for new data or new high watermarks.

        Partitions of one append are passed together: else a follower would get the first partition's data alone, and
        need another fetch for the others.
        """
        quiet = self.quiet_partitions
        woken = [(s, name) for name in topic_partitions for s in quiet.notify(name)] if quiet else ()
        for name in topic_partitions:
            self.fetch_purgatory.check_and_complete(name)
        for subscriber, name in woken:
            subscriber.on_notified(name)
        for name in topic_partitions:
            self.produce_purgatory.check_and_complete(name)

    def role_changed(self, *topic_partitions: TopicPartition) -> None:
        """Recheck waiting operations after a new leader, epoch, ISR or watermark, or a removed replica."""
        self.appended(*topic_partitions)
        for name in topic_partitions:
            self.delete_records_purgatory.check_and_complete(name)

    # ------------------------------------------------------------------------------------------------ in-sync replicas

    def is_alive(self, broker_id: int) -> bool:
        return self.metadata_cache.has_alive_broker(broker_id)

    def alter_partition(
        self,
        topic_partition: TopicPartition,
        topic_id: bytes,
        proposed: LeaderAndIsr,
        broker_epochs: Mapping[int, int],
        done: Callable[[AlterPartitionOutcome], None],
    ) -> None:
        partition = self._partitions.get(topic_partition)
        before = 0 if partition is None else len(partition.isr)

        def count(outcome: AlterPartitionOutcome) -> None:
            if not isinstance(outcome, LeaderAndIsr):
                self.failed_isr_updates += 1
            elif len(outcome.isr) < before:
                self.isr_shrinks += 1
            elif len(outcome.isr) > before:
                self.isr_expands += 1
            done(outcome)

        self.submit_alter_partition(topic_partition, topic_id, proposed, broker_epochs, count)

    def high_watermark_moved(self, topic_partition: TopicPartition) -> None:
        self.role_changed(topic_partition)

    def maybe_shrink_isrs(self) -> None:
        """Shrink ISRs; runs twice per `replica.lag.time.max.ms` (Kafka's `isr-expiration`)."""
        for partition in list(self._partitions.values()):
            if partition.remote_replicas:
                partition.maybe_shrink_isr()

    def was_caught_up(self, topic_partition: TopicPartition, broker_id: int, fetch_ms: int) -> None:
        """Record that a follower was caught up at the time of a fetch that skipped the partition.

        Ignored if the controller has removed the follower from the ISR since then: no commit may wait for it.
        """
        partition = self._partitions.get(topic_partition)
        if partition is not None and broker_id in partition.isr:
            replica = partition.remote_replicas.get(broker_id)
            if replica is not None:
                replica.was_caught_up(fetch_ms)

    # ------------------------------------------------------------------------------------------------ reads

    def read_from_log(
        self,
        params: FetchParams,
        fetches: Sequence[FetchPartition],
        progressed: list[TopicPartition] | None = None,
        cold: list[ColdRead] | None = None,
        size_before: int = 0,
    ) -> list[FetchResult]:
        """Read each partition in order until `max_bytes` is used up (`ReplicaManager.readFromLog`).

        `progressed`: record the follower's fetch offsets, and add partitions whose high watermark may have advanced to
        this list. `cold`: don't block on the disk, but add such reads to this list; if it isn't empty, the results are
        void (see `look_up`). `size_before`: bytes read from earlier partitions.
        """
        results: list[FetchResult] = []
        left = params.max_bytes
        min_one_message = not params.hard_max_bytes
        if size_before:
            min_one_message = False
            left = max(0, left - size_before)
        for fetch in fetches:
            result = self._read(fetch, params, left, min_one_message, progressed, cold)
            if result.size:
                min_one_message = False
                left = max(0, left - result.size)
            results.append(result)
        return results

    def _read(
        self,
        fetch: FetchPartition,
        params: FetchParams,
        limit: int,
        min_one: bool,
        progressed: list[TopicPartition] | None,
        cold: list[ColdRead] | None,
    ) -> FetchResult:
        try:
            partition = self.partition_for_fetch(fetch)
            partition_log = partition.local_log(fetch.current_leader_epoch, params.leader_only)
            replica: Replica | None = None
            if params.replica_id >= 0:
                replica = partition.follower(params.replica_id, fetch.current_leader_epoch >= 0)
            elif self._replica_selector is not None and partition.is_leader and not params.leader_only:
                preferred = self._preferred_read_replica(partition, partition_log, fetch, params)
                if preferred is not None:
                    return preferred
            high_watermark = partition_log.high_watermark
            if fetch.last_fetched_epoch >= 0:
                diverging = self._diverging_epoch(fetch, partition, partition_log)
                if diverging is not None:
                    return diverging
            limit = min(limit, fetch.max_bytes)
            if limit < 0:
                raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, f"Invalid max size {limit} for log read")
            leader_end = partition_log.log_end_offset
            info = _read_log(partition_log, fetch.fetch_offset, limit, params.isolation, min_one, cold)
            if info is None:
                return FetchResult(Errors.NONE)
            if (
                replica is not None
                and progressed is not None
                and partition.update_follower_fetch_state(
                    replica,
                    info.fetch_offset_metadata,
                    fetch.log_start_offset,
                    self.time.monotonic_ms(),
                    leader_end,
                    params.replica_epoch,
                )
            ):
                progressed.append(fetch.topic_partition)
        except KafkaError as error:
            return FetchResult(error.error)
        except Exception:
            log.exception("Error processing fetch with offset %d of %s", fetch.fetch_offset, fetch.topic_partition)
            self._stats_of_clients.existing_or_others(fetch.topic_partition.topic).failed_fetches += 1
            return FetchResult(Errors.UNKNOWN_SERVER_ERROR)
        result = self._found(params, partition, partition_log, replica, info, high_watermark)
        if replica is not None:
            # Not while an ISR change is pending: a removed replica must be checked before it is added again.
            result.has_all = (
                fetch.fetch_offset == leader_end
                and replica.broker_id in partition.isr
                and not partition.in_sync.in_flight
            )
        return result

    def _found(
        self,
        params: FetchParams,
        partition: Partition,
        partition_log: Log,
        replica: Replica | None,
        info: FetchDataInfo,
        high_watermark: int,
    ) -> FetchResult:
        """Return the response's values for a read."""
        # A truncated batch is useless to clients, except to old ones, which detect from it that their limit is too
        # small.
        cut = info.first_entry_incomplete and not params.hard_max_bytes
        records = NO_RECORDS if cut else info.records
        if replica is not None and records and self.should_leader_throttle(partition, replica.broker_id):
            records = NO_RECORDS
        result = FetchResult(
            Errors.NONE,
            high_watermark,
            partition_log.last_stable_offset,
            partition_log.log_start_offset,
            records,
            len(records),
            info.fetch_offset_metadata,
        )
        if params.isolation is FetchIsolation.TXN_COMMITTED:
            result.aborted_transactions = None if cut else info.aborted_transactions or []
        return result

    def _preferred_read_replica(
        self, partition: Partition, partition_log: Log, fetch: FetchPartition, params: FetchParams
    ) -> FetchResult | None:
        """Return a closer replica for the consumer (KIP-392), which then gets no records from this one."""
        assert self._replica_selector is not None
        offset, now, cache = fetch.fetch_offset, self.time.monotonic_ms(), self.metadata_cache
        followers: list[ReplicaView] = []
        for replica in partition.remote_replicas.values():
            node = cache.alive_broker(replica.broker_id, params.listener_name)
            end = replica.log_end_offset.message_offset
            has_it = end >= offset >= replica.log_start_offset
            if node is not None and has_it and replica.broker_id in partition.isr:
                followers.append(ReplicaView(replica.broker_id, node.rack, end, now - replica.last_caught_up_ms))
        me = cache.alive_broker(self.broker_id, params.listener_name)
        leader = ReplicaView(self.broker_id, None if me is None else me.rack, partition_log.log_end_offset, 0)
        chosen = self._replica_selector.select(params.rack_id, leader, followers)
        if chosen == self.broker_id:
            return None
        result = FetchResult(
            Errors.NONE, partition_log.high_watermark, partition_log.last_stable_offset, partition_log.log_start_offset
        )
        result.preferred_read_replica = chosen
        return result

    def _diverging_epoch(self, fetch: FetchPartition, partition: Partition, partition_log: Log) -> FetchResult | None:
        """Return the end of the reader's last epoch in this log (KIP-595), if the reader has read beyond it."""
        found = partition.end_offset_for_epoch(fetch.last_fetched_epoch)
        if found is None or found[0] < 0 or found[1] < 0:
            raise KafkaError(
                Errors.OFFSET_OUT_OF_RANGE,
                f"Could not determine the end offset of the last fetched epoch {fetch.last_fetched_epoch} of "
                f"{fetch.topic_partition}",
            )
        if fetch.fetch_offset < partition_log.log_start_offset:
            raise KafkaError(Errors.OFFSET_OUT_OF_RANGE)
        if found[0] >= fetch.last_fetched_epoch and found[1] >= fetch.fetch_offset:
            return None
        result = FetchResult(
            Errors.NONE, partition_log.high_watermark, partition_log.last_stable_offset, partition_log.log_start_offset
        )
        result.diverging_epoch = found
        return result

    def look_up(self, cold: list[ColdRead]) -> Awaitable[None]:
        """Do the reads that `read_from_log` skipped, in threads: they load the pages, so that its next try needn't
        wait for the disk."""
        return self._cold_reads(_read_all, cold)


def _read_log(
    partition_log: Log, offset: int, limit: int, isolation: FetchIsolation, min_one: bool, cold: list[ColdRead] | None
) -> FetchDataInfo | None:
    """Read the log; return None, and add the read to `cold` if given, if it had to wait for the disk."""
    # Most partitions have no new records: then no file is read.
    if cold is None or offset == partition_log.log_end_offset:
        return partition_log.read(offset, limit, isolation, min_one)
    page_cache.blocking_reads.allowed = False
    try:
        return partition_log.read(offset, limit, isolation, min_one)
    except BlockingIOError:
        cold.append((partition_log, offset, limit, isolation, min_one))
        return None
    finally:
        page_cache.blocking_reads.allowed = True


def _read_all(cold: list[ColdRead]) -> None:
    for partition_log, offset, limit, isolation, min_one in cold:
        with suppress(KafkaError):  # the next read reports it
            partition_log.read(offset, limit, isolation, min_one)
