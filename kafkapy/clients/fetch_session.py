"""The fetching side of fetch sessions (KIP-227; Kafka's `FetchSessionHandler`), for consumers and followers, without
I/O.

A session connects a fetching client and one broker. The broker assigns its id, both count its epochs; a request has
only the partitions that were added, changed or removed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse

NO_SESSION_ID = 0
FULL_EPOCH = 0
CLOSING_EPOCH = -1
FIRST_WITH_TOPIC_IDS = 13
"""The first version of Fetch with topic ids."""
_LAST_SESSION_EPOCH = 2**31 - 1


class PartitionRequest(NamedTuple):
    """The fetch parameters of one partition; -1: not set."""

    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int
    topic_id: bytes = ZERO_UUID
    log_start_offset: int = -1
    last_fetched_epoch: int = -1


class FetchSessionHandler:
    """The session with one broker.

    Invariant: `partitions` are those of the session after the last request, with the topics' ids; at most one request
    is in flight. The next request has (session id, epoch); epoch 0 requests a new session and names all partitions.
    Either all requests of a session name topics by id, or all by name.
    """

    def __init__(self, incremental: bool = True, log: logging.Logger | None = None) -> None:
        """`incremental` False: requests without a session. `log`: called with unusable responses."""
        self.session_id = NO_SESSION_ID
        self.epoch = FULL_EPOCH if incremental else CLOSING_EPOCH
        self.partitions: dict[TopicPartition, PartitionRequest] = {}
        self._first_epoch = self.epoch
        self._log = log
        self._uses_ids = True
        self._without_id: set[TopicPartition] = set()
        self._names: dict[bytes, str] = {}

    @property
    def is_full(self) -> bool:
        """Return whether the next request names every partition."""
        return self.epoch in (FULL_EPOCH, CLOSING_EPOCH)

    # --- requests

    def next_request(self, wanted: Mapping[TopicPartition, PartitionRequest]) -> tuple[FetchRequest, bool]:
        """Build a request for exactly these partitions. See `request`."""
        before = self.partitions
        if self.is_full:  # in the caller's order
            before.clear()
            self._without_id.clear()
        changed = {partition: wish for partition, wish in wanted.items() if before.get(partition) != wish}
        return self.request(changed, [partition for partition in before if partition not in wanted])

    def request(
        self,
        changed: Mapping[TopicPartition, PartitionRequest],
        gone: Iterable[TopicPartition],
        may_use_ids: bool = True,
    ) -> tuple[FetchRequest, bool]:
        """Build a request that applies changes to the session; return it, and whether it names topics by id.

        It does if all topics have an id and the request's version supports ids. Fields that don't concern sessions are
        not set.
        """
        forgotten = self._take_note(changed, gone)
        uses_ids = may_use_ids and not self._without_id
        if uses_ids != self._uses_ids:
            self._uses_ids = uses_ids
            self.failed()
        if self.is_full:
            self._names = {}
            changed, forgotten = self.partitions, []
        for partition, wish in changed.items():
            self._names[wish.topic_id] = partition.topic
        request = FetchRequest(
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=_topics(changed),
            forgotten_topics_data=_forgotten(forgotten),
        )
        return request, uses_ids

    def _take_note(
        self, changed: Mapping[TopicPartition, PartitionRequest], gone: Iterable[TopicPartition]
    ) -> list[tuple[TopicPartition, bytes]]:
        """Apply the changes; return the partitions that the broker has to remove, with the ids that it knows."""
        partitions = self.partitions
        forgotten: list[tuple[TopicPartition, bytes]] = []
        for partition in gone:
            before = partitions.pop(partition, None)
            self._without_id.discard(partition)
            if before is not None:
                forgotten.append((partition, before.topic_id))
        for partition, wish in changed.items():
            before = partitions.get(partition)
            if before is not None and before.topic_id != wish.topic_id:
                forgotten.append((partition, before.topic_id))  # the topic was deleted and created again
            partitions[partition] = wish
            if wish.topic_id == ZERO_UUID:
                self._without_id.add(partition)
            else:
                self._without_id.discard(partition)
        return forgotten

    def name_of(self, topic: FetchResponse.FetchableTopicResponse) -> str:
        """Return the topic's name; "" if it was never requested."""
        return topic.topic or self._names.get(topic.topic_id, "")

    # --- responses

    def accept(self, response: FetchResponse, partitions: Iterable[TopicPartition] | None = None) -> bool:
        """Process a response with these partitions (None: they are not checked).

        Return False if it is unusable; then the next request starts a new session.
        """
        if response.error_code != Errors.NONE.code:
            error = Errors.for_code(response.error_code)
            self._tell("A broker could not process a fetch of session %d: %s", self.session_id, error.name)
            if error is Errors.FETCH_SESSION_ID_NOT_FOUND:
                self._forget()
            else:
                self.failed()
            return False
        if partitions is not None and not self._is_complete(response, set(partitions)):
            return False
        if response.session_id == NO_SESSION_ID or self.epoch == CLOSING_EPOCH:
            self._forget()  # the broker has closed the session, or never created one
        else:
            self.session_id = response.session_id
            self.epoch = 1 if self.epoch == _LAST_SESSION_EPOCH else self.epoch + 1
        return True

    def _is_complete(self, response: FetchResponse, answered: set[TopicPartition]) -> bool:
        """Return whether the response fits: all partitions after a full request, only the session's after an
        incremental one."""
        extra = answered - self.partitions.keys()
        if not self.is_full:
            if extra:
                self._tell("An invalid incremental fetch response, with partitions that are not asked for: %s", extra)
                self.failed()
            return not extra
        missing = self.partitions.keys() - answered
        if extra or missing:
            if answered or not response.throttle_time_ms:  # KIP-219: a broker that throttles sends an empty response
                self._tell("An invalid full fetch response, with %s more and without %s", extra, missing)
            self._forget()
            return False
        return True

    def _tell(self, sentence: str, *args: object) -> None:
        if self._log is not None:
            self._log.info(sentence, *args)

    def failed(self) -> None:
        """Process a missing response: the broker's state is unknown, so the next request closes the session and starts
        another."""
        self.epoch = self._first_epoch

    def closing_request(self) -> FetchRequest | None:
        """Return the request that closes the session at the broker; None if there is no session."""
        if self.session_id == NO_SESSION_ID:
            return None
        request = FetchRequest(max_wait_ms=0, session_id=self.session_id, session_epoch=CLOSING_EPOCH)
        self._forget()
        return request

    def _forget(self) -> None:
        self.session_id = NO_SESSION_ID
        self.epoch = self._first_epoch


def _topics(wishes: Mapping[TopicPartition, PartitionRequest]) -> list[FetchRequest.FetchTopic]:
    topics: dict[tuple[str, bytes], FetchRequest.FetchTopic] = {}
    for (name, partition), wish in wishes.items():
        key = (name, wish.topic_id)
        topic = topics.get(key)
        if topic is None:
            topic = topics[key] = FetchRequest.FetchTopic(topic=name, topic_id=wish.topic_id, partitions=[])
        topic.partitions.append(
            FetchRequest.FetchPartition(
                partition=partition,
                current_leader_epoch=wish.current_leader_epoch,
                fetch_offset=wish.fetch_offset,
                last_fetched_epoch=wish.last_fetched_epoch,
                log_start_offset=wish.log_start_offset,
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
