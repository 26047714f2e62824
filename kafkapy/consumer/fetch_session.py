"""The client's half of fetch sessions (KIP-227): what a broker already knows is not said again.

A session lives between this consumer and one broker. The broker numbers it, both count its epochs; a request names only
what is new, what changed, and what is forgotten.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse

_log = logging.getLogger("kafkapy.consumer")

INVALID_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_MAX_EPOCH = 2**31 - 1


class PartitionWish(NamedTuple):
    """What is wanted of one partition."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    topic_id: bytes = ZERO_UUID


class FetchSessionHandler:
    """The session with one broker.

    Invariant: `partitions` is what the last request made the session hold, topics' ids included; a request is under way
    at most once. (session id, epoch) is what the next request says: epoch 0 asks for a new session and names everything.
    """

    def __init__(self, incremental: bool = True) -> None:
        """`incremental` False: requests that want no session."""
        self.session_id = INVALID_SESSION_ID
        self.epoch = INITIAL_EPOCH if incremental else FINAL_EPOCH
        self.partitions: dict[TopicPartition, PartitionWish] = {}
        self._first_epoch = self.epoch
        self._uses_ids = False

    @property
    def is_full(self) -> bool:
        return self.epoch in (INITIAL_EPOCH, FINAL_EPOCH)

    def next_request(self, wanted: Mapping[TopicPartition, PartitionWish]) -> tuple[FetchRequest, bool]:
        """A request for these, without the fields that are no matter of sessions; and whether all topics have ids."""
        uses_ids = all(wish.topic_id != ZERO_UUID for wish in wanted.values())
        if not self.is_full and uses_ids != self._uses_ids:
            self._start_over()
        self._uses_ids = uses_ids
        if self.is_full:
            to_send = dict(wanted)
            forgotten: list[tuple[TopicPartition, bytes]] = []
        else:
            before = self.partitions
            to_send = {tp: wish for tp, wish in wanted.items() if before.get(tp) != wish}
            forgotten = [
                (tp, wish.topic_id)
                for tp, wish in before.items()
                if tp not in wanted or wanted[tp].topic_id != wish.topic_id
            ]
        self.partitions = dict(wanted)
        request = FetchRequest(
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=_topics(to_send),
            forgotten_topics_data=_forgotten(forgotten),
        )
        return request, uses_ids

    def accept(self, response: FetchResponse, partitions: Iterable[TopicPartition]) -> bool:
        """Take note of a response that has these partitions; False if it is of no use."""
        if response.error_code != Errors.NONE.code:
            error = Errors.for_code(response.error_code)
            _log.info("A broker could not process a fetch of session %d: %s", self.session_id, error.name)
            if error is Errors.FETCH_SESSION_ID_NOT_FOUND:
                self._forget()
            else:
                self._start_over()
            return False
        answered = set(partitions)
        if self.is_full:
            return self._accept_full(response, answered)
        extra = answered - self.partitions.keys()
        if extra:
            _log.info("An invalid incremental fetch response, with partitions that are not asked for: %s", extra)
            self._start_over()
            return False
        if response.session_id == INVALID_SESSION_ID:
            self._forget()  # the broker has closed it
        else:
            self.epoch = 1 if self.epoch == _MAX_EPOCH else self.epoch + 1
        return True

    def _accept_full(self, response: FetchResponse, answered: set[TopicPartition]) -> bool:
        if answered != self.partitions.keys():
            if answered or not response.throttle_time_ms:  # KIP-219: an empty answer of a broker that throttles
                _log.info(
                    "An invalid full fetch response, with %s more and without %s",
                    answered - self.partitions.keys(),
                    self.partitions.keys() - answered,
                )
            self._forget()
            return False
        if self.epoch == FINAL_EPOCH or response.session_id == INVALID_SESSION_ID:
            self._forget()
        else:
            self.session_id = response.session_id
            self.epoch = 1
        return True

    def failed(self) -> None:
        """No response came: whether the broker counted the request is not known."""
        self._start_over()

    def closing_request(self) -> FetchRequest | None:
        """What ends the session at the broker; None if there is none."""
        if self.session_id == INVALID_SESSION_ID:
            return None
        request = FetchRequest(max_wait_ms=0, session_id=self.session_id, session_epoch=FINAL_EPOCH)
        self._forget()
        return request

    def _forget(self) -> None:
        self.session_id = INVALID_SESSION_ID
        self.epoch = self._first_epoch

    def _start_over(self) -> None:
        """Close the session by the request that asks for a new one."""
        self.epoch = self._first_epoch


def _topics(wishes: Mapping[TopicPartition, PartitionWish]) -> list[FetchRequest.FetchTopic]:
    topics: dict[str, FetchRequest.FetchTopic] = {}
    for (name, partition), wish in wishes.items():
        topic = topics.get(name)
        if topic is None:
            topic = topics[name] = FetchRequest.FetchTopic(topic=name, topic_id=wish.topic_id, partitions=[])
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=partition,
                current_leader_epoch=wish.current_leader_epoch,
                fetch_offset=wish.fetch_offset,
                partition_max_bytes=wish.max_bytes,
            )
        )
    return list(topics.values())


def _forgotten(partitions: Iterable[tuple[TopicPartition, bytes]]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[tuple[str, bytes], FetchRequest.ForgottenTopic] = {}
    for (name, partition), topic_id in partitions:
        topic = topics.get((name, topic_id))
        if topic is None:
            topic = FetchRequest.ForgottenTopic(topic=name, topic_id=topic_id, partitions=[])
            topics[name, topic_id] = topic
        topic.partitions.append(partition)
    return list(topics.values())
