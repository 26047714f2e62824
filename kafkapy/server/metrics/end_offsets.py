"""End offsets of partitions, also of those without a replica on this broker, to compute the lag of consumer groups."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from kafkapy.clients.node_client import NodeClient
from kafkapy.common.timestamps import LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkapy.runtime.chunks import chunks
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.replica_manager import ReplicaManager

log = logging.getLogger("kafkapy.server.Metrics")

_CONSUMER = -1

SCRAPE_TIMEOUT_MS = 500
"""How long a scrape waits for other brokers' end offsets, at most."""


class EndOffsets:
    """High watermarks, the ends that consumers see.

    The local replica's if there is one (a follower's is older by the time of a fetch), else the leader's last
    response. On the reactor thread.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        metadata_cache: MetadataCache,
        new_client: Callable[[int], NodeClient],
        list_offsets_version: int,
    ) -> None:
        """`new_client(broker id)` returns a connection to that broker."""
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._new_client = new_client
        self._version = list_offsets_version
        self._clients: dict[int, NodeClient] = {}
        self._elsewhere: dict[TopicPartition, int] = {}

    def of(self, partition: TopicPartition) -> int | None:
        """Return the high watermark; None while unknown."""
        replica = self._replica_manager.partition(partition)
        if replica is not None and replica.log is not None:
            return replica.log.high_watermark
        return self._elsewhere.get(partition)

    def elsewhere(
        self, offsets: Iterable[tuple[str, TopicPartition, int]], by_leader: dict[int, list[TopicPartition]]
    ) -> Iterator[None]:
        """Add the partitions without a local replica to `by_leader`, each once; yields between steps."""
        seen: set[TopicPartition] = set()
        for chunk in chunks(offsets):
            for _, partition, _ in chunk:
                if partition in seen:
                    continue
                replica = self._replica_manager.partition(partition)
                if replica is not None and replica.log is not None:
                    continue
                seen.add(partition)
                state = self._metadata_cache.partition_state(partition.topic, partition.partition)
                if state is not None:
                    by_leader.setdefault(state.leader, []).append(partition)
            yield

    def refresh(self, by_leader: dict[int, list[TopicPartition]], done: Callable[[], None]) -> None:
        """Request the offsets from these leaders; call `done` when all have answered or failed."""
        self._elsewhere = {
            partition: self._elsewhere[partition]
            for asked in by_leader.values()
            for partition in asked
            if partition in self._elsewhere
        }
        for gone in self._clients.keys() - by_leader.keys():
            self._clients.pop(gone).close()
        asked_of = [(leader, asked) for leader, asked in by_leader.items() if leader >= 0]
        left = len(asked_of)
        if not left:
            done()

        def one_done(_: Completion[None]) -> None:
            nonlocal left
            left -= 1
            if not left:
                done()

        for leader, asked in asked_of:
            spawn(self._ask(leader, asked)).add_callback(one_done)

    async def _ask(self, leader: int, partitions: list[TopicPartition]) -> None:
        client = self._clients.get(leader)
        if client is None:
            client = self._clients[leader] = self._new_client(leader)
        try:
            response: ListOffsetsResponse = await client.call(_request(partitions), self._version)
        except Exception as error:
            log.info(
                "Broker %d did not return the end offsets of its partitions; their lags are not updated: %s",
                leader,
                error,
            )
            return
        for topic in response.topics:
            for answer in topic.partitions:
                if answer.error_code == Errors.NONE.code and answer.offset >= 0:
                    self._elsewhere[TopicPartition(topic.name, answer.partition_index)] = answer.offset

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._clients.clear()


def _request(partitions: Iterable[TopicPartition]) -> ListOffsetsRequest:
    by_topic: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(
            ListOffsetsRequest.ListOffsetsPartition(partition_index=partition.partition, timestamp=LATEST_TIMESTAMP)
        )
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=of) for name, of in by_topic.items()],
    )
