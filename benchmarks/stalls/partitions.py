"""Thousands of partitions of one topic, and the offsets of groups that read it."""

from __future__ import annotations

import time

from benchmarks.brokers import Server
from benchmarks.stalls.client import MB, FrameClient, check, fetch_request, list_offsets_request, metadata_request
from benchmarks.stalls.measure import Scenario, scrape
from benchmarks.stalls.topics import create
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest
from kafkapy.protocol.messages.offset_fetch import OffsetFetchRequest

PARTITIONS = 5000
_NOT_YET = {
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
}


class OfOneTopic(Scenario):
    broker = "partitions"
    topic = "stalls-partitions"

    def prepare(self, server: Server) -> None:
        create(server, [self.topic], PARTITIONS)
        self.wait_for_leaders(server)

    def wait_for_leaders(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            while True:
                (topic,) = client.call(metadata_request([self.topic]), 9).topics
                if len(topic.partitions) == PARTITIONS and all(p.leader_id >= 0 for p in topic.partitions):
                    return
                time.sleep(0.1)


class LargeTopic(OfOneTopic):
    name = "a topic of 5,000 partitions is made"

    def prepare(self, server: Server) -> None:
        """It is not there."""

    def load(self, server: Server) -> None:
        create(server, [self.topic], PARTITIONS)
        self.wait_for_leaders(server)


class Fetching(OfOneTopic):
    name = "Fetch of 5,000 partitions, 5 times"

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            for _ in range(5):
                client.ask(fetch_request(self.topic, 0, MB, range(PARTITIONS)), 11)


class ListingOffsets(OfOneTopic):
    name = "ListOffsets by time of 5,000 partitions, 5 times"

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            for _ in range(5):
                client.ask(list_offsets_request(self.topic, range(PARTITIONS), timestamp=1), 5)


def commit_offsets(server: Server, groups: int, topic: str, partitions: int) -> None:
    """Each group commits for all partitions of the topic, in one request."""
    commits = [
        OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=p, committed_offset=p, committed_leader_epoch=-1, committed_metadata=""
        )
        for p in range(partitions)
    ]
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=commits)]
    with FrameClient(server.port) as client:
        for n in range(groups):
            request = OffsetCommitRequest(
                group_id=f"stalls-{n}", generation_id_or_member_epoch=-1, member_id="", topics=topics
            )
            while True:
                error = client.call(request, 7).topics[0].partitions[0].error_code
                if Errors.for_code(error) not in _NOT_YET:
                    break
                client.call(FindCoordinatorRequest(key=request.group_id, key_type=0), 3)  # makes the offsets topic
                time.sleep(0.1)
            check(error)


class FetchingOffsets(OfOneTopic):
    name = "OffsetFetch of 200,000 offsets of 40 groups"
    groups = 40

    def prepare(self, server: Server) -> None:
        super().prepare(server)
        commit_offsets(server, self.groups, self.topic, PARTITIONS)

    def load(self, server: Server) -> None:
        groups = [
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=f"stalls-{n}", topics=None) for n in range(self.groups)
        ]
        with FrameClient(server.port) as client:
            for _ in range(3):
                client.ask(OffsetFetchRequest(groups=groups, require_stable=False), 8)


class Scraping(FetchingOffsets):
    """The metrics page; Apache's broker has none."""

    name = "20 scrapes of the metrics, 200,000 offsets"
    only_kafkapy = True

    def load(self, server: Server) -> None:
        for _ in range(20):
            scrape(server)


def scenarios() -> list[Scenario]:
    return [LargeTopic(), Fetching(), ListingOffsets(), FetchingOffsets(), Scraping()]
