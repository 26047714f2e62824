"""Replicas, followers, purgatories, fetch sessions, log directories and the log cleaner."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

from kafkapy.log.cleaning.log_cleaner import LogCleaner
from kafkapy.server.metrics.metric import BrokerMetric, Omitted, Sample, counter, gauge
from kafkapy.server.metrics.sources import Sources
from kafkapy.server.purgatory.purgatory import DelayedOperationPurgatory

_REPLICAS = "kafka.server:type=ReplicaManager,name={}"
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name={},delayedOperation=..."
_SESSIONS = "kafka.server:type=FetchSessionCache,name={}"
_FETCHERS = "kafka.server:type=ReplicaFetcherManager,name={},clientId=Replica"


def _of_purgatories(of: Callable[[DelayedOperationPurgatory], int]) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        replicas = sources.replica_manager
        for purgatory in (replicas.produce_purgatory, replicas.fetch_purgatory, replicas.delete_records_purgatory):
            yield (purgatory.name,), of(purgatory)

    return read


def _lags(sources: Sources) -> Iterator[Sample | Omitted | None]:
    """Yield the lags, the longest first."""
    limit = sources.snapshot.limit
    lags = list(sources.fetchers.lags())
    yield None
    lags.sort(key=lambda found: -found[3])
    for leader_id, number, partition, lag in lags[:limit]:
        yield (f"ReplicaFetcherThread-{number}-{leader_id}", partition.topic, str(partition.partition)), lag
    yield Omitted(max(0, len(lags) - limit))


def _fetcher(value: Callable[[Sources], float]) -> Callable[[Sources], Iterator[Sample]]:
    return lambda sources: iter([(("Replica",), value(sources))])


def _log_dirs(sources: Sources) -> Iterator[Sample]:
    logs = sources.log_manager
    for offline, directories in ((0, logs.live_log_dirs), (1, logs.offline_log_dirs)):
        for directory in directories:
            yield (directory,), offline


def _disks(of: Callable[[Any], int]) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        for directory in sources.log_manager.live_log_dirs:
            yield (directory,), of(shutil.disk_usage(directory))

    return read


def _log_cleaner(sources: Sources) -> LogCleaner | None:
    """Return the log cleaner; None if log.cleaner.enable is false."""
    cleaner = sources.log_manager.cleaner
    return cleaner if isinstance(cleaner, LogCleaner) else None


def _cleaner(of: Callable[[LogCleaner], float]) -> Callable[[Sources], float | Iterator[Sample]]:
    def read(sources: Sources) -> float | Iterator[Sample]:
        cleaner = _log_cleaner(sources)
        return iter(()) if cleaner is None else of(cleaner)

    return read


def _uncleanable(sources: Sources) -> Iterator[Sample]:
    cleaner = _log_cleaner(sources)
    if cleaner is not None:
        for directory in sources.log_manager.live_log_dirs:
            yield (directory,), cleaner.manager.uncleanable_count(directory)


def _since_last_run(sources: Sources) -> float | Iterator[Sample]:
    cleaner = _log_cleaner(sources)
    if cleaner is None or not cleaner.manager.time_of_last_run:
        return iter(())
    return sources.time.milliseconds() - cleaner.manager.time_of_last_run


REPLICATION_METRICS: tuple[BrokerMetric, ...] = (
    gauge(
        "kafka_server_replicamanager_partitioncount", _REPLICAS.format("PartitionCount"),
        "Partitions with a replica here.", lambda s: s.snapshot.hosted),
    gauge(
        "kafka_server_replicamanager_leadercount", _REPLICAS.format("LeaderCount"),
        "Partitions that are led here.", lambda s: s.snapshot.led),
    gauge(
        "kafka_server_replicamanager_underreplicatedpartitions", _REPLICAS.format("UnderReplicatedPartitions"),
        "Partitions led here of which a replica is not in sync.",
        lambda s: s.snapshot.under_replicated),
    gauge(
        "kafka_server_replicamanager_underminisrpartitioncount", _REPLICAS.format("UnderMinIsrPartitionCount"),
        "Partitions led here that have fewer replicas in sync than min.insync.replicas: acks=all is refused.",
        lambda s: s.snapshot.under_min_isr),
    gauge(
        "kafka_server_replicamanager_atminisrpartitioncount", _REPLICAS.format("AtMinIsrPartitionCount"),
        "Partitions led here that have just min.insync.replicas in sync.", lambda s: s.snapshot.at_min_isr),
    gauge(
        "kafka_server_replicamanager_offlinereplicacount", _REPLICAS.format("OfflineReplicaCount"),
        "Replicas in log directories that have failed.", lambda s: len(s.replica_manager.offline)),
    gauge(
        "kafka_server_replicamanager_reassigningpartitions", _REPLICAS.format("ReassigningPartitions"),
        "Partitions led here that are being reassigned.",
        lambda s: s.snapshot.reassigning),
    counter(
        "kafka_server_replicamanager_isrshrinks_total", _REPLICAS.format("IsrShrinksPerSec"),
        "Times a leader here has taken replicas out of its ISR.", lambda s: s.replica_manager.isr_shrinks),
    counter(
        "kafka_server_replicamanager_isrexpands_total", _REPLICAS.format("IsrExpandsPerSec"),
        "Times a leader here has taken replicas into its ISR.", lambda s: s.replica_manager.isr_expands),
    counter(
        "kafka_server_replicamanager_failedisrupdates_total", _REPLICAS.format("FailedIsrUpdatesPerSec"),
        "Changes of an ISR that the controller has refused.", lambda s: s.replica_manager.failed_isr_updates),
    gauge(
        "kafka_server_replicamanager_produceridcount", _REPLICAS.format("ProducerIdCount"),
        "Producer ids that are remembered, summed over the replicas here.",
        lambda s: s.snapshot.producer_ids),
    gauge(
        "kafka_server_replicafetchermanager_maxlag", _FETCHERS.format("MaxLag"),
        "How far the replica here that is furthest behind its leader is behind, records.",
        _fetcher(lambda s: s.fetchers.max_lag), "clientId"),
    gauge(
        "kafka_server_replicafetchermanager_failedpartitionscount", _FETCHERS.format("FailedPartitionsCount"),
        "Partitions that are not followed any more because of an error.",
        _fetcher(lambda s: s.fetchers.failed_partitions_count), "clientId"),
    gauge(
        "kafka_server_fetcherlagmetrics_consumerlag",
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=...,topic=...,partition=...",
        "How far each replica that follows is behind its leader, records.", _lags, "clientId", "topic", "partition"),
    gauge(
        "kafka_server_delayedoperationpurgatory_purgatorysize", _PURGATORY.format("PurgatorySize"),
        "Entries in the lists of what waits, one for each partition that a request waits for.",
        _of_purgatories(lambda p: p.watched()), "delayedOperation"),
    gauge(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations", _PURGATORY.format("NumDelayedOperations"),
        "Requests that wait: for followers (Produce, DeleteRecords), for records (Fetch).",
        _of_purgatories(lambda p: p.delayed()), "delayedOperation"),
    gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchsessions", _SESSIONS.format("NumIncrementalFetchSessions"),
        "Fetch sessions (KIP-227).", lambda s: len(s.fetch_sessions)),
    gauge(
        "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached",
        _SESSIONS.format("NumIncrementalFetchPartitionsCached"),
        "Partitions in all fetch sessions.", lambda s: s.fetch_sessions.partitions_cached),
    counter(
        "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total",
        _SESSIONS.format("IncrementalFetchSessionEvictionsPerSec"),
        "Fetch sessions that gave way to others.", lambda s: s.fetch_sessions.evictions),
    gauge(
        "kafka_log_logmanager_offlinelogdirectorycount", "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        "Log directories that have failed.", lambda s: len(s.log_manager.offline_log_dirs)),
    gauge(
        "kafka_log_logmanager_logdirectoryoffline",
        "kafka.log:type=LogManager,name=LogDirectoryOffline,logDirectory=...",
        "1: this log directory has failed.", _log_dirs, "logDirectory"),
    gauge(
        "kafkapy_log_dir_free_bytes", "",
        "Bytes that are free on the disk of a log directory.", _disks(lambda disk: disk.free), "logDirectory"),
    gauge(
        "kafkapy_log_dir_total_bytes", "",
        "Size of the disk of a log directory.", _disks(lambda disk: disk.total), "logDirectory"),
    gauge(
        "kafka_log_logcleaner_deadthreadcount", "kafka.log:type=LogCleaner,name=DeadThreadCount",
        "Cleaner threads that have died of an error.", _cleaner(lambda c: c.dead_thread_count)),
    gauge(
        "kafka_log_logcleaner_cleaner_recopy_percent", "kafka.log:type=LogCleaner,name=cleaner-recopy-percent",
        "Bytes written of bytes read in the last compactions, percent.", _cleaner(lambda c: c.cleaner_recopy_percent)),
    gauge(
        "kafka_log_logcleaner_max_buffer_utilization_percent",
        "kafka.log:type=LogCleaner,name=max-buffer-utilization-percent",
        "How full the offset map was in the last compactions, percent.",
        _cleaner(lambda c: c.max_buffer_utilization_percent)),
    gauge(
        "kafka_log_logcleaner_max_clean_time_secs", "kafka.log:type=LogCleaner,name=max-clean-time-secs",
        "How long the longest of the last compactions took, seconds.", _cleaner(lambda c: c.max_clean_time_secs)),
    gauge(
        "kafka_log_logcleaner_max_compaction_delay_secs", "kafka.log:type=LogCleaner,name=max-compaction-delay-secs",
        "How long the log that is longest overdue by max.compaction.lag.ms is overdue, seconds.",
        _cleaner(lambda c: c.manager.max_compaction_delay_ms // 1000)),
    gauge(
        "kafka_log_logcleanermanager_max_dirty_percent", "kafka.log:type=LogCleanerManager,name=max-dirty-percent",
        "How much of the dirtiest log is not compacted, percent.",
        _cleaner(lambda c: int(100 * c.manager.dirtiest_log_cleanable_ratio))),
    gauge(
        "kafka_log_logcleanermanager_time_since_last_run_ms",
        "kafka.log:type=LogCleanerManager,name=time-since-last-run-ms",
        "Since a cleaner thread has looked for work, ms.", _since_last_run),
    gauge(
        "kafka_log_logcleanermanager_uncleanable_partitions_count",
        "kafka.log:type=LogCleanerManager,name=uncleanable-partitions-count,logDirectory=...",
        "Partitions whose compaction has failed.", _uncleanable, "logDirectory"),
)  # fmt: skip
