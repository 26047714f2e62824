"""The part of kafka-consumer-groups that describes groups."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.admin.groups import GroupDescription, MemberDescription
from kafkapy.admin.results import value_of
from kafkapy.common.timestamps import LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.structs import OffsetAndMetadata, OffsetAndTimestamp
from kafkapy.tools.common.command_line import Options, ToolError
from kafkapy.tools.consumer_groups.options import chosen_groups, print_error

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")


def describe_groups(admin: AdminClient, options: Options) -> int:
    """Print the requested description of each group; returns the exit status."""
    described = admin.describe_groups(chosen_groups(admin, options), options.value("timeout"))
    status = 0
    for group_id in sorted(described):
        group = value_of(described[group_id])
        if not group.is_consumer_group:
            raise ToolError(f"Error: GroupId {group_id} is not a consumer group ({group.protocol_type}).")
        exists = print_unusual_state(group)
        if not exists:
            status = 1
        elif options.has("members"):
            print_members(group, options.has("verbose"))
        elif options.has("state"):
            print_state(group)
        else:
            print_offsets(admin, group, options.value("timeout"))
    return status


def print_unusual_state(group: GroupDescription) -> bool:
    """Print on stderr what is unusual about the group's state; False if there is nothing to describe."""
    sys.stdout.flush()
    if group.state == "Dead":
        print_error(f"Consumer group '{group.group_id}' does not exist.")
        return False
    if group.state == "Empty":
        print(f"\nConsumer group '{group.group_id}' has no active members.", file=sys.stderr)
    elif group.state in _REBALANCING:
        print(f"\nWarning: Consumer group '{group.group_id}' is rebalancing.", file=sys.stderr)
    elif group.state != "Stable":
        raise ToolError(f"Error: Expected a valid consumer group state, but found '{group.state}'.")
    return True


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int], fixed: int = 0) -> None:
    """Print rows in columns as wide as their longest value and at least `widths` (0: no padding); the first `fixed`
    columns have exactly `widths`."""
    lines = [header, *rows]
    wide = [
        width if index < fixed or width == 0 else max([width, *(len(line[index]) for line in rows)])
        for index, width in enumerate(widths)
    ]
    print()
    for line in lines:
        print(" ".join(value.ljust(width) for value, width in zip(line, wide, strict=True)))


def print_offsets(admin: AdminClient, group: GroupDescription, timeout_ms: int) -> None:
    committed = admin.list_group_offsets(group.group_id, timeout_ms=timeout_ms)
    owned = [
        (partition, member)
        for member in sorted(group.members, key=lambda member: -len(member.assignment))
        for partition in sorted(member.assignment)
    ]
    assigned = {partition for partition, _ in owned}
    rest: list[tuple[TopicPartition, MemberDescription | None]] = [
        (partition, None) for partition in sorted(committed) if partition not in assigned
    ]
    rows_of = [*owned, *rest]
    if not rows_of:
        return
    ends = admin.list_offsets(dict.fromkeys((p for p, _ in rows_of), LATEST_TIMESTAMP), timeout_ms=timeout_ms)
    rows = [_offset_row(group.group_id, p, committed.get(p), ends[p], member) for p, member in rows_of]
    header = (
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID".split()  # noqa: SIM905
    )
    print_table(header, rows, (15, 15, 10, 15, 15, 15, 15, 15, 0))


def _offset_row(
    group_id: str,
    partition: TopicPartition,
    committed: OffsetAndMetadata | None,
    end: object,
    member: MemberDescription | None,
) -> list[str]:
    offset = committed.offset if committed is not None else None
    end_offset = end.offset if isinstance(end, OffsetAndTimestamp) else None
    lag = end_offset - offset if offset is not None and end_offset is not None else None
    who = ("-", "-", "-") if member is None else (member.member_id, member.host, member.client_id)
    numbers = ("-" if number is None else str(number) for number in (offset, end_offset, lag))
    return [group_id, partition.topic, str(partition.partition), *numbers, *who]


def print_members(group: GroupDescription, verbose: bool) -> None:
    static = any(member.group_instance_id for member in group.members)
    header = ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"]
    widths = [15, 15, 15, 15, 15, 0]
    rows = [
        [
            group.group_id,
            member.member_id,
            member.host,
            member.client_id,
            str(len(member.assignment)),
            format_assignment(member.assignment) if verbose else "",
        ]
        for member in group.members
    ]
    if static:
        header.insert(2, "GROUP-INSTANCE-ID")
        widths.insert(2, 17)
        for row, member in zip(rows, group.members, strict=True):
            row.insert(2, member.group_instance_id or "")
    if not verbose:
        header[-1] = ""
    print_table(header, rows, widths)


def format_assignment(partitions: Sequence[TopicPartition]) -> str:
    """`(0,1), (0)`: one pair of brackets for each topic, without its name, as in Kafka's tool."""
    by_topic: dict[str, list[str]] = {}
    for topic, partition in partitions:
        by_topic.setdefault(topic, []).append(str(partition))
    return ", ".join(sorted(f"({','.join(sorted(numbers))})" for numbers in by_topic.values())) or "-"


def print_state(group: GroupDescription) -> None:
    coordinator = f"{group.coordinator.host}:{group.coordinator.port}  ({group.coordinator.id})"
    width = max(25, len(coordinator))
    header = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
    row = (group.group_id, coordinator, group.partition_assignor, group.state, str(len(group.members)))
    print_table(header, [row], (width, 25, 20, 15, 0), fixed=4)
