"""kafka-get-offsets: prints offsets of partitions (after Kafka's `GetOffsetShell`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence

from kafkapy.tools.common.admin_access import IncludeList, admin_client, exception_text
from kafkapy.tools.common.command_line import (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)

PARSER = OptionParser(
    "An interactive shell for getting topic-partition offsets.",
    ToolOption("broker-list", "DEPRECATED: use --bootstrap-server.", "HOST1:PORT1,...,HOST3:PORT3"),
    BOOTSTRAP_SERVER,
    ToolOption(
        "topic-partitions",
        "Which partitions, as a comma separated list of TOPIC:PARTITIONS. The topic is a regular expression, or "
        "empty for all. The partitions are a number, FROM-TO (TO is left out), FROM-, -TO, or absent for all.",
        "topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3",
    ),
    ToolOption("topic", "The topic, as a regular expression. All topics if left out.", "topic"),
    ToolOption("partitions", "A comma separated list of partition ids. All partitions if left out.", "partition ids"),
    ToolOption(
        "time",
        "The first offset whose record is not older than this timestamp (ms); or a name.",
        "timestamp / -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered",
        default="latest",
    ),
    COMMAND_CONFIG,
    ToolOption("exclude-internal-topics", "Leave internal topics out."),
)

NAMED_TIMES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}

PartitionFilter = Callable[[str, int | None], bool]
"""Is this partition of the topic selected? With None: may any of its partitions be selected?"""

_RULE = re.compile(r"([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?")


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.client_tool import check_host_port

    servers = options.value("bootstrap-server") or options.value("broker-list")
    if servers is None:
        raise CommandLineError("Error occurred: Missing required option(s) [bootstrap-server]")
    check_host_port(servers)
    try:
        print_offsets(options, servers)
    except (KafkaError, ToolError, CommandLineError) as error:
        message = error.message if isinstance(error, KafkaError) else str(error)
        raise ToolError(f"Error occurred: {message}") from error


def print_offsets(options: Options, bootstrap_servers: str) -> None:
    from kafkapy.admin.partitions import UNKNOWN_OFFSET
    from kafkapy.admin.results import values_of
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.protocol.errors import KafkaError

    wanted = partition_filter(options)
    timestamp = parse_time(options.value("time"))
    with admin_client(options, bootstrap_servers, "GetOffsetShell") as admin:
        names = [name for name in admin.list_topics(not options.has("exclude-internal-topics")) if wanted(name, None)]
        partitions = [
            TopicPartition(name, p.partition)
            for name, topic in values_of(admin.describe_topics(names)).items()
            for p in topic.partitions
            if wanted(name, p.partition)
        ]
        if not partitions:
            raise ToolError("Could not match any topic-partitions with the specified filters")
        offsets = admin.list_offsets(dict.fromkeys(partitions, timestamp))
    for partition in sorted(partitions, key=str):
        result = offsets[partition]
        if isinstance(result, KafkaError):
            sentence = f"Skip getting offsets for topic-partition {partition} due to error: {exception_text(result)}"
            print(sentence, file=sys.stderr)
        elif result.offset != UNKNOWN_OFFSET:
            print(f"{partition.topic}:{partition.partition}:{result.offset}")


def parse_time(text: str) -> int:
    """Parse a timestamp in ms or one of the negative constants."""
    if text in NAMED_TIMES:
        return NAMED_TIMES[text]
    try:
        return integer(text)
    except ValueError:
        raise ToolError(
            f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / "
            "-4 or earliest-local / -5 or latest-tiered, or a specified long format timestamp"
        ) from None


def partition_filter(options: Options) -> PartitionFilter:
    rules = options.value("topic-partitions")
    if rules is None:
        return _one_topic(options.value("topic"), options.value("partitions"))
    if options.count(("topic", "partitions")):
        raise ToolError("--topic-partitions cannot be used with --topic or --partitions")
    filters = [_rule(rule) for rule in rules.split(",")]
    return lambda topic, partition: any(wanted(topic, partition) for wanted in filters)


def _one_topic(topic_pattern: str | None, partitions: str | None) -> PartitionFilter:
    include = IncludeList(topic_pattern if topic_pattern is not None else ".*")
    try:
        ids = {integer(text) for text in partitions.split(",")} if partitions else set()
    except ValueError:
        raise ToolError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {partitions}"
        ) from None
    return lambda topic, partition: include.allows(topic) and (not ids or partition is None or partition in ids)


def _rule(text: str) -> PartitionFilter:
    match = _RULE.fullmatch(text)
    if match is None:
        raise ToolError(f"Invalid rule specification: {text}")
    topic, only, first, end = match.groups()
    include = IncludeList(topic or ".*")
    ids = range(int(only), int(only) + 1) if only else range(int(first or 0), int(end) if end else 2**31)
    return lambda name, partition: include.allows(name) and (partition is None or partition in ids)


if __name__ == "__main__":
    sys.exit(main())
