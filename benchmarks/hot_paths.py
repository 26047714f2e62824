"""The two hot paths inside one process, from a request's bytes to the log and to the response's parts: µs of CPU a request.

    python -m benchmarks.hot_paths [produce|fetch] [--profile] [--metrics]

No sockets: what is left is what the broker's own code costs.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import pstats
import struct
import sys
import tempfile
import time
from types import SimpleNamespace
from typing import Any

from twisted.internet.task import Clock

from kafkapy.common.metrics_requests import RequestStatsByApi
from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime, SystemTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import random_uuid
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_manager import LogManager
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.request import RequestContext
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.server.authorizer import AllowAll
from kafkapy.server.fetch_session import FetchSessionCache
from kafkapy.server.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.kafka_apis import KafkaApis
from kafkapy.server.leadership import Leadership
from kafkapy.server.metadata_cache import MetadataCache
from kafkapy.server.metrics.sources import request_stats
from kafkapy.server.replica_manager import ReplicaManager
from kafkapy.server.timer import Timer

TOPIC = "t"


class Transport:
    """Takes everything at once, as a fast socket does."""

    queued_bytes = 0

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def send(self, data: bytes) -> None:
        pass

    def send_parts(self, parts: list[Any]) -> None:
        pass

    def resume_reading(self) -> None:
        pass


class _NoFetchers:
    """This broker follows nobody."""

    def add(self, partitions: Any) -> None:
        pass

    def remove(self, partitions: Any) -> None:
        pass

    def stop_idle_fetchers(self) -> None:
        pass


class _NoMoves:
    """No replica moves between log directories."""

    def resume(self, partitions: Any) -> None:
        pass

    def remove(self, partitions: Any) -> None:
        pass

    def give_up(self, name: TopicPartition) -> None:
        pass


def broker(directory: str, stats: RequestStatsByApi | None = None) -> tuple[KafkaChannel, Any]:
    """A channel on a broker that leads one partition. With `stats` requests are measured, as where metrics are served."""
    clock = Clock()
    timer = Timer(clock)
    scheduler = MockScheduler(MockTime())
    logs = LogManager([directory], LogConfig({}), {}, scheduler, SystemTime())
    logs.startup()
    cache = MetadataCache(0, clock)
    replicas = ReplicaManager(0, logs, cache, SystemTime(), timer)
    leadership = Leadership(
        replicas,
        HighWatermarkCheckpoints(logs),
        lambda leaders, followers: None,
        lambda stopped: None,
        _NoFetchers(),
        _NoMoves(),
    )
    topic_id = random_uuid()
    state = LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        partition_index=0, controller_epoch=1, leader=0, leader_epoch=0, isr=[0], replicas=[0], is_new=True
    )
    leadership.become_leader_or_follower(
        LeaderAndIsrRequest(
            controller_epoch=1,
            topic_states=[
                LeaderAndIsrRequest.LeaderAndIsrTopicState(
                    topic_name=TOPIC, topic_id=topic_id, partition_states=[state]
                )
            ],
        )
    )
    cache.update(
        UpdateMetadataRequest(
            controller_epoch=1,
            topic_states=[
                UpdateMetadataRequest.UpdateMetadataTopicState(
                    topic_name=TOPIC,
                    topic_id=topic_id,
                    partition_states=[
                        UpdateMetadataRequest.UpdateMetadataPartitionState(partition_index=0, isr=[0], replicas=[0])
                    ],
                )
            ],
        )
    )
    services: Any = SimpleNamespace(
        replica_manager=replicas,
        metadata_cache=cache,
        authorizer=AllowAll(),
        config=SimpleNamespace(fetch_max_bytes=57671680),
        fetch_sessions=FetchSessionCache(10, SystemTime()),
    )
    sockets = SocketServer(clock, list(ApiKey), 104857600, ConnectionLimits())
    sockets.request_stats = stats
    channel = KafkaChannel(sockets, RequestContext("c", "/127.0.0.1", "PLAINTEXT"), KafkaApis(services).handle)
    channel.makeConnection(Transport())  # type: ignore[arg-type]
    partition = replicas.get_partition(TopicPartition(TOPIC, 0))
    return channel, (partition, topic_id)


def batch(records: int, size: int, pid: int = -1, sequence: int = -1) -> bytes:
    builder = MemoryRecordsBuilder(
        base_offset=0, producer_id=pid, producer_epoch=0 if pid >= 0 else -1, base_sequence=sequence
    )
    now = int(time.time() * 1000)
    for i in range(records):
        builder.append(now + i // 20, None, b"x" * size)
    return builder.build()


def produce_frames(records: int, size: int, producer_id: int = 5) -> Any:
    """Endless frames of an idempotent Java producer."""
    template = bytearray(batch(records, size, producer_id, 0))
    import crc32c

    for sequence in itertools.count(0, records):
        struct.pack_into(">i", template, 53, sequence % 2147483647)
        struct.pack_into(">I", template, 17, crc32c.crc32c(bytes(template[21:])))
        data = ProduceRequest.PartitionProduceData(index=0, records=bytes(template))
        body = ProduceRequest(
            acks=-1,
            timeout_ms=30000,
            topic_data=[ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        yield encode_request(ApiKey.PRODUCE, 11, sequence & 0x7FFFFFFF, "perf-producer-client", body)


def one_record_frames() -> Any:
    """The same, one record in each."""
    yield from produce_frames(1, 100, producer_id=6)


def feed(channel: KafkaChannel, frames: list[bytes], stats: RequestStatsByApi | None = None) -> float:
    """CPU seconds to handle the frames, one by one, as the transport delivers them; and to take in what was measured."""
    shared = channel.receive_buffer()
    begin = time.process_time()
    for frame in frames:
        size = len(frame)
        shared[:size] = frame
        channel.bytes_received(size)
    if stats is not None:
        stats.fold()
    return time.process_time() - begin


def fetch_frame(topic_id: bytes, offset: int, max_bytes: int) -> bytes:
    body = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=max_bytes,
        session_epoch=-1,
        topics=[
            FetchRequest.FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
                ],
            )
        ],
    )
    return encode_request(ApiKey.FETCH, 16, 1, "perf-consumer-client", body)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", default="all", choices=["all", "produce", "fetch"])
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        stats = request_stats() if arguments.metrics else None
        channel, (partition, topic_id) = broker(directory, stats)
        profile = cProfile.Profile()
        many = produce_frames(145, 100)
        for name, count, supply in (
            ("produce 145 x 100 B", 4000, many),
            ("produce 1 x 100 B", 4000, one_record_frames()),
        ):
            feed(channel, list(itertools.islice(supply, 500)))
            runs = []
            for _ in range(5):
                chosen = list(itertools.islice(supply, count))
                if arguments.profile:
                    profile.enable()
                runs.append(feed(channel, chosen, stats) / count * 1e6)
                profile.disable()
            print(f"{name}: {min(runs):.1f} µs a request (best of 5), log end {partition.log.log_end_offset}")
        if arguments.path in ("all", "fetch"):
            small = [fetch_frame(topic_id, offset * 145, 1000) for offset in range(4000)]
            runs = [feed(channel, small, stats) / len(small) * 1e6 for _ in range(5)]
            print(f"fetch one batch: {min(runs):.1f} µs a request (best of 5)")
        if arguments.profile:
            pstats.Stats(profile).sort_stats("tottime").print_stats(35)
    return 0


if __name__ == "__main__":
    sys.exit(main())
