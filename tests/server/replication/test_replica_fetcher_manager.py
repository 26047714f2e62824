"""Who follows whom while a thread is at work on a follower's log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients.metadata import Address
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_validator import INLINE_BYTES
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.runtime.completion import Completion
from kafkapy.server.replication import replica_fetcher_manager
from kafkapy.server.replication.follower_logs import FollowerLogs
from kafkapy.server.replication.replica_fetcher_manager import InitialFetch, ReplicaFetcherManager
from kafkapy.server.replication.replication_quota import ReplicationQuota
from tests.memory_driver import MemoryDriver
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, HeldThreads, batch

LEADER = 7
NAME = TopicPartition(TOPIC, 0)
RESIZED = 3
"""Fetchers; of as many, the partition is not in the first."""


def diverging() -> FetchResponse.PartitionData:
    """Epoch 0 ends at offset 1."""
    data = FetchResponse.PartitionData(partition_index=0, high_watermark=1)
    data.diverging_epoch = FetchResponse.EpochEndOffset(epoch=0, end_offset=1)
    return data


def large() -> FetchResponse.PartitionData:
    """More than is appended at once, at offset 3."""
    return FetchResponse.PartitionData(partition_index=0, high_watermark=1, records=at(3, bytes(INLINE_BYTES + 1)))


def at(offset: int, value: bytes) -> bytes:
    records = bytearray(batch(value))
    records[0:8] = offset.to_bytes(8, "big")
    records[12:16] = bytes(4)
    return bytes(records)


class OneAnswer:
    """In the place of a fetcher's `NodeClient`: the first Fetch gets `data`, others no answer."""

    data: FetchResponse.PartitionData
    asked: list[FetchRequest]

    def __init__(self, *_: Any) -> None:
        """Whatever a `NodeClient` needs."""

    def call(self, request: Any, version: int) -> Completion[Any]:
        fetch = request.build(version)
        self.asked.append(fetch)
        if len(self.asked) > 1:
            return Completion()
        answer = FetchResponse.FetchableTopicResponse(topic_id=fetch.topics[0].topic_id, partitions=[self.data])
        return Completion.of(FetchResponse(session_id=1, responses=[answer]))

    def close(self) -> None:
        """Nothing is on its way."""


class Follower:
    """A broker whose log has three records, and who has got its leader's answer: a thread is to work on it."""

    def __init__(self, directory: Path) -> None:
        self.core = BrokerCore(directory, others=(LEADER,))
        self.threads = HeldThreads()
        self.threads.holds = True
        self.driver = MemoryDriver()
        self.manager = ReplicaFetcherManager(
            self.core.config,
            self.driver,
            FollowerLogs(self.core.replicas),
            ReplicationQuota(self.core.time),
            lambda _: Address("leader", 9092),
            lambda: 1,
            self.threads,
        )
        topic_id = self.core.create_topic(replicas=[BROKER_ID, LEADER], isr=[LEADER], leader=LEADER, epoch=0)
        log = self.core.partition().log
        assert log is not None
        self.log = log
        for offset in range(3):
            log.append_as_follower(at(offset, b"a"))
        self.manager.add({NAME: InitialFetch(topic_id, LEADER, 0, 3)})
        self.driver.run()

    @property
    def fetch_offset(self) -> int:
        (loop,) = (loop for loop in self.manager._fetchers.values() if loop.machine.partitions)
        return loop.machine.partitions[NAME].fetch_offset


MakeFollower = Callable[[FetchResponse.PartitionData], Follower]


@pytest.fixture
def follower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeFollower]:
    made: list[Follower] = []

    def make(answer: FetchResponse.PartitionData) -> Follower:
        monkeypatch.setattr(OneAnswer, "data", answer, raising=False)
        monkeypatch.setattr(OneAnswer, "asked", [], raising=False)
        monkeypatch.setattr(replica_fetcher_manager, "NodeClient", OneAnswer)
        made.append(Follower(tmp_path))
        return made[0]

    yield make
    made[0].core.close()


def test_who_changes_a_partition_can_wait_for_the_thread(follower: MakeFollower) -> None:
    """What the thread has done is taken in before the one who waits goes on."""
    broker = follower(diverging())
    work = broker.manager.work_on(NAME)
    assert work is not None and broker.log.log_end_offset == 3
    assert broker.manager.work_on(TopicPartition(TOPIC, 1)) is None
    offsets: list[int] = []
    work.add_callback(lambda _: offsets.append(broker.fetch_offset))
    broker.threads.work()
    broker.threads.advance(0)
    broker.driver.run()
    assert offsets == [1]
    assert broker.manager.work_on(NAME) is None
    (topic,) = OneAnswer.asked[1].topics
    assert topic.partitions[0].fetch_offset == 1


@pytest.mark.parametrize(("answer", "end"), [(diverging(), 1), (large(), 4)], ids=["cut", "a large append"])
def test_partitions_are_spread_anew_after_the_thread(
    follower: MakeFollower, answer: FetchResponse.PartitionData, end: int
) -> None:
    """Before that nobody knows from where to go on."""
    broker = follower(answer)
    broker.manager.resize(RESIZED)
    broker.threads.work()
    broker.threads.advance(0)
    broker.driver.run()
    assert broker.fetch_offset == broker.log.log_end_offset == end
    assert {fetch.topics[0].partitions[0].fetch_offset for fetch in OneAnswer.asked[1:]} == {end}
