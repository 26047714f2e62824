"""Shared by the parts of kafka-consumer-groups: the selected groups and partitions, and how a failure is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.tools.common.command_line import Options, ToolError, integer

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.admin.groups import GroupListing

RESET_SCENARIOS = (
    "to-offset",
    "shift-by",
    "to-datetime",
    "by-duration",
    "to-earliest",
    "to-latest",
    "to-current",
    "from-file",
)
FAILED = "Error: Executing consumer group command failed due to "


def print_error(sentence: str) -> int:
    """Print a failure of one group and continue with the others; returns the exit status for it."""
    sys.stdout.flush()
    print(f"Error: {sentence}", file=sys.stderr)
    return 1


def chosen_groups(admin: AdminClient, options: Options) -> list[str]:
    if options.has("all-groups"):
        return [group.group_id for group in consumer_groups(admin, options)]
    groups: list[str] = options.values("group")
    return groups


def consumer_groups(
    admin: AdminClient, options: Options, states: Iterable[str] = (), types: Iterable[str] = ()
) -> list[GroupListing]:
    listed = admin.list_groups(states, types, options.value("timeout"))
    return [group for group in listed if group.protocol_type in ("", "consumer")]


def parse_topic_with_partitions(argument: str) -> list[TopicPartition]:
    """`topic:0,1` -> its partitions. Raises `ToolError`."""
    topic, _, partitions = argument.partition(":")
    if not partitions or ":" in partitions:
        raise ToolError(f"Invalid topic arg '{argument}', expected topic name and partitions")
    result = []
    for text in partitions.split(","):
        try:
            result.append(TopicPartition(topic, integer(text)))
        except ValueError:
            raise ToolError(f"Invalid partition '{text}' specified in topic arg '{argument}'") from None
    return result
