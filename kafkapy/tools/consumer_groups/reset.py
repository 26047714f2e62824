"""The part of kafka-consumer-groups that resets offsets."""

from __future__ import annotations

import csv
import io
import logging
import re
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from kafkapy.admin.partitions import UNKNOWN_OFFSET
from kafkapy.admin.results import value_of, values_of
from kafkapy.common.timestamps import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.structs import OffsetAndMetadata
from kafkapy.tools.common.command_line import CommandLineError, Options, ToolError, integer
from kafkapy.tools.consumer_groups.options import (
    FAILED,
    RESET_SCENARIOS,
    chosen_groups,
    parse_topic_with_partitions,
    print_error,
)

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

Offsets = dict[TopicPartition, int]

_log = logging.getLogger("kafkapy.tools.consumer_groups")

_DATETIME = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?P<ms>\d{1,3})(?P<zone>Z|[+-]\d\d(?::?\d\d)?)?", re.ASCII
)
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<days>[-+]?\d+)D)?"
    r"(?P<time>T(?:(?P<hours>[-+]?\d+)H)?(?:(?P<minutes>[-+]?\d+)M)?(?:(?P<seconds>[-+]?\d+(?:\.\d{0,9})?)S)?)?",
    re.ASCII | re.IGNORECASE,
)


def reset_offsets(admin: AdminClient, options: Options) -> int:
    """Compute the new offsets of each inactive group, commit them with --execute, and print them."""
    status = 0
    plans: dict[str, Offsets] = {}
    resetter = OffsetsResetter(admin, options)
    for group_id, result in admin.describe_groups(chosen_groups(admin, options), options.value("timeout")).items():
        group = value_of(result)
        if group.state not in ("Empty", "Dead"):
            status = print_error(
                f"Assignments can only be reset if the group '{group_id}' is inactive, "
                f"but the current state is {group.state}."
            )
            continue
        plan = plans[group_id] = resetter.plan(group_id)
        if options.has("execute"):
            offsets = {partition: OffsetAndMetadata(offset) for partition, offset in plan.items()}
            values_of(admin.alter_group_offsets(group_id, offsets, options.value("timeout")))
    if options.has("export"):
        sys.stdout.write(format_csv(plans, with_group=len(options.values("group")) != 1))
    elif plans:
        print_plans(plans)
    return status


def print_plans(plans: Mapping[str, Offsets]) -> None:
    print(f"\n{'GROUP':<30} {'TOPIC':<30} {'PARTITION':<10} {'NEW-OFFSET':<15}")
    for group_id, plan in plans.items():
        for partition, offset in sorted(plan.items()):
            print(f"{group_id:<30} {partition.topic:<30} {partition.partition:<10} {offset:<15}")


def format_csv(plans: Mapping[str, Offsets], with_group: bool) -> str:
    """`topic,partition,offset` lines, with the group as the first column if there can be several."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for group_id, plan in plans.items():
        for partition, offset in sorted(plan.items()):
            row = [partition.topic, partition.partition, offset]
            writer.writerow([group_id, *row] if with_group else row)
    return text.getvalue()


def parse_csv(text: str, single_group: str | None) -> dict[str, Offsets]:
    """Parse the output of `format_csv`, by group; lines without a group belong to `single_group`. Raises ToolError."""
    plans: dict[str, Offsets] = {}
    for number, row in enumerate(csv.reader(text.splitlines()), 1):
        if not row:
            continue
        if len(row) == 3 and single_group is not None:
            row.insert(0, single_group)
        try:
            group_id, topic, partition, offset = row
            plans.setdefault(group_id, {})[TopicPartition(topic, integer(partition))] = integer(offset)
        except ValueError:
            raise ToolError(f"Line {number} of the reset plan is not [group,]topic,partition,offset") from None
    return plans


class OffsetsResetter:
    """Computes new offsets for the scenario of the options."""

    def __init__(self, admin: AdminClient, options: Options) -> None:
        self._admin = admin
        self._options = options
        self._timeout_ms: int = options.value("timeout")
        self._now_ms = time.time_ns() // 1_000_000

    def plan(self, group_id: str) -> Offsets:
        """The new offset of each partition in scope. Raises ToolError, KafkaError."""
        options = self._options
        if options.has("from-file"):
            return self._from_file(group_id)
        if not options.count(("all-topics", "topic")):
            raise CommandLineError("One of the reset scopes should be defined: --all-topics, --topic.")
        partitions = self._partitions_in_scope(group_id)
        if options.has("to-offset"):
            return self._within_log(dict.fromkeys(partitions, options.value("to-offset")))
        if options.has("to-earliest"):
            return self._log_offsets(partitions, EARLIEST_TIMESTAMP)
        if options.has("to-latest"):
            return self._log_offsets(partitions, LATEST_TIMESTAMP)
        if options.has("shift-by"):
            return self._shifted(group_id, partitions, options.value("shift-by"))
        if options.has("to-datetime"):
            return self._at_time(partitions, parse_datetime(options.value("to-datetime")))
        if options.has("by-duration"):
            return self._at_time(partitions, self._now_ms - parse_duration(options.value("by-duration")))
        if options.has("to-current"):
            return self._current(group_id, partitions)
        scenarios = ", ".join(f"[{scenario}]" for scenario in RESET_SCENARIOS)
        raise CommandLineError(f"Option '[reset-offsets]' requires one of the following scenarios: [{scenarios}]")

    def _partitions_in_scope(self, group_id: str) -> list[TopicPartition]:
        if self._options.has("all-topics"):
            return sorted(self._committed(group_id))
        partitions: list[TopicPartition] = []
        topics = []
        for argument in self._options.values("topic"):
            if ":" in argument:
                partitions += parse_topic_with_partitions(argument)
            else:
                topics.append(argument)
        for topic in values_of(self._admin.describe_topics(topics)).values():
            partitions += [TopicPartition(topic.name, p.partition) for p in topic.partitions]
        return partitions

    def _committed(self, group_id: str) -> Offsets:
        offsets = self._admin.list_group_offsets(group_id, timeout_ms=self._timeout_ms)
        return {partition: entry.offset for partition, entry in offsets.items() if entry is not None}

    def _log_offsets(self, partitions: Collection[TopicPartition], timestamp: int) -> Offsets:
        found = self._admin.list_offsets(dict.fromkeys(partitions, timestamp), timeout_ms=self._timeout_ms)
        return {partition: entry.offset for partition, entry in values_of(found).items()}

    def _within_log(self, wanted: Offsets) -> Offsets:
        """Limit offsets to the log's start and end."""
        starts = self._log_offsets(wanted, EARLIEST_TIMESTAMP)
        ends = self._log_offsets(wanted, LATEST_TIMESTAMP)
        result = {}
        for partition, offset in wanted.items():
            start, end = starts[partition], ends[partition]
            result[partition] = min(max(offset, start), end)
            if offset > end:
                extreme = "higher than latest"
            elif offset < start:
                extreme = "lower than earliest"
            else:
                continue
            _log.warning(
                "New offset (%d) is %s offset for topic partition %s. Value will be set to %d",
                offset,
                extreme,
                partition,
                result[partition],
            )
        return result

    def _shifted(self, group_id: str, partitions: Sequence[TopicPartition], by: int) -> Offsets:
        current = self._committed(group_id)
        for partition in partitions:
            if partition not in current:
                raise ToolError(
                    f"Cannot shift offset for partition {partition} since there is no current committed offset"
                )
        return self._within_log({partition: current[partition] + by for partition in partitions})

    def _at_time(self, partitions: Sequence[TopicPartition], timestamp_ms: int) -> Offsets:
        offsets = self._log_offsets(partitions, max(0, timestamp_ms))
        missing = [partition for partition, offset in offsets.items() if offset == UNKNOWN_OFFSET]
        for partition in missing:
            print(
                f"\nWarn: Partition {partition.partition} from topic {partition.topic} is empty. "
                "Falling back to latest known offset."
            )
        return offsets | self._log_offsets(missing, LATEST_TIMESTAMP)

    def _current(self, group_id: str, partitions: Sequence[TopicPartition]) -> Offsets:
        """The committed offsets; the log end where there is none."""
        committed = self._committed(group_id)
        missing = [partition for partition in partitions if partition not in committed]
        ends = self._log_offsets(missing, LATEST_TIMESTAMP)
        return {partition: committed.get(partition, ends.get(partition, 0)) for partition in partitions}

    def _from_file(self, group_id: str) -> Offsets:
        groups = self._options.values("group")
        path = self._options.value("from-file")
        try:
            text = Path(path).read_text("utf-8")
        except OSError as error:
            raise ToolError(f"{FAILED}java.io.IOException: Unable to read file {path}: {error.strerror}") from error
        plans = parse_csv(text, groups[0] if len(groups) == 1 else None)
        if group_id not in plans:
            print_error(f"No reset plan for group {group_id} found")
            return {}
        return self._within_log(plans[group_id])


def parse_datetime(text: str) -> int:
    """`2020-01-01T00:00:00.000`, in UTC unless it ends with a zone -> ms since the epoch. Raises `ToolError`."""
    if "T" not in text:
        raise ToolError(
            f"{FAILED}java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format"
        )
    match = _DATETIME.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        moment = datetime.strptime(match["date"], "%Y-%m-%dT%H:%M:%S").replace(tzinfo=_zone(match["zone"]))
    except ValueError:
        raise ToolError(f'{FAILED}java.text.ParseException: Unparseable date: "{text}"') from None
    return round(moment.timestamp()) * 1000 + int(match["ms"])


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[3:].lstrip(":") or 0)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)


def parse_duration(text: str) -> int:
    """An ISO 8601 duration of days and smaller, as Java's `Duration.parse` -> ms. Raises `ToolError`."""
    match = _DURATION.fullmatch(text)
    parts = match.group("days", "hours", "minutes", "seconds") if match else (None,) * 4
    if match is None or parts == (None,) * 4 or match["time"] in ("T", "t"):
        raise ToolError(f"{FAILED}Text cannot be parsed to a Duration: {text}")
    days, hours, minutes, seconds = (float(part or 0) for part in parts)
    value = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds) // timedelta(milliseconds=1)
    return -value if match["sign"] == "-" else value
