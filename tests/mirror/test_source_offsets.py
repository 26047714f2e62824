"""Offsets that users set (KIP-875)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.checkpoint_connector import MirrorCheckpointConnector
from kafkapy.mirror.heartbeat_connector import MirrorHeartbeatConnector
from kafkapy.mirror.source_connector import MirrorSourceConnector
from kafkapy.mirror.source_offsets import unwrap_offset

GOOD = {"cluster": "A", "topic": "t", "partition": 3}


def test_offsets_of_partitions() -> None:
    connector = MirrorSourceConnector()
    assert connector.alter_offsets({}, [(GOOD, {"offset": 5}), ({"any": "thing"}, None)])


@pytest.mark.parametrize(
    ("partition", "offset", "text"),
    [
        (None, {"offset": 1}, "Source partitions may not be null"),
        ({**GOOD, "cluster": 5}, {"offset": 1}, "invalid value 5 for the 'cluster' key, which must be a string"),
        ({"cluster": "A", "partition": 1}, {"offset": 1}, "is missing the 'topic' key, which is required"),
        ({"cluster": "A", "topic": "t"}, {"offset": 1}, "is missing the 'partition' key, which is required"),
        ({**GOOD, "partition": "3"}, {"offset": 1}, "for the 'partition' key, which must be an integer"),
        ({**GOOD, "partition": 2**31}, {"offset": 1}, "for the 'partition' key, which must be an integer"),
        ({**GOOD, "partition": -1}, {"offset": 1}, "for the 'partition' key, which cannot be negative"),
        (GOOD, {"position": 1}, "is missing the 'offset' key, which is required"),
        (GOOD, {"offset": "1"}, "for the 'offset' key, which must be an integer"),
        (GOOD, {"offset": True}, "for the 'offset' key, which must be an integer"),
        (GOOD, {"offset": -1}, "for the 'offset' key, which cannot be negative"),
    ],
)
def test_wrong_offsets_of_partitions(partition: Any, offset: Any, text: str) -> None:
    with pytest.raises(ConnectException) as raised:
        MirrorSourceConnector().alter_offsets({}, [(partition, offset)])
    assert text in str(raised.value)


def test_offsets_of_groups_and_heartbeats_are_zero() -> None:
    group = {"group": "g", "topic": "t", "partition": 0}
    assert MirrorCheckpointConnector().alter_offsets({}, [(group, {"offset": 0})])
    heartbeat = {"sourceClusterAlias": "A", "targetClusterAlias": "B"}
    assert MirrorHeartbeatConnector().alter_offsets({}, [(heartbeat, {"offset": 0})])
    with pytest.raises(ConnectException, match="the only accepted value is 0"):
        MirrorCheckpointConnector().alter_offsets({}, [(group, {"offset": 1})])


def test_offset_of_a_partition() -> None:
    assert [unwrap_offset(each) for each in (None, {}, {"offset": 7})] == [-1, -1, 7]
