"""Traffic by topic, and sizes by partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkapy.cluster.partition import Partition
from kafkapy.common.metrics_topics import BrokerTopicStats, StatsByTopic, TopicStats
from kafkapy.log.log import Log
from kafkapy.runtime.chunks import chunks
from kafkapy.server.metrics.metric import BrokerMetric, Omitted, Sample, counter, gauge
from kafkapy.server.metrics.page_snapshot import OfTopic
from kafkapy.server.metrics.sources import Sources

_TOPICS = "kafka.server:type=BrokerTopicMetrics,name={},topic=..."
_LOGS = "kafka.log:type=Log,name={},topic=...,partition=..."
_PARTITIONS = "kafka.cluster:type=Partition,name={},topic=...,partition=..."
_OF_PARTITION = ("topic", "partition")


def _clients(stats: BrokerTopicStats) -> StatsByTopic:
    return stats.clients


def _traffic(
    of: Callable[[TopicStats], int], side: Callable[[BrokerTopicStats], StatsByTopic] = _clients
) -> Callable[[Sources], Iterator[Sample | None]]:
    """Return a reader of traffic by topic; the sample without a topic is the total."""

    def read(sources: Sources) -> Iterator[Sample | None]:
        by_topic = side(sources.replica_manager.topic_stats)
        yield ("",), sum(map(of, by_topic.values()), of(by_topic.others))
        yield None
        for topic, stats in list(by_topic.items()):
            yield (topic,), of(stats)

    return read


def _of_logs(of: Callable[[Log], int]) -> Callable[[Sources], Iterator[Sample | Omitted]]:
    """Return a reader that yields a value for each local replica."""

    def read(sources: Sources) -> Iterator[Sample | Omitted]:
        for partition, log in sources.snapshot.replicas:
            yield _labels(partition), of(log)
        yield Omitted(sources.snapshot.replicas_left_out)

    return read


def _of_leaders(of: Callable[[Partition, Log], float]) -> Callable[[Sources], Iterator[Sample | Omitted]]:
    """Return a reader that yields a value for each partition led by this broker."""

    def read(sources: Sources) -> Iterator[Sample | Omitted]:
        for partition, log in sources.snapshot.leaders:
            yield _labels(partition), of(partition, log)
        yield Omitted(sources.snapshot.leaders_left_out)

    return read


def _of_topics(of: Callable[[OfTopic], int], *, zeros: bool = False) -> Callable[[Sources], Iterator[Sample]]:
    def read(sources: Sources) -> Iterator[Sample]:
        for topic, found in sources.snapshot.topics.items():
            if zeros or of(found):
                yield (topic,), of(found)

    return read


def _labels(partition: Partition) -> tuple[str, str]:
    name = partition.topic_partition
    return name.topic, str(name.partition)


def _partition_counts(sources: Sources) -> Iterator[Sample | None]:
    cache = sources.metadata_cache
    for chunk in chunks(list(sources.snapshot.topics)):
        for topic in chunk:
            first = cache.partition_state(topic, 0)
            if first is not None and first.leader == sources.broker_id:
                yield (topic,), cache.num_partitions(topic) or 0
        yield None


TOPIC_METRICS: tuple[BrokerMetric, ...] = (
    counter(
        "kafka_server_brokertopicmetrics_messagesin_total", _TOPICS.format("MessagesInPerSec"),
        "Records appended by producers. The series without a topic is the sum of all.",
        _traffic(lambda t: t.messages_in), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_bytesin_total", _TOPICS.format("BytesInPerSec"),
        "Bytes of records appended by producers.", _traffic(lambda t: t.bytes_in), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_bytesout_total", _TOPICS.format("BytesOutPerSec"),
        "Bytes of records fetched by consumers.", _traffic(lambda t: t.bytes_out), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_totalproducerequests_total", _TOPICS.format("TotalProduceRequestsPerSec"),
        "Appends asked for by producers, one for each partition of a request.",
        _traffic(lambda t: t.total_produces), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_totalfetchrequests_total", _TOPICS.format("TotalFetchRequestsPerSec"),
        "Partitions of fetches that were answered.", _traffic(lambda t: t.fetches), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_failedproducerequests_total", _TOPICS.format("FailedProduceRequestsPerSec"),
        "Appends that failed, except for reasons by which a client learns where to go.",
        _traffic(lambda t: t.failed_produces), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_failedfetchrequests_total", _TOPICS.format("FailedFetchRequestsPerSec"),
        "Reads of partitions that failed unexpectedly.", _traffic(lambda t: t.failed_fetches), "topic"),
    counter(
        "kafka_server_brokertopicmetrics_replicationbytesout_total",
        "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesOutPerSec",
        "Bytes of records fetched by followers.",
        lambda s: s.replica_manager.topic_stats.followers.all_topics().bytes_out),
    counter(
        "kafka_server_brokertopicmetrics_replicationbytesin_total",
        "kafka.server:type=BrokerTopicMetrics,name=ReplicationBytesInPerSec",
        "Bytes of records fetched from leaders.",
        lambda s: s.replica_manager.topic_stats.replication_bytes_in),
    gauge(
        "kafka_log_log_size", _LOGS.format("Size"),
        "Bytes of a replica's log.", _of_logs(lambda log: log.size), *_OF_PARTITION),
    gauge(
        "kafka_log_log_numlogsegments", _LOGS.format("NumLogSegments"),
        "Segments of a replica's log.", _of_logs(lambda log: len(log.segments)), *_OF_PARTITION),
    gauge(
        "kafka_log_log_logstartoffset", _LOGS.format("LogStartOffset"),
        "First offset of a replica's log.", _of_logs(lambda log: log.log_start_offset), *_OF_PARTITION),
    gauge(
        "kafka_log_log_logendoffset", _LOGS.format("LogEndOffset"),
        "Offset of the next record of a replica's log.", _of_logs(lambda log: log.log_end_offset), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_underreplicated", _PARTITIONS.format("UnderReplicated"),
        "1: a replica of this partition, which is led here, is not in sync.",
        _of_leaders(lambda p, _: int(p.is_under_replicated)), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_underminisr", _PARTITIONS.format("UnderMinIsr"),
        "1: fewer replicas are in sync than min.insync.replicas.",
        _of_leaders(lambda p, log: int(len(p.isr) < p.effective_min_isr(log))), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_atminisr", _PARTITIONS.format("AtMinIsr"),
        "1: just as many replicas are in sync as min.insync.replicas asks for.",
        _of_leaders(lambda p, log: int(len(p.isr) == p.effective_min_isr(log))), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_laststableoffsetlag", _PARTITIONS.format("LastStableOffsetLag"),
        "Committed records that a read_committed consumer does not see yet.",
        _of_leaders(lambda _, log: log.high_watermark - log.last_stable_offset), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_replicascount", _PARTITIONS.format("ReplicasCount"),
        "Number of replicas.", _of_leaders(lambda p, _: len(p.replicas)), *_OF_PARTITION),
    gauge(
        "kafka_cluster_partition_insyncreplicascount", _PARTITIONS.format("InSyncReplicasCount"),
        "Number of replicas in sync.", _of_leaders(lambda p, _: len(p.isr)), *_OF_PARTITION),
    gauge(
        "kafkapy_topic_underreplicated_partitions", "",
        "Partitions of a topic, led here, of which a replica is not in sync; only topics that have such.",
        _of_topics(lambda t: t.under_replicated), "topic"),
    gauge(
        "kafkapy_topic_underminisr_partitions", "",
        "Partitions of a topic, led here, that have fewer replicas in sync than min.insync.replicas; only topics that have such.",
        _of_topics(lambda t: t.under_min_isr), "topic"),
    gauge(
        "kafkapy_topic_size_bytes", "", "Bytes of the logs of a topic's replicas here.",
        _of_topics(lambda t: t.size, zeros=True), "topic"),
    gauge(
        "kafka_topic_partition_current_offset", "",
        "As kafka_exporter: high watermark of a partition, exported by its leader.",
        _of_leaders(lambda _, log: log.high_watermark), *_OF_PARTITION),
    gauge(
        "kafka_topic_partition_oldest_offset", "",
        "As kafka_exporter: first offset of a partition, exported by its leader.",
        _of_leaders(lambda _, log: log.log_start_offset), *_OF_PARTITION),
    gauge(
        "kafka_topic_partition_in_sync_replica", "",
        "As kafka_exporter: number of replicas in sync, exported by the leader.",
        _of_leaders(lambda p, _: len(p.isr)), *_OF_PARTITION),
    gauge(
        "kafka_topic_partition_replicas", "",
        "As kafka_exporter: number of replicas, exported by the leader.",
        _of_leaders(lambda p, _: len(p.replicas)), *_OF_PARTITION),
    gauge(
        "kafka_topic_partition_leader", "",
        "As kafka_exporter: id of the leader, exported by the leader.",
        _of_leaders(lambda p, _: p.leader_id), *_OF_PARTITION),
    gauge(
        "kafka_topic_partition_under_replicated_partition", "",
        "As kafka_exporter: 1 if a replica is not in sync, exported by the leader.",
        _of_leaders(lambda p, _: int(p.is_under_replicated)), *_OF_PARTITION),
    gauge(
        "kafka_topic_partitions", "",
        "As kafka_exporter: number of partitions of a topic, exported by the leader of its first.",
        _partition_counts, "topic"),
)  # fmt: skip
