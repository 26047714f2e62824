"""The two hot paths inside one process, from a request's bytes to the log and to the response's parts: µs of CPU a request.

    python -m benchmarks.hot_paths [produce|fetch|pass] [--profile] [--metrics]

No sockets: what is left is what the broker's own code costs.
"""

from __future__ import annotations

import argparse
import cProfile
import itertools
import pstats
import random
import socket
import string
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from twisted.internet.task import Clock

from kafkapy.common.metrics_requests import RequestStatsByApi
from kafkapy.common.time import SystemTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import random_uuid
from kafkapy.log.log_config import LogConfig
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.network.channel import KafkaChannel
from kafkapy.network.connection_quotas import ConnectionLimits
from kafkapy.network.large_requests import LargeRequests
from kafkapy.network.request import Request, RequestContext
from kafkapy.network.send_queue import SendQueue
from kafkapy.network.socket_server import SocketServer
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.messages.fetch import FetchRequest
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.record.compression import CompressionType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.runtime.clock import MockClock
from kafkapy.runtime.time_slice import Checkpoints, TimeSlice
from kafkapy.server.admin.controller import Controller
from kafkapy.server.build import Core, Environment, build_core, build_guards, build_handlers, build_sockets
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.fetch.fetch_session import FetchSessionCache
from kafkapy.server.inter_broker.producer_ids import ProducerIdManager
from kafkapy.server.kafka_apis import KafkaApis
from kafkapy.server.metrics.sources import request_stats
from kafkapy.server.replication.leadership import orders_of
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.zk.kafka_zk_client import KafkaZkClient

TOPIC = "t"
SESSION_ID = 7


Scenario = Callable[["Broker", RequestStatsByApi | None], Iterator[float]]
"""On a new broker, without end: does its requests many times and gives CPU seconds for each."""


class Transport:
    """Takes everything at once, as a fast socket does."""

    def __init__(self) -> None:
        self.outgoing = SendQueue(socket.socket())

    def setTcpNoDelay(self, enabled: bool) -> None:
        pass

    def send(self, data: bytes) -> None:
        pass

    def send_parts(self, parts: list[Any]) -> None:
        pass

    def resume_reading(self) -> None:
        pass


@dataclass
class Broker:
    sockets: SocketServer
    handle: Callable[[Request], None]
    replicas: ReplicaManager
    topic_id: bytes

    def connect(self) -> KafkaChannel:
        channel = KafkaChannel(self.sockets, RequestContext("c", "/127.0.0.1", "PLAINTEXT"), self.handle)
        channel.makeConnection(Transport())  # type: ignore[arg-type]
        return channel

    def end(self, partition: int = 0) -> int:
        return self.replicas.get_partition(TopicPartition(TOPIC, partition)).local_log(-1, True).log_end_offset


def broker(directory: str, stats: RequestStatsByApi | None = None, partitions: int = 6) -> Broker:
    """A broker that leads the partitions of one topic. With `stats` requests are measured, as where metrics are served.

    No ZooKeeper, no controller: on the hot paths nobody asks them.
    """
    config = KafkaConfig({"zookeeper.connect": "nowhere:2181", "broker.id": "0", "log.dirs": directory})
    clock = BusyClock()
    environment = Environment(
        Clock(), clock, clock.in_thread, clock.in_thread, clock.in_thread, cast(KafkaZkClient, None), lambda: -1
    )
    logs = LogManager(config.log_dirs, LogConfig({}), {}, clock, clock)
    logs.startup()
    core = build_core(config, environment, logs)
    core = core._replace(fetch_sessions=FetchSessionCache(10, clock, new_id=lambda: SESSION_ID))
    lead(core, topic_id := random_uuid(), partitions)
    producer_ids = ProducerIdManager(_no_ids, clock.monotonic_ms)
    guards = build_guards(config, environment)
    handlers = build_handlers(
        config, environment, core, "", cast(Controller, None), producer_ids, DynamicBrokerConfig(config), guards
    )
    sockets = build_sockets(config, environment, guards, ConnectionLimits())
    sockets.request_stats = stats
    return Broker(
        sockets,
        KafkaApis(handlers.by_api(), clock, LargeRequests(clock.in_thread), guards.quotas).handle,
        core.replica_manager,
        topic_id,
    )


class BusyClock(SystemTime):
    """Tells the time; what is to be done later is never done, as where requests are answered long before their time is up."""

    def __init__(self) -> None:
        unmoved = MockClock()
        never = unmoved.later(0, lambda: None)
        self.later = lambda delay_ms, function: never
        self.schedule_once, self.schedule = unmoved.schedule_once, unmoved.schedule
        self.schedule_in_thread, self.in_thread = unmoved.schedule_in_thread, unmoved.in_thread
        self.from_thread, self.yield_now = unmoved.from_thread, unmoved.yield_now
        endless = TimeSlice()
        self.should_yield, self.begin_request = endless.is_over, endless.begin_request
        self.checkpoint = Checkpoints(endless, self.yield_now).checkpoint


async def _no_ids() -> tuple[int, int]:
    raise NotImplementedError


def lead(core: Core, topic_id: bytes, partitions: int) -> None:
    """What a controller would say: the topic is there, and this broker leads all of it."""
    states = [
        LeaderAndIsrRequest.LeaderAndIsrPartitionState(
            partition_index=index, controller_epoch=1, leader=0, leader_epoch=0, isr=[0], replicas=[0], is_new=True
        )
        for index in range(partitions)
    ]
    topic = LeaderAndIsrRequest.LeaderAndIsrTopicState(topic_name=TOPIC, topic_id=topic_id, partition_states=states)
    request = LeaderAndIsrRequest(controller_epoch=1, topic_states=[topic])
    core.leadership.become_leader_or_follower(request, orders_of(request), {})
    core.metadata_cache.update(
        UpdateMetadataRequest(
            controller_epoch=1,
            topic_states=[
                UpdateMetadataRequest.UpdateMetadataTopicState(
                    topic_name=TOPIC,
                    topic_id=topic_id,
                    partition_states=[
                        UpdateMetadataRequest.UpdateMetadataPartitionState(partition_index=index, isr=[0], replicas=[0])
                        for index in range(partitions)
                    ],
                )
            ],
        )
    )


def batch(
    records: int, size: int, pid: int = -1, sequence: int = -1, codec: CompressionType = CompressionType.NONE
) -> bytes:
    """Its values are random letters, as those of Kafka's producer-perf-test."""
    builder = MemoryRecordsBuilder(
        base_offset=0,
        producer_id=pid,
        producer_epoch=0 if pid >= 0 else -1,
        base_sequence=sequence,
        compression_type=codec,
    )
    now = int(time.time() * 1000)
    letters = random.Random(0)
    for i in range(records):
        builder.append(now + i // 20, None, bytes(letters.choices(string.ascii_uppercase.encode(), k=size)))
    return builder.build()


def produce_frames(
    records: int, size: int, producer_id: int = 5, partition: int = 0, codec: CompressionType = CompressionType.NONE
) -> Iterator[bytes]:
    """Endless frames of an idempotent Java producer."""
    template = bytearray(batch(records, size, producer_id, 0, codec))
    import crc32c

    for sequence in itertools.count(0, records):
        struct.pack_into(">i", template, 53, sequence % 2147483647)
        struct.pack_into(">I", template, 17, crc32c.crc32c(bytes(template[21:])))
        data = ProduceRequest.PartitionProduceData(index=partition, records=bytes(template))
        body = ProduceRequest(
            acks=-1,
            timeout_ms=30000,
            topic_data=[ProduceRequest.TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        yield encode_request(ApiKey.PRODUCE, 11, sequence & 0x7FFFFFFF, "perf-producer-client", body)


def feed(channel: KafkaChannel, frames: list[bytes], stats: RequestStatsByApi | None = None) -> float:
    """CPU seconds to handle the frames, one by one, as the transport delivers them; and to take in what was measured."""
    return feed_each([(channel, frame) for frame in frames], stats)


def feed_each(frames: list[tuple[KafkaChannel, bytes]], stats: RequestStatsByApi | None = None) -> float:
    """The same for frames of several connections."""
    shared = frames[0][0].receive_buffer()
    begin = time.process_time()
    for channel, frame in frames:
        size = len(frame)
        shared[:size] = frame
        channel.bytes_received(size)
    if stats is not None:
        stats.fold()
    return time.process_time() - begin


def fetch_frame(topic_id: bytes, offsets: dict[int, int], epoch: int, max_wait_ms: int = 500) -> bytes:
    """What a consumer asks for of these partitions, by its fetch session."""
    body = FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=50 << 20,
        session_id=SESSION_ID if epoch else 0,
        session_epoch=epoch,
        topics=[
            FetchRequest.FetchTopic(
                topic_id=topic_id,
                partitions=[
                    FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
                    for index, offset in offsets.items()
                ],
            )
        ]
        if offsets
        else [],
    )
    return encode_request(ApiKey.FETCH, 17, 1, "perf-consumer-client", body)


def produce(
    records: int, size: int, count: int, warm: int = 500, codec: CompressionType = CompressionType.NONE
) -> Scenario:
    """Batches of one producer to one partition."""

    def run(broker: Broker, stats: RequestStatsByApi | None) -> Iterator[float]:
        channel, supply = broker.connect(), produce_frames(records, size, producer_id=records, codec=codec)
        feed(channel, list(itertools.islice(supply, warm)))
        while True:
            yield feed(channel, list(itertools.islice(supply, count)), stats) / count

    return run


def catch_up(partitions: int, count: int) -> Scenario:
    """A consumer far behind reads some partitions with each request, 1 MB of each at most."""

    def run(broker: Broker, stats: RequestStatsByApi | None) -> Iterator[float]:
        for index in range(partitions):
            feed(broker.connect(), list(itertools.islice(produce_frames(16, 1000, 100 + index, index), 1000)))
        channel, epoch = broker.connect(), 0
        while True:
            frames: list[bytes] = []
            for i in range(count):
                offsets = dict.fromkeys(range(partitions), i % 15 * 1024)
                frames.append(fetch_frame(broker.topic_id, offsets, epoch))
                epoch += 1
            yield feed(channel, frames, stats) / count

    return run


def pass_on(partitions: int, count: int) -> Scenario:
    """A consumer of some partitions waits for each record that a producer sends: one Produce and one Fetch."""

    def run(broker: Broker, stats: RequestStatsByApi | None) -> Iterator[float]:
        producer, consumer, supply = broker.connect(), broker.connect(), produce_frames(1, 100, 50)
        offset, epoch = broker.end(), 0
        while True:
            frames: list[tuple[KafkaChannel, bytes]] = []
            for _ in range(count):
                offsets = {0: offset} if epoch else dict.fromkeys(range(partitions), 0)
                frames.append((consumer, fetch_frame(broker.topic_id, offsets, epoch)))
                frames.append((producer, next(supply)))
                offset += 1
                epoch += 1
            yield feed_each(frames, stats) / count

    return run


SCENARIOS: dict[str, Scenario] = {
    "produce 145 x 100 B": produce(145, 100, 4000),
    "produce 145 x 100 B, lz4": produce(145, 100, 4000, codec=CompressionType.LZ4),
    "produce 1 x 100 B": produce(1, 100, 4000),
    "fetch 3 x 1 MB": catch_up(3, 4000),
    "pass on 1 x 100 B": pass_on(1, 4000),
    "pass on 1 x 100 B, 6 partitions": pass_on(6, 4000),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", default="", help="those whose name begins so; all unless given")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--metrics", action="store_true")
    arguments = parser.parse_args()
    stats = request_stats() if arguments.metrics else None
    profile = cProfile.Profile()
    for name, scenario in SCENARIOS.items():
        if name.startswith(arguments.scenario):
            with tempfile.TemporaryDirectory() as directory:
                turns = scenario(broker(directory, stats), stats)
                next(turns)
                if arguments.profile:
                    profile.enable()
                best = min(itertools.islice(turns, 5))
                profile.disable()
            print(f"{name}: {best * 1e6:.1f} µs (best of 5)")
    if arguments.profile:
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
    return 0


if __name__ == "__main__":
    sys.exit(main())
