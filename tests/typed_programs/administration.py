"""What a user of the admin client writes, on all three loops, with the types that he may rely on. It is checked, not run."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

from twisted.internet.defer import Deferred

import kafkapy.aio
import kafkapy.tx
from kafkapy import KafkaAdminClient, OffsetAndMetadata, OffsetSpec, TopicPartition
from kafkapy.admin import ConfigResource, ElectionType, MemberToRemove, NewPartitions, NewTopic
from kafkapy.structs import OffsetAndTimestamp

TRADES = TopicPartition("trades", 0)

with KafkaAdminClient(bootstrap_servers="localhost:9092", request_timeout_ms=5_000) as admin:
    admin.create_topics([NewTopic("trades", 1, 1), "orders"], validate_only=True)
    admin.create_partitions({"trades": 3, "orders": NewPartitions(2)})
    assert_type(admin.list_topics(), list[str])
    assert_type(admin.describe_topics(["trades"]), list[dict[str, Any]])
    assert_type(admin.list_group_offsets("g"), dict[str, dict[TopicPartition, OffsetAndMetadata]])
    assert_type(admin.list_partition_offsets({TRADES: OffsetSpec.LATEST}), dict[TopicPartition, OffsetAndTimestamp])
    admin.alter_configs([ConfigResource("topic", "trades", {"retention.ms": "1000"})])
    admin.elect_leaders(ElectionType.PREFERRED, {"trades": [0]})
    admin.remove_group_members("g", [MemberToRemove("m")])
    admin.list_topics("x")  # type: ignore[call-arg]
    admin.delete_topics(1)  # type: ignore[arg-type]
    admin.no_such_method()  # type: ignore[attr-defined]

KafkaAdminClient(colour="red")  # type: ignore[call-arg]


async def main() -> None:
    async with kafkapy.aio.KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        assert_type(await admin.list_topics(), list[str])
        assert_type(await admin.describe_cluster(), dict[str, Any])
        await admin.delete_topics(1)  # type: ignore[arg-type]


asyncio.run(main())
assert_type(kafkapy.tx.KafkaAdminClient().list_topics(), Deferred[list[str]])
