"""One of the two brokers, and what it calls things."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_topics import CreateTopicsResponse
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsResponse
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.protocol.messages.init_producer_id import InitProducerIdResponse
from kafkapy.protocol.messages.join_group import JoinGroupResponse
from kafkapy.protocol.messages.metadata import MetadataResponse
from kafkapy.protocol.messages.produce import ProduceResponse
from kafkapy.protocol.schema import Struct
from system_tests.beside_apache.connection import Connection, Silence
from system_tests.beside_apache.draw import Member
from system_tests.beside_apache.records import neutral_records, neutral_time

NO_TOPIC_ID = bytes(16)
UNKNOWN_TOPIC_ID = b"k" * 16
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SIZES = ("usable_bytes", "total_bytes", "partition_size")
"""What the broker has compressed itself is a few bytes more or less with another library."""

Answer = Message | Silence


class Appended(NamedTuple):
    """What a Produce request brings if it succeeds: records from the producer's next sequence number on, or some later."""

    producer: Callable[[Side], ProducerIdAndEpoch]
    topic: str
    partition: int
    records: int
    skipped: int


@dataclass
class Membership:
    """What JoinGroup gave to a member; `assignees` are all members' ids if it leads."""

    member_id: str = ""
    generation: int = 0
    assignees: list[str] = field(default_factory=list)


class Side:
    """`neutral` replaces what the broker was free to name itself by what both sides call alike.

    Invariant: `_texts`, `_members` and `producer_ids` have the neutral names of all that the broker has told (`learn`).
    """

    def __init__(self, name: str, port: int) -> None:
        self.name = name
        self.port = port
        self.topic_ids: dict[str, bytes] = {}
        self.producer_ids: list[int] = []
        self.sequences: dict[tuple[ProducerIdAndEpoch, str, int], int] = {}
        """The next ones of producers with transactional ids, by topic and partition."""
        self._producers: dict[str, ProducerIdAndEpoch] = {}
        self.log_dir = ""
        self._memberships: dict[Member, Membership] = {}
        self._connections: dict[str, Connection] = {}
        self._texts: dict[str, str] = {}
        self._members: dict[str, str] = {}

    def connection(self, name: str) -> Connection:
        """The one of this name, which is its client id too."""
        return self._connections.setdefault(name, Connection(self.port, name))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()

    # ------------------------------------------------------------------------------------------------ names

    def topic_id(self, topic: str) -> bytes:
        return self.topic_ids.get(topic, UNKNOWN_TOPIC_ID)

    def membership(self, member: Member) -> Membership:
        """An empty one if the member never joined."""
        return self._memberships.get(member) or Membership()

    def producer(self, transactional_id: str) -> ProducerIdAndEpoch:
        """The last one that was told that it has this id."""
        return self._producers.get(transactional_id, ProducerIdAndEpoch())

    def learn_producer(self, transactional_id: str, answer: Answer) -> None:
        if isinstance(answer, InitProducerIdResponse) and answer.error_code == 0:
            self._producers[transactional_id] = ProducerIdAndEpoch(answer.producer_id, answer.producer_epoch)

    def learn_appended(self, appended: Appended, answer: Answer) -> None:
        if isinstance(answer, ProduceResponse) and answer.responses[0].partition_responses[0].error_code == 0:
            key = (appended.producer(self), appended.topic, appended.partition)
            self.sequences[key] = self.sequences.get(key, 0) + appended.skipped + appended.records

    def learn(self, answer: Answer, member: Member | None) -> None:
        """Take note of names in an answer, which came to `member` if it was to JoinGroup."""
        if isinstance(answer, MetadataResponse):
            if answer.cluster_id:
                self._texts[answer.cluster_id] = "<cluster>"
            for topic in answer.topics:
                self._learn_topic(topic.name, topic.topic_id)
        elif isinstance(answer, CreateTopicsResponse):
            for created in answer.topics:
                self._learn_topic(created.name, created.topic_id)
        elif isinstance(answer, DescribeLogDirsResponse):
            for result in answer.results:
                self.log_dir = result.log_dir
                self._texts[result.log_dir] = "<log dir>"
        elif isinstance(answer, InitProducerIdResponse):
            if answer.error_code == 0 and answer.producer_id not in self.producer_ids:
                self.producer_ids.append(answer.producer_id)
        elif isinstance(answer, JoinGroupResponse) and answer.error_code == Errors.UNKNOWN_MEMBER_ID.code and member:
            self._memberships.pop(member, None)  # as a client does, to join anew
        elif isinstance(answer, JoinGroupResponse) and member and (found := _UUID.search(answer.member_id)):
            self._members[found.group()] = f"<{member}>"
            assignees = [each.member_id for each in answer.members]
            self._memberships[member] = Membership(answer.member_id, answer.generation_id, assignees)

    def _learn_topic(self, topic: str | None, topic_id: bytes) -> None:
        if topic and topic_id != NO_TOPIC_ID:
            self.topic_ids[topic] = topic_id
            self._texts[base64.urlsafe_b64encode(topic_id).decode().rstrip("=")] = f"<id of {topic}>"

    # ------------------------------------------------------------------------------------------------ neutral

    def neutral(self, value: Any, name: str = "") -> Any:
        """`value` (of a field of this name, or a whole answer) as plain data that should be the same of both sides."""
        if isinstance(value, FetchResponse):
            return _regroup(self._neutral_fields(value))
        if isinstance(value, Struct):
            return self._neutral_fields(value)
        if name == "records" and value is not None:
            return neutral_records(value, self._producer_name)
        if isinstance(value, list):
            return sorted((self.neutral(element, name) for element in value), key=repr)
        if isinstance(value, str):
            return self.neutral_text(value)
        if name == "topic_id":
            return next((topic for topic, known in self.topic_ids.items() if known == value), bytes(value))
        if isinstance(value, int) and not isinstance(value, bool):
            return self._neutral_number(value, name)
        return value

    def neutral_text(self, text: str) -> str:
        for own, neutral in self._texts.items():
            text = text.replace(own, neutral)
        text = text.replace(str(self.port), "<port>")
        return _UUID.sub(lambda found: self._members.get(found.group(), "<uuid>"), text)

    def _neutral_fields(self, struct: Struct) -> dict[str, Any]:
        names = [each.name for each in type(struct).FIELDS if each.name != "throttle_time_ms"]
        return {name: self.neutral(getattr(struct, name), name) for name in names}

    def _neutral_number(self, value: int, name: str) -> int | str:
        if name == "session_id" and value:
            return "<session>"
        if name == "producer_id":
            return self._producer_name(value)
        if name in _SIZES and value > 0:
            return "<bytes>"
        if name == "port" and value == self.port:
            return "<port>"
        return neutral_time(value)

    def _producer_name(self, producer_id: int) -> int | str:
        """Ids that the broker has given become the order in which it did."""
        if producer_id in self.producer_ids:
            return f"<producer {self.producer_ids.index(producer_id)}>"
        return producer_id


def errors_in(answer: Any) -> Iterator[int]:
    """The error codes of an answer and of all in it."""
    if isinstance(answer, list):
        for each in answer:
            yield from errors_in(each)
    elif isinstance(answer, Struct):
        for each in type(answer).FIELDS:
            value = getattr(answer, each.name)
            if each.name.endswith("error_code"):
                yield value
            else:
                yield from errors_in(value)


def _regroup(fetched: dict[str, Any]) -> dict[str, Any]:
    """A Fetch response whose topics are there once each.

    A topic with partitions that failed and others that did not may come twice, in an order that is Apache's own.
    """
    topics: dict[str, list[Any]] = {}
    for response in fetched["responses"]:
        topics.setdefault(repr((response["topic"], response["topic_id"])), []).extend(response["partitions"])
    regrouped = {topic: sorted(partitions, key=repr) for topic, partitions in sorted(topics.items())}
    return {**fetched, "responses": regrouped}
