"""The user data of an assignment, from the group's leader to a member (Kafka's `AssignmentInfo`, versions 1 to 11)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.subscription_info import LATEST_VERSION, UNKNOWN
from kafkapy.streams.assignment.task_id import HostInfo, TaskId

NO_REBALANCE: Final = 2**63 - 1
"""Value of `next_rebalance_ms`: no further rebalance is needed."""
_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_SHORT: Final = struct.Struct(">H")

Partitions = Mapping[HostInfo, frozenset[TopicPartition]]


class AssignmentInfo(NamedTuple):
    """The assignment of one member.

    Attributes:
        version: Version of the encoding: the lowest that a member of the group used.
        commonly_supported_version: The highest version that all members support.
        active_tasks: One for each partition of the assignment, in the order of topics and numbers.
        standby_tasks: Tasks of which to keep standby replicas, with their partitions.
        partitions_by_host: The partitions of active tasks by instance (`application.server`).
        standby_partitions_by_host: The partitions of standby replicas by instance.
        error_code: 0, or the reason for an empty assignment.
        next_rebalance_ms: Wall-clock time at which the member is to rejoin; 0: at once.
    """

    version: int
    commonly_supported_version: int = LATEST_VERSION
    active_tasks: Sequence[TaskId] = ()
    standby_tasks: Mapping[TaskId, frozenset[TopicPartition]] = {}
    partitions_by_host: Partitions = {}
    standby_partitions_by_host: Partitions = {}
    error_code: int = 0
    next_rebalance_ms: int = NO_REBALANCE

    def encode(self) -> bytes:
        """Encode as user data of an assignment.

        Raises:
            ValueError: There is no such version.
        """
        version = self.version
        if not 1 <= version <= LATEST_VERSION:
            raise ValueError(f"version must be between 1 and {LATEST_VERSION}; was: {version}")
        parts = [_INT.pack(version)]
        if version >= 3:
            parts.append(_INT.pack(self.commonly_supported_version))
        parts.append(_INT.pack(len(self.active_tasks)))
        parts += [_task(task, version) for task in self.active_tasks]
        parts.append(_INT.pack(len(self.standby_tasks)))
        for task, partitions in self.standby_tasks.items():
            parts += [_task(task, version), _partitions(partitions)]
        if 2 <= version <= 4:
            parts.append(_INT.pack(len(self.partitions_by_host)))
            parts += [_host(host) + _partitions(found) for host, found in self.partitions_by_host.items()]
        elif version == 5:
            parts.append(_by_dictionary([self.partitions_by_host]))
        elif version >= 6:
            parts.append(_by_dictionary([self.partitions_by_host, self.standby_partitions_by_host]))
        if version >= 4:
            parts.append(_INT.pack(self.error_code))
        if version >= 7:
            parts.append(_LONG.pack(self.next_rebalance_ms))
        return b"".join(parts)


def decode_assignment_info(data: bytes | memoryview) -> AssignmentInfo:
    """Decode user data of an assignment.

    Raises:
        ValueError: It is malformed, or of an unknown version.
    """
    reader = _InfoReader(data)
    try:
        version = reader.number()
        if not 1 <= version <= LATEST_VERSION:
            raise ValueError(f"an assignment of Streams has version {version}; {LATEST_VERSION} is the latest known")
        common = reader.number() if version >= 3 else UNKNOWN
        active = [reader.task(version) for _ in reader.count(8)]
        standby = {reader.task(version): reader.partitions() for _ in reader.count(12)}
        by_host: Partitions = {}
        standby_by_host: Partitions = {}
        if 2 <= version <= 4:
            by_host = {reader.host(): reader.partitions() for _ in reader.count(10)}
        elif version >= 5:
            topics = {reader.number(): reader.text() for _ in reader.count(6)}
            by_host = reader.by_dictionary(topics)
            standby_by_host = reader.by_dictionary(topics) if version >= 6 else {}
        error = reader.number() if version >= 4 else 0
        again = reader.time() if version >= 7 else NO_REBALANCE
    except (struct.error, KeyError, UnicodeDecodeError) as problem:
        raise ValueError(f"an assignment of Streams is malformed: {type(problem).__name__} {problem}") from problem
    return AssignmentInfo(version, common, active, standby, by_host, standby_by_host, error, again)


class _InfoReader:
    """Reads the fields in order. A count is checked against the remaining bytes before anything is allocated."""

    def __init__(self, data: bytes | memoryview) -> None:
        self._data = bytes(data)
        self._at = 0

    def number(self) -> int:
        (value,) = _INT.unpack_from(self._data, self._at)
        self._at += 4
        return value  # type: ignore[no-any-return]

    def time(self) -> int:
        (value,) = _LONG.unpack_from(self._data, self._at)
        self._at += 8
        return value  # type: ignore[no-any-return]

    def count(self, least_size: int) -> range:
        number = self.number()
        if number < 0 or number * least_size > len(self._data) - self._at:
            raise ValueError(f"an assignment of Streams is malformed: {number} elements in {len(self._data)} bytes")
        return range(number)

    def text(self) -> str:
        (length,) = _SHORT.unpack_from(self._data, self._at)
        start = self._at + 2
        if start + length > len(self._data):
            raise ValueError(f"an assignment of Streams is malformed: a text of {length} bytes")
        self._at = start + length
        return self._data[start : self._at].decode()

    def task(self, version: int) -> TaskId:
        task = TaskId(self.number(), self.number())
        if version >= 10:
            for _ in self.count(2):
                self._at += 2  # skips the name of a named topology, which has no public API
        return task

    def host(self) -> HostInfo:
        return HostInfo(self.text(), self.number())

    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(TopicPartition(self.text(), self.number()) for _ in self.count(6))

    def by_dictionary(self, topics: Mapping[int, str]) -> Partitions:
        return {
            self.host(): frozenset(TopicPartition(topics[self.number()], self.number()) for _ in self.count(8))
            for _ in self.count(10)
        }


def _task(task: TaskId, version: int) -> bytes:
    return struct.pack(">iii", *task, 0) if version >= 10 else struct.pack(">ii", *task)


def _text(text: str) -> bytes:
    data = text.encode()
    return _SHORT.pack(len(data)) + data


def _host(host: HostInfo) -> bytes:
    return _text(host.host) + _INT.pack(host.port)


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    ordered = sorted(partitions)
    return _INT.pack(len(ordered)) + b"".join(_text(one.topic) + _INT.pack(one.partition) for one in ordered)


def _by_dictionary(maps: Sequence[Partitions]) -> bytes:
    """Encode the topics once as a numbered dictionary, then the hosts with their topics' numbers."""
    names = sorted({one.topic for by_host in maps for partitions in by_host.values() for one in partitions})
    numbers = {name: number for number, name in enumerate(names)}
    parts = [_INT.pack(len(names)), *(_INT.pack(number) + _text(name) for name, number in numbers.items())]
    for by_host in maps:
        parts.append(_INT.pack(len(by_host)))
        for host, partitions in by_host.items():
            parts += [_host(host), _INT.pack(len(partitions))]
            parts += [struct.pack(">ii", numbers[one.topic], one.partition) for one in sorted(partitions)]
    return b"".join(parts)
