"""The offsets of a sink connector: those of its consumers' group (KIP-875; Kafka's `SinkUtils`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.errors import BadRequestException, ConnectException
from kafkapy.connect.sink import SinkConnector
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.structs import OffsetAndMetadata

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

log = logging.getLogger("kafkapy.connect.runtime")

_TOPIC, _PARTITION, _OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_INT32, _INT64 = 31, 63
_IN_USE = (Errors.UNKNOWN_MEMBER_ID, Errors.GROUP_SUBSCRIBED_TO_TOPIC, Errors.NON_EMPTY_GROUP)


class SinkOffsets:
    """Reads and changes a sink's offsets; each call creates an admin client."""

    def __init__(self, connector: str, group: str, make_admin: Callable[[], AdminClient]) -> None:
        self._connector = connector
        self._group = group
        self._make_admin = make_admin

    def read(self) -> list[tuple[dict[str, Any], dict[str, Any] | None]]:
        """Return pairs of partition and offset. Raises KafkaError."""
        with self._make_admin() as admin:
            found = self._committed(admin)
        return [
            ({_TOPIC: partition.topic, _PARTITION: partition.partition}, {_OFFSET: committed.offset})
            for partition, committed in found.items()
        ]

    def modify(
        self,
        connector: SinkConnector,
        config: Mapping[str, str],
        offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]] | None,
    ) -> bool:
        """Set offsets; None resets all.

        Returns:
            The result of the connector's `alter_offsets`.

        Raises:
            BadRequestException: A partition or an offset is malformed.
            ConnectException: The connector refuses, or its tasks are not stopped yet.
            KafkaError: The request to the cluster failed.
            ValueError: An offset is negative.
        """
        with self._make_admin() as admin:
            if offsets is None:
                wanted: dict[TopicPartition, int | None] = dict.fromkeys(self._listed(admin))
            else:
                wanted = parse_sink_offsets(offsets)
            try:
                checked = connector.alter_offsets(config, wanted)
            except NotImplementedError as error:
                raise ConnectException(
                    f"Failed to modify offsets for connector {self._connector} because it doesn't support external "
                    "modification of offsets"
                ) from error
            if offsets is None:
                self._reset(admin)
            else:
                self._alter(admin, wanted)
            return checked

    def _committed(self, admin: AdminClient) -> dict[TopicPartition, OffsetAndMetadata]:
        try:
            found = admin.list_group_offsets(self._group)
        except KafkaError as error:
            if error.error is Errors.GROUP_ID_NOT_FOUND:
                return {}
            raise
        return {
            partition: committed for partition, committed in found.items() if isinstance(committed, OffsetAndMetadata)
        }

    def _listed(self, admin: AdminClient) -> list[TopicPartition]:
        try:
            return list(self._committed(admin))
        except KafkaError as error:
            text = f"Failed to list offsets prior to resetting offsets for sink connector {self._connector}"
            raise ConnectException(text) from error

    def _reset(self, admin: AdminClient) -> None:
        outcome = admin.delete_groups([self._group]).get(self._group)
        if not isinstance(outcome, KafkaError) or outcome.error is Errors.GROUP_ID_NOT_FOUND:
            return
        raise self._failure(
            outcome,
            "reset consumer group offsets for connector",
            "reset",
            "reset consumer group offsets for sink connector",
        )

    def _alter(self, admin: AdminClient, wanted: Mapping[TopicPartition, int | None]) -> None:
        if any(offset is not None and offset < 0 for offset in wanted.values()):
            raise ValueError("Invalid negative offset")
        set_to = {
            partition: OffsetAndMetadata(offset, "") for partition, offset in wanted.items() if offset is not None
        }
        gone = [partition for partition, offset in wanted.items() if offset is None]
        outcomes: list[Any] = []
        try:
            if set_to:
                outcomes += admin.alter_group_offsets(self._group, set_to).values()
            if gone:
                outcomes += admin.delete_group_offsets(self._group, gone).values()
        except KafkaError as error:
            outcomes.append(error)
        for outcome in outcomes:
            if isinstance(outcome, KafkaError):
                what = "alter consumer group offsets for connector"
                raise self._failure(outcome, what, "alter", what)

    def _failure(self, error: KafkaError, what: str, verb: str, other: str) -> ConnectException:
        if error.error in _IN_USE:
            text = (
                f"Failed to {what} {self._connector} either because its tasks haven't stopped completely yet or the "
                f"connector was resumed before the request to {verb} its offsets could be successfully completed. If the "
                "connector is in a stopped state, this operation can be safely retried. If it doesn't eventually succeed, "
                "the Connect cluster may need to be restarted to get rid of the zombie sink tasks."
            )
        else:
            text = f"Failed to {other} {self._connector}"
        failure = ConnectException(text)
        failure.__cause__ = error
        return failure


def parse_sink_offsets(
    offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]],
) -> dict[TopicPartition, int | None]:
    """Parse partitions and offsets of a request; None resets one. Raises BadRequestException.

    Example:
        >>> parse_sink_offsets([({"kafka_topic": "lines", "kafka_partition": "0"}, {"kafka_offset": 7})])
        {TopicPartition(topic='lines', partition=0): 7}
    """
    return {_partition(partition): _offset(offset) for partition, offset in offsets}


def _partition(partition: Mapping[str, Any] | None) -> TopicPartition:
    if partition is None:
        raise BadRequestException("The partition for a sink connector offset cannot be null or missing")
    if _TOPIC not in partition or _PARTITION not in partition:
        raise BadRequestException(
            f"The partition for a sink connector offset must contain the keys '{_TOPIC}' and '{_PARTITION}'"
        )
    topic, number = partition[_TOPIC], partition[_PARTITION]
    if topic is None:
        raise BadRequestException("Kafka topic names must be valid strings and may not be null")
    if number is None:
        raise BadRequestException("Kafka partitions must be valid numbers and may not be null")
    parsed = _integer(number, _INT32)
    if parsed is None:
        raise BadRequestException(
            f"Failed to parse the following Kafka partition value in the provided offsets: '{number}'. Partition values "
            "for sink connectors need to be integers."
        )
    return TopicPartition(str(topic), parsed)


def _offset(offset: Mapping[str, Any] | None) -> int | None:
    if offset is None:
        return None
    if _OFFSET not in offset:
        raise BadRequestException(
            f"The offset for a sink connector should either be null or contain the key '{_OFFSET}'"
        )
    parsed = _integer(offset[_OFFSET], _INT64)
    if parsed is None:
        shown = "null" if offset[_OFFSET] is None else offset[_OFFSET]
        raise BadRequestException(
            f"Failed to parse the following Kafka offset value in the provided offsets: '{shown}'. Offset values for sink "
            "connectors need to be integers."
        )
    return parsed


def _integer(value: Any, bits: int) -> int | None:
    """Parse a number, or a string like `Integer.parseInt`; None for other values."""
    text = value if isinstance(value, str) else str(value)
    digits = text[1:] if text[:1] in ("-", "+") else text
    if isinstance(value, bool) or not (digits.isascii() and digits.isdigit()) or len(digits) > 20:
        return None
    number = int(text)
    return number if -(2**bits) <= number < 2**bits else None
