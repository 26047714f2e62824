"""The bytes of Connect's group protocol, versions 0 (eager), 1 (compatible) and 2 (sessioned).

    metadata:   version INT16, url STRING, config-offset INT64 [, allocation NULLABLE_BYTES: an assignment]
    assignment: version INT16, error INT16, leader STRING, leader-url STRING, config-offset INT64,
                [connector STRING, [task INT32]] [, revoked: the same, delay INT32]

Task -1 is the connector itself. Fields at the end may be missing; bytes after the known fields are ignored.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.connect.group.assignment import ConnectAssignment, ConnectProtocol, WorkerState
from kafkapy.connect.storage import ConnectorTaskId

_CONNECTOR = -1


class ConnectProtocolError(ValueError):
    """The bytes are no valid metadata or assignment of a Connect group."""


def metadata_of(state: WorkerState, protocol: ConnectProtocol) -> list[tuple[str, bytes]]:
    """Return the protocols for a worker's JoinGroup, the preferred one first (Kafka's `metadataRequest`)."""
    eager = (ConnectProtocol.EAGER.value, encode_metadata(state, 0))
    if protocol is ConnectProtocol.EAGER:
        return [eager]
    compatible = (ConnectProtocol.COMPATIBLE.value, encode_metadata(state, 1))
    if protocol is ConnectProtocol.COMPATIBLE:
        return [compatible, eager]
    return [(ConnectProtocol.SESSIONED.value, encode_metadata(state, 2)), compatible, eager]


def encode_metadata(state: WorkerState, version: int) -> bytes:
    """Encode a worker's state for JoinGroup.

    Example:
        >>> encode_metadata(WorkerState("http://a:1", 7), 0).hex()
        '0000000a687474703a2f2f613a310000000000000007'
    """
    head = struct.pack(">h", version) + _string(state.url) + struct.pack(">q", state.offset)
    if version == 0:
        return head
    if state.assignment is None:
        return head + struct.pack(">i", -1)
    allocation = encode_assignment(state.assignment, version)
    return head + struct.pack(">i", len(allocation)) + allocation


def decode_metadata(data: bytes) -> WorkerState:
    """Raises ConnectProtocolError."""
    reader = _ProtocolReader(data)
    reader.version()
    url = reader.string()
    offset = reader.int64()
    allocation = reader.nullable_bytes() if reader.more else None
    return WorkerState(url, offset, None if allocation is None else decode_assignment(allocation))


def encode_assignment(assignment: ConnectAssignment, version: int) -> bytes:
    parts = [
        struct.pack(">hh", version, assignment.error),
        _string(assignment.leader or ""),
        _string(assignment.leader_url or ""),
        struct.pack(">q", assignment.offset),
        _shares(hash_map_order(assignment.connectors), assignment.tasks),
    ]
    if version > 0:
        parts.append(_shares(assignment.revoked_connectors, assignment.revoked_tasks))
        parts.append(struct.pack(">i", assignment.delay))
    return b"".join(parts)


def decode_assignment(data: bytes) -> ConnectAssignment:
    """Raises ConnectProtocolError."""
    reader = _ProtocolReader(data)
    version = reader.version()
    error = reader.int16()
    leader = reader.string()
    leader_url = reader.string()
    offset = reader.int64()
    connectors, tasks = reader.shares()
    revoked_connectors, revoked_tasks = reader.shares()
    delay = reader.int32() if reader.more else 0
    return ConnectAssignment(
        version,
        error,
        leader,
        leader_url,
        offset,
        tuple(connectors),
        tuple(tasks),
        tuple(revoked_connectors),
        tuple(revoked_tasks),
        delay,
    )


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _shares(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> bytes:
    by_connector: dict[str, list[int]] = {}
    for connector in dict.fromkeys(connectors):
        by_connector.setdefault(connector, []).append(_CONNECTOR)
    for task in tasks:
        by_connector.setdefault(task.connector, []).append(task.task)
    parts = [struct.pack(">i", len(by_connector))]
    for connector, numbers in by_connector.items():
        parts.append(_string(connector) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers))
    return b"".join(parts)


class _ProtocolReader:
    """Reads fields in order. Announced lengths are checked against the remaining bytes before memory is allocated."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def more(self) -> bool:
        return self._at < len(self._data)

    def version(self) -> int:
        version = self.int16()
        if version < 0:
            raise ConnectProtocolError(f"Unsupported subscription version: {version}")
        return version

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def int64(self) -> int:
        return int.from_bytes(self._take(8), "big", signed=True)

    def string(self) -> str:
        try:
            return self._take(self.int16()).decode()
        except UnicodeDecodeError:
            raise ConnectProtocolError("A string is not UTF-8") from None

    def nullable_bytes(self) -> bytes | None:
        length = self.int32()
        return None if length < 0 else self._take(length)

    def shares(self) -> tuple[list[str], list[ConnectorTaskId]]:
        """Read connectors and tasks from a nullable array, which may be missing."""
        connectors: list[str] = []
        tasks: list[ConnectorTaskId] = []
        for _ in range(self.int32() if self.more else 0):
            connector = self.string()
            count = self.int32()
            for (number,) in struct.iter_unpack(">i", self._take(4 * count)):
                if number == _CONNECTOR:
                    connectors.append(connector)
                else:
                    tasks.append(ConnectorTaskId(connector, number))
        return connectors, tasks

    def _take(self, count: int) -> bytes:
        if not 0 <= count <= len(self._data) - self._at:
            raise ConnectProtocolError(f"{count} bytes are announced and {len(self._data) - self._at} are left")
        self._at += count
        return self._data[self._at - count : self._at]
