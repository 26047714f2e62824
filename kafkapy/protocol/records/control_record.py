"""Key and value of the records in control batches, which end transactions in a partition's log."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int16, int32


class ControlRecordKey(Message, versions="0"):
    """`type`: see `kafkapy.record.control_records.ControlRecordType`; readers ignore those that they do not know."""

    type: int = int16()


class EndTxnMarker(Message, versions="0"):
    """The value under the types ABORT and COMMIT. Readers take version 0 out of higher versions."""

    coordinator_epoch: int = int32()
