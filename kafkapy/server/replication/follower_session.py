"""The asking half of fetch sessions (KIP-227; Kafka's `FetchSessionHandler`), without I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse

INVALID_SESSION_ID = 0
INITIAL_EPOCH = 0
FIRST_WITH_TOPIC_IDS = 13
_LAST_EPOCH = 0x7FFFFFFF


class Asked(NamedTuple):
    """What was asked of one partition."""

    topic_id: bytes
    fetch_offset: int
    log_start_offset: int
    max_bytes: int
    current_leader_epoch: int
    last_fetched_epoch: int


class FollowerSession:
    """What the leader knows of our wishes.

    Invariant: after each answer, `partitions` is what the leader holds for session `_id`; the next request is the difference
    between that and what is wanted now. With epoch INITIAL_EPOCH the leader holds nothing and is told everything. All requests
    of a session name topics by id, or all by name.
    """

    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, Asked] = {}
        self._id = INVALID_SESSION_ID
        self._epoch = INITIAL_EPOCH
        self._names: dict[bytes, str] = {}
        self._without_id: set[TopicPartition] = set()
        self._used_ids = True

    @property
    def is_full(self) -> bool:
        """Does the next request name every partition?"""
        return self._epoch == INITIAL_EPOCH

    def request(
        self, changed: dict[TopicPartition, Asked], forgotten: Iterable[TopicPartition], version: int
    ) -> tuple[FetchRequest, int]:
        """The request, and its version: lower than `version` if the id of some topic is not known."""
        partitions = self.partitions
        dropped: list[tuple[TopicPartition, bytes]] = []
        for name in forgotten:
            gone = partitions.pop(name, None)
            self._without_id.discard(name)
            if gone is not None:
                dropped.append((name, gone.topic_id))
        for name, asked in changed.items():
            before = partitions.get(name)
            if before is not None and before.topic_id != asked.topic_id:
                dropped.append((name, before.topic_id))  # the topic has been made anew
            partitions[name] = asked
            if asked.topic_id == ZERO_UUID:
                self._without_id.add(name)
            else:
                self._without_id.discard(name)
        if self._without_id:
            version = min(version, FIRST_WITH_TOPIC_IDS - 1)
        if (version >= FIRST_WITH_TOPIC_IDS) != self._used_ids:
            self._used_ids = not self._used_ids
            self.reset()
        if self.is_full:
            self._names = {}
            changed, dropped = partitions, []
        for name, asked in changed.items():
            self._names[asked.topic_id] = name.topic
        request = FetchRequest(session_id=self._id, session_epoch=self._epoch)
        request.topics = _grouped(changed)
        request.forgotten_topics_data = _grouped_forgotten(dropped)
        return request, version

    def accept(self, response: FetchResponse) -> bool:
        """Is the answer usable? If not, the next request starts a new session."""
        error = response.error_code
        if error != Errors.NONE.code:
            if error == Errors.FETCH_SESSION_ID_NOT_FOUND.code:
                self._id = INVALID_SESSION_ID
            self._epoch = INITIAL_EPOCH
            return False
        if response.session_id == INVALID_SESSION_ID:
            self._id, self._epoch = INVALID_SESSION_ID, INITIAL_EPOCH
        else:
            self._id = response.session_id
            self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        return True

    def reset(self) -> None:
        """No answer came: what the leader holds is not known. The next request closes the session and starts another."""
        self._epoch = INITIAL_EPOCH

    def name_of(self, topic: FetchResponse.FetchableTopicResponse) -> str:
        """The topic of an answer, "" if it was never asked for."""
        return topic.topic or self._names.get(topic.topic_id, "")


def _grouped(asked: dict[TopicPartition, Asked]) -> list[FetchRequest.FetchTopic]:
    topics: dict[tuple[str, bytes], FetchRequest.FetchTopic] = {}
    for name, wish in asked.items():
        key = (name.topic, wish.topic_id)
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = FetchRequest.FetchTopic(topic=name.topic, topic_id=wish.topic_id)
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=name.partition,
                current_leader_epoch=wish.current_leader_epoch,
                fetch_offset=wish.fetch_offset,
                last_fetched_epoch=wish.last_fetched_epoch,
                log_start_offset=wish.log_start_offset,
                partition_max_bytes=wish.max_bytes,
            )
        )
    return list(topics.values())


def _grouped_forgotten(dropped: list[tuple[TopicPartition, bytes]]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[tuple[str, bytes], FetchRequest.ForgottenTopic] = {}
    for name, topic_id in dropped:
        topic = topics.setdefault(
            (name.topic, topic_id), FetchRequest.ForgottenTopic(topic=name.topic, topic_id=topic_id)
        )
        topic.partitions.append(name.partition)
    return list(topics.values())
