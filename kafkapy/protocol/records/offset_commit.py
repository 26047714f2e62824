"""A committed offset in __consumer_offsets (key versions 0 and 1)."""

from __future__ import annotations

from kafkapy.protocol.message import Message
from kafkapy.protocol.schema import int32, int64, string


class OffsetCommitKey(Message, versions="0-1"):
    group: str = string("0-1")
    topic: str = string("0-1")
    partition: int = int32("0-1")


class OffsetCommitValue(Message, versions="0-4", flexible="4+"):
    offset: int = int64()
    leader_epoch: int = int32("3+", default=-1, ignorable=True)
    metadata: str = string()
    commit_timestamp: int = int64()
    expire_timestamp: int = int64("1", default=-1, ignorable=True)
