"""Key and value of the records in control batches, which end transactions in a partition's log."""

from __future__ import annotations

from enum import IntEnum

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int16, int32


class ControlRecordType(IntEnum):
    """What a control record says. Readers ignore types that are not in this list."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class ControlRecordKey(Message, versions="0"):
    """`type` is a ControlRecordType or a number unknown to it."""

    type: int = int16()


class EndTxnMarker(Message, versions="0"):
    """The value under the types ABORT and COMMIT. Readers take version 0 out of higher versions."""

    coordinator_epoch: int = int32()
