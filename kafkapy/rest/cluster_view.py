"""Queries about topics and brokers for v2 and v3. The functions block, so they are called on threads."""

from __future__ import annotations

from typing import Any

from kafkapy.admin.config_resource import ConfigResource
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.rest.rest_errors import partition_not_found, topic_not_found
from kafkapy.structs import TopicPartition

EARLIEST, LATEST = -2, -1


def topic_of(admin: Any, topic: str) -> dict[str, Any]:
    """Return the topic in the form of `describe_topics`. Raises RestRefusal."""
    (found,) = admin.describe_topics([topic])
    if found["error_code"]:
        raise topic_not_found(topic)
    described: dict[str, Any] = found
    return described


def partition_of(admin: Any, topic: str, number: int) -> dict[str, Any]:
    """Raises RestRefusal."""
    for partition in topic_of(admin, topic)["partitions"]:
        if partition["partition_index"] == number:
            found: dict[str, Any] = partition
            return found
    raise partition_not_found(number)


def configs_of(admin: Any, kind: ConfigResourceType, name: str) -> dict[str, dict[str, Any]]:
    """Return name -> value, config_source, is_sensitive, read_only, synonyms."""
    described = admin.describe_configs([ConfigResource(kind, name)], include_synonyms=True, config_filter="all")
    found: dict[str, dict[str, Any]] = described[kind.name.lower()][name]
    return found


def offsets_of(admin: Any, topic: str, numbers: list[int]) -> dict[int, tuple[int, int]]:
    """Return partition -> first offset, offset after the last."""
    partitions = [TopicPartition(topic, number) for number in numbers]
    first = admin.list_partition_offsets(dict.fromkeys(partitions, EARLIEST))
    last = admin.list_partition_offsets(dict.fromkeys(partitions, LATEST))
    return {each.partition: (first[each].offset, last[each].offset) for each in partitions}


def v2_partition(partition: dict[str, Any]) -> dict[str, Any]:
    leader, isr = partition["leader_id"], partition["isr_nodes"]
    replicas = [
        {"broker": broker, "leader": broker == leader, "in_sync": broker in isr}
        for broker in partition["replica_nodes"]
    ]
    return {"partition": partition["partition_index"], "leader": leader, "replicas": replicas}
