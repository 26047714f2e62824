"""A broker's directories and its cluster's znodes with thousands of partitions and offsets, made without a broker.

    server = KafkapyServer("large", directory)
    write_cluster(server, topics=2_013, partitions=9_214, groups=500, offsets=1_000_000)
    server.start()

What would take a client minutes to make is written here in seconds, as a broker that was killed leaves it: the next start looks
at every log. The first controller elects the leaders.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.brokers import Server
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import random_uuid, to_string
from kafkapy.coordinator.group.offsets import GroupOffset
from kafkapy.coordinator.group.records import OFFSET_VALUE_VERSION, offset_key, offset_value
from kafkapy.coordinator.runtime.owned_topic import abs_hash
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ConfigEntityZNode

OFFSETS_PARTITIONS = 50
RECORDS_PER_BATCH = 500


def topic_names(topics: int) -> list[str]:
    return [f"large-{number}" for number in range(topics)]


def write_cluster(server: Server, topics: int, partitions: int, groups: int = 0, offsets: int = 0) -> None:
    """`partitions` over all topics, each with a batch of one record and its topic with a config; `offsets` over all groups."""
    per_topic = [partitions // topics + (number < partitions % topics) for number in range(topics)]
    layout = dict(zip(topic_names(topics), per_topic, strict=True))
    settings = dict(line.split("=", 1) for line in server.properties.read_text().splitlines())
    zk_client = KafkaZkClient.connect(settings["zookeeper.connect"], 30_000, 30_000, 100)
    try:
        zk_client.create_top_level_paths()
        data = Path(settings["log.dirs"])
        for topic, count in layout.items():
            topic_id = _create_topic(zk_client, server.broker_id, topic, count, {"retention.ms": "-1"})
            for partition in range(count):
                _write_log(data, TopicPartition(topic, partition), topic_id, [_record_batch()])
        if offsets:
            compacted = {"cleanup.policy": "compact", "segment.bytes": "104857600"}
            topic_id = _create_topic(zk_client, server.broker_id, GROUP_METADATA_TOPIC, OFFSETS_PARTITIONS, compacted)
            for partition in range(OFFSETS_PARTITIONS):
                commits = _commits(partition, layout, groups, offsets // groups)
                _write_log(data, TopicPartition(GROUP_METADATA_TOPIC, partition), topic_id, commits)
    finally:
        zk_client.close()


def _create_topic(
    zk_client: KafkaZkClient, broker_id: int, topic: str, partitions: int, configs: dict[str, str]
) -> bytes:
    topic_id = random_uuid()
    zk_client.create_recursive(ConfigEntityZNode.path("topics", topic), ConfigEntityZNode.encode(configs))
    zk_client.create_topic_assignment(topic, topic_id, {number: [broker_id] for number in range(partitions)})
    return topic_id


def _write_log(data: Path, partition: TopicPartition, topic_id: bytes, batches: list[bytes] | Iterator[bytes]) -> None:
    directory = data / f"{partition.topic}-{partition.partition}"
    directory.mkdir(parents=True)
    (directory / "partition.metadata").write_text(f"version: 0\ntopic_id: {to_string(topic_id)}\n")
    (directory / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    for suffix in ("index", "timeindex"):
        (directory / f"{0:020d}.{suffix}").touch()
    with open(directory / f"{0:020d}.log", "wb") as file:
        for batch in batches:
            file.write(batch)


def _record_batch() -> bytes:
    builder = MemoryRecordsBuilder(partition_leader_epoch=0)
    builder.append(_now_ms(), b"key", bytes(100))
    return builder.build()


def _commits(partition: int, layout: dict[str, int], groups: int, each: int) -> Iterator[bytes]:
    """Batches with the offsets of the groups that the partition keeps: of one after the other's partitions, round and round."""
    names = [TopicPartition(topic, number) for topic, count in layout.items() for number in range(count)]
    keys = [
        (group, names[(number * each + n) % len(names)])
        for number in range(groups)
        if abs_hash(group := f"group-{number}") % OFFSETS_PARTITIONS == partition
        for n in range(each)
    ]
    now_ms = _now_ms()
    value = offset_value(GroupOffset(1, 0, "", now_ms), OFFSET_VALUE_VERSION)
    for first in range(0, len(keys), RECORDS_PER_BATCH):
        builder = MemoryRecordsBuilder(base_offset=first, partition_leader_epoch=0)
        for group, name in keys[first : first + RECORDS_PER_BATCH]:
            builder.append(now_ms, offset_key(group, name), value)
        yield builder.build()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
