"""kafka-replica-verification: checks that all replicas hold the same batches (after Kafka's
`ReplicaVerificationTool`).

The tool reads every replica, as a debugging consumer, to which followers answer too, and compares batch by batch up
to the high watermark. It runs until it is interrupted; a broker that is down delays the verification of its
partitions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkapy.tools.common.command_line import OptionParser, Options, ToolError, ToolOption, integer, run

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from kafkapy.admin.client import AdminClient
    from kafkapy.clients.metadata import TopicMetadata
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse

DEBUGGING_CONSUMER_ID = -2
"""The replica id of a debugging consumer, to which followers answer too."""

PARSER = OptionParser(
    "Validate that all replicas for a set of topics have the same data.",
    ToolOption("broker-list", "REQUIRED: the server(s) to connect to.", "hostname:port,...,hostname:port"),
    ToolOption("fetch-size", "How much to fetch of a partition at once.", "bytes", integer, 1048576),
    ToolOption("max-wait-ms", "How long a fetch waits for records.", "ms", integer, 1000),
    ToolOption("topic-white-list", "DEPRECATED: use --topics-include.", "Java regex (String)", default=".*"),
    ToolOption("topics-include", "A regular expression for the topics to verify.", "Java regex (String)", default=".*"),
    ToolOption("time", "Where to begin.", "timestamp/-1(latest)/-2(earliest)", integer, -1),
    ToolOption("report-interval-ms", "How often to report.", "ms", integer, 30000),
)


class FetchedReplica(NamedTuple):
    """The answer of one replica; empty, with high watermark -1, if its broker did not answer."""

    records: bytes | memoryview = b""
    high_watermark: int = -1


class Mismatch(Exception):
    """Two replicas have different batches at the same position; the text is the line for the user."""


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from kafkapy.admin.client import AdminClient
    from kafkapy.tools.common.admin_access import IncludeList, admin_properties
    from kafkapy.tools.common.client_tool import check_host_port

    options.require("broker-list")
    check_host_port(options.value("broker-list"))
    include = IncludeList(options.value("topics-include" if options.has("topics-include") else "topic-white-list"))
    with AdminClient.from_properties(admin_properties(None, options.value("broker-list"))) as admin:
        topics = [topic for name, topic in admin.list_topics().items() if include.allows(name)]
        if not topics:
            raise ToolError(
                "No topics found. [topics-include] if specified, is either filtering out all topics or there is no topic."
            )
        reader = ReplicaReader(admin, topics, options.value("fetch-size"), options.value("max-wait-ms"))
        offsets = initial_offsets(admin, topics, options.value("time"))
    print(f"{_now()}: verification process is started", flush=True)
    with ThreadPoolExecutor(len(reader.partitions_of)) as threads:
        try:
            verify(reader, threads, offsets, options.value("report-interval-ms"))
        finally:
            reader.close()


def initial_offsets(admin: AdminClient, topics: Sequence[TopicMetadata], time: int) -> dict[TopicPartition, int]:
    """The first offsets to verify; the end of a partition that has no record as young as the given time."""
    from kafkapy.admin.partitions import UNKNOWN_OFFSET
    from kafkapy.admin.results import values_of
    from kafkapy.common.timestamps import LATEST_TIMESTAMP
    from kafkapy.common.topic_partition import TopicPartition

    partitions = [TopicPartition(topic.name, p.partition) for topic in topics for p in topic.partitions]
    found = values_of(admin.list_offsets(dict.fromkeys(partitions, time)))
    offsets = {partition: result.offset for partition, result in found.items()}
    missing_offsets = [partition for partition, offset in offsets.items() if offset == UNKNOWN_OFFSET]
    ends = values_of(admin.list_offsets(dict.fromkeys(missing_offsets, LATEST_TIMESTAMP)))
    return offsets | {partition: result.offset for partition, result in ends.items()}


def verify(reader: ReplicaReader, threads: Executor, offsets: dict[TopicPartition, int], report_interval: int) -> None:
    """Verify round after round, without end; `offsets` advances to what all replicas have. Raises ToolError if
    replicas diverge."""
    from kafkapy.common.time import SystemTime

    time = SystemTime()
    reported = time.monotonic_ms()
    while True:
        fetched = reader.fetch(threads, offsets)
        try:
            for partition, replicas in fetched.items():
                for line in compare(partition, replicas, offsets):
                    print(f"{_now()}: {line}", flush=True)
        except Mismatch as mismatch:
            print(f"{_now()}: {mismatch}", flush=True)
            raise ToolError("Replicas hold different records at the same offsets") from None
        if time.monotonic_ms() - reported > report_interval:
            reported = time.monotonic_ms()
            print(f"{_now()}: {report(fetched, offsets)}", flush=True)


def compare(
    partition: TopicPartition, replicas: Mapping[int, FetchedReplica], offsets: dict[TopicPartition, int]
) -> Iterator[str]:
    """Compare the replicas from `offsets[partition]` on, which advances behind what all have.

    Yields a line for each batch whose checksums differ; raises `Mismatch` where the offsets of batches differ.
    """
    from kafkapy.record.batches import batches

    walks = {replica: batches(fetched.records) for replica, fetched in replicas.items()}
    while True:
        row = {}
        for replica, walk in walks.items():
            batch = next(walk, None)
            if batch is None or batch.last_offset >= replicas[replica].high_watermark:
                return  # records above it may still change
            row[replica] = batch
        if not row:
            return
        (first_id, first), *others = row.items()
        for replica, batch in others:
            if batch.last_offset != first.last_offset:
                raise Mismatch(
                    f"partition {partition}: replica {first_id}'s offset {first.last_offset} doesn't match "
                    f"replica {replica}'s offset {batch.last_offset}"
                )
            if batch.crc != first.crc:
                yield (
                    f"partition {partition} has unmatched checksum at offset {batch.last_offset}; "
                    f"replica {first_id}'s checksum {first.crc}; replica {replica}'s checksum {batch.crc}"
                )
        offsets[partition] = first.next_offset


def report(
    fetched: Mapping[TopicPartition, Mapping[int, FetchedReplica]], offsets: Mapping[TopicPartition, int]
) -> str:
    """The line about the partition with the most records left to verify."""
    lags = {
        partition: max(replica.high_watermark for replica in replicas.values()) - offsets[partition]
        for partition, replicas in fetched.items()
    }
    worst = max(lags, key=lambda partition: lags[partition])
    return f"max lag is {lags[worst]} for partition {worst} at offset {offsets[worst]} among {len(lags)} partitions"


class ReplicaReader:
    """A connection to each broker that has replicas of the topics; `partitions_of`: broker -> its partitions."""

    def __init__(self, admin: AdminClient, topics: Sequence[TopicMetadata], fetch_size: int, max_wait_ms: int) -> None:
        from kafkapy.clients.blocking_client import BlockingClient
        from kafkapy.common.topic_partition import TopicPartition

        self.fetch_size = fetch_size
        self.max_wait_ms = max_wait_ms
        self.topic_ids = {topic.name: topic.topic_id for topic in topics}
        self.partitions_of: dict[int, list[TopicPartition]] = {}
        for topic in topics:
            for p in topic.partitions:
                for broker in p.replicas:
                    self.partitions_of.setdefault(broker, []).append(TopicPartition(topic.name, p.partition))
        nodes = {node.id: node for node in admin.describe_cluster().nodes}
        if down := sorted(self.partitions_of.keys() - nodes.keys()):
            raise ToolError(f"All brokers must be up at the start; not up: {', '.join(map(str, down))}")
        self._clients = {}
        for broker in self.partitions_of:
            name = f"broker-{DEBUGGING_CONSUMER_ID}-fetcher-{broker}"
            config = admin.config.but(client_id=name, request_timeout_ms=max_wait_ms + 30_000)
            self._clients[broker] = BlockingClient(nodes[broker].host, nodes[broker].port, config)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()

    def fetch(
        self, threads: Executor, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, dict[int, FetchedReplica]]:
        """Send one fetch to each broker, in parallel."""
        fetched: dict[TopicPartition, dict[int, FetchedReplica]] = {}
        brokers = list(self.partitions_of)
        for broker, answer in zip(brokers, threads.map(lambda b: self._fetch_from(b, offsets), brokers), strict=True):
            for partition in self.partitions_of[broker]:
                fetched.setdefault(partition, {})[broker] = answer.get(partition, FetchedReplica())
        return fetched

    def _fetch_from(self, broker: int, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, FetchedReplica]:
        from kafkapy.protocol.api_keys import ApiKey
        from kafkapy.protocol.errors import KafkaError

        client = self._clients[broker]
        try:
            version = client.versions().latest_usable(ApiKey.FETCH)
            response = client.call(self._request(broker, version, offsets), version)
        except KafkaError:
            return {}
        return self._answer(response)

    def _request(self, broker: int, version: int, offsets: Mapping[TopicPartition, int]) -> FetchRequest:
        from kafkapy.common.partitions_by_topic import indexes_by_topic
        from kafkapy.common.topic_partition import TopicPartition
        from kafkapy.protocol.messages.fetch import FetchRequest

        whom: dict[str, Any] = {"replica_id": DEBUGGING_CONSUMER_ID}
        if version >= 15:
            whom = {"replica_state": FetchRequest.ReplicaState(replica_id=DEBUGGING_CONSUMER_ID)}
        request = FetchRequest(**whom, max_wait_ms=self.max_wait_ms, min_bytes=1, session_epoch=-1)
        for topic, indexes in indexes_by_topic(self.partitions_of[broker]).items():
            partitions = [
                FetchRequest.FetchPartition(
                    partition=index,
                    fetch_offset=offsets[TopicPartition(topic, index)],
                    log_start_offset=0,
                    partition_max_bytes=self.fetch_size,
                )
                for index in indexes
            ]
            request.topics.append(
                FetchRequest.FetchTopic(topic=topic, topic_id=self.topic_ids[topic], partitions=partitions)
            )
        return request

    def _answer(self, response: FetchResponse) -> dict[TopicPartition, FetchedReplica]:
        from kafkapy.common.topic_partition import TopicPartition

        names = {topic_id: name for name, topic_id in self.topic_ids.items()}
        return {
            TopicPartition(topic.topic or names[topic.topic_id], p.partition_index): FetchedReplica(
                p.records or b"", p.high_watermark
            )
            for topic in response.responses
            for p in topic.partitions
        }


def _now() -> str:
    now = datetime.now()
    return f"{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03d}"


if __name__ == "__main__":
    sys.exit(main())
