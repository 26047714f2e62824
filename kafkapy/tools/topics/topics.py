"""kafka-topics: create, delete, list, describe and change topics (after Kafka's `TopicCommand`)."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

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
from kafkapy.tools.topics.options import REPORTS, ensure_exists, matching_topics

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.admin.topics import NewPartitions
    from kafkapy.clients.metadata import TopicMetadata

ACTIONS = ("list", "describe", "create", "alter", "delete")

PARSER = OptionParser(
    "This tool helps to create, delete, describe, or change a topic.",
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    ToolOption("list", "List all topics."),
    ToolOption("create", "Create a topic."),
    ToolOption("delete", "Delete a topic."),
    ToolOption("alter", "Give a topic more partitions. (Its configs are altered by kafka-configs.)"),
    ToolOption("describe", "Show the details of topics."),
    ToolOption(
        "topic",
        "The topic to create, alter, describe or delete. Except with --create it is a regular expression: "
        'put it in quotes and escape what has a meaning there, as in "test\\.topic".',
        "topic",
    ),
    ToolOption("topic-id", "The id of the topic to describe; --topic is not looked at then.", "topic-id"),
    ToolOption("config", "A config of the topic that is created; may be repeated.", "name=value"),
    ToolOption("delete-config", "Not supported: use kafka-configs.", "name"),
    ToolOption(
        "partitions",
        "How many partitions the topic shall have (the broker's default if left out). When they become more, "
        "keys may go to other partitions than before.",
        "# of partitions",
        integer,
    ),
    ToolOption(
        "replication-factor",
        "How many replicas each partition shall have (the broker's default if left out).",
        "replication factor",
        integer,
    ),
    ToolOption(
        "replica-assignment",
        "Which brokers hold the replicas of each partition.",
        "id_for_part1_replica1:id_for_part1_replica2,id_for_part2_replica1:...",
    ),
    ToolOption("under-replicated-partitions", "With --describe: only partitions with replicas out of sync."),
    ToolOption("unavailable-partitions", "With --describe: only partitions without a live leader."),
    ToolOption(
        "under-min-isr-partitions", "With --describe: only partitions with fewer in-sync replicas than required."
    ),
    ToolOption("at-min-isr-partitions", "With --describe: only partitions with just the required in-sync replicas."),
    ToolOption("topics-with-overrides", "With --describe: only topics that have configs of their own."),
    ToolOption("if-exists", "With --alter, --delete, --describe: a topic that does not exist is no error."),
    ToolOption("if-not-exists", "With --create: a topic that exists is no error."),
    ToolOption("exclude-internal", "With --list, --describe: leave internal topics out."),
    ToolOption(
        "partition-size-limit-per-response",
        "With --describe: partitions in one response. For brokers that answer in pages; those with ZooKeeper do not.",
        "# of partitions",
        integer,
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.protocol.errors import KafkaError

    check_options(options)
    try:
        from kafkapy.tools.common.admin_access import admin_client

        with admin_client(options, options.value("bootstrap-server")) as admin:
            if options.has("create"):
                create_topic(admin, options)
            elif options.has("alter"):
                alter_topic(admin, options)
            elif options.has("list"):
                print("\n".join(matching_topics(admin, options)))
            elif options.has("describe"):
                from kafkapy.tools.topics.describe import describe_topics

                describe_topics(admin, options)
            else:
                delete_topics(admin, options)
    except (KafkaError, ToolError, CommandLineError) as error:
        message = error.message if isinstance(error, KafkaError) else str(error)
        raise ToolError(f"Error while executing topic command : {message}") from error


def check_options(options: Options) -> None:
    if options.count(ACTIONS) != 1:
        raise CommandLineError(
            "Command must include exactly one action: --list, --describe, --create, --alter or --delete"
        )
    if not options.has("bootstrap-server"):
        raise CommandLineError("--bootstrap-server must be specified")
    if options.has("describe") and options.has("if-exists") and not options.count(("topic", "topic-id")):
        raise CommandLineError("--topic or --topic-id is required to describe a topic")
    if not options.count(("list", "describe")):
        options.require("topic")
    if options.has("alter"):
        if options.has("config"):
            raise CommandLineError(
                'Option combination "[[bootstrap-server], [config]]" can\'t be used with option "[alter]" '
                "(the kafka-configs CLI supports altering topic configs with a --bootstrap-server option)"
            )
        options.require("partitions")
    _allow_only_with(options, "config", "alter", "create")
    options.exclude("delete-config", ("bootstrap-server",))
    _allow_only_with(options, "partitions", "alter", "create")
    _allow_only_with(options, "replication-factor", "create")
    _allow_only_with(options, "replica-assignment", "alter", "create")
    if options.has("create"):
        options.exclude("replica-assignment", ("partitions", "replication-factor"))
    for report in REPORTS:
        _allow_only_with(options, report, "describe")
        options.exclude(report, ("topics-with-overrides",))
    _allow_only_with(options, "topics-with-overrides", "describe")
    _allow_only_with(options, "if-exists", "alter", "delete", "describe")
    _allow_only_with(options, "if-not-exists", "create")
    _allow_only_with(options, "exclude-internal", "list", "describe")


def _allow_only_with(options: Options, name: str, *actions: str) -> None:
    options.exclude(name, (action for action in ACTIONS if action not in actions))


def create_topic(admin: AdminClient, options: Options) -> None:
    from kafkapy.admin.results import values_of
    from kafkapy.admin.topics import NewTopic
    from kafkapy.protocol.errors import Errors, KafkaError

    name = options.value("topic")
    partitions, replication_factor = options.value("partitions"), options.value("replication-factor")
    configs = parse_topic_configs(options.values("config"))
    assignment = parse_replica_assignment(options.value("replica-assignment"))
    if "." in name or "_" in name:
        print(
            "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide."
            " To avoid issues it is best to use either, but not both."
        )
    if replication_factor is not None and not 1 <= replication_factor <= 32767:
        raise ToolError("The replication factor must be between 1 and 32767 inclusive")
    if partitions is not None and partitions < 1:
        raise ToolError("The partitions must be greater than 0")
    topic = NewTopic(
        name,
        -1 if partitions is None else partitions,
        -1 if replication_factor is None else replication_factor,
        assignment,
        configs,
    )
    try:
        values_of(admin.create_topics([topic]))
    except KafkaError as error:
        if error.error is Errors.TOPIC_ALREADY_EXISTS and options.has("if-not-exists"):
            return
        raise
    print(f"Created topic {name}.")


def alter_topic(admin: AdminClient, options: Options) -> None:
    from kafkapy.admin.results import values_of

    assignment = parse_replica_assignment(options.value("replica-assignment"))
    total = options.value("partitions")
    topics = matching_topics(admin, options)
    ensure_exists(options, topics)
    if not topics:
        return
    described = values_of(admin.describe_topics(topics)) if assignment else {}
    new_partitions: dict[str, NewPartitions] = {}
    for topic in topics:
        new_partitions[topic] = _new_partitions(total, assignment, described.get(topic))
    values_of(admin.create_partitions(new_partitions))


def _new_partitions(total: int, assignment: dict[int, list[int]], topic: TopicMetadata | None) -> NewPartitions:
    """The new partitions. The option assigns all partitions, of which the existing ones are dropped."""
    from kafkapy.admin.topics import NewPartitions

    if topic is None:
        return NewPartitions(total)
    return NewPartitions(total, list(assignment.values())[len(topic.partitions) :])


def delete_topics(admin: AdminClient, options: Options) -> None:
    from kafkapy.admin.results import values_of

    topics = matching_topics(admin, options)
    ensure_exists(options, topics)
    values_of(admin.delete_topics(topics))


def parse_topic_configs(texts: Sequence[str]) -> dict[str, str]:
    configs = {}
    for text in texts:
        parts = re.split(r"\s*=\s*", text)
        if len(parts) != 2 or not parts[1]:
            raise ToolError(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        configs[parts[0].strip()] = parts[1].strip()
    return configs


def parse_replica_assignment(text: str | None) -> dict[int, list[int]]:
    """`"1:2,2:1"` -> partition -> broker ids; empty if there is none."""
    assignment: dict[int, list[int]] = {}
    for partition, replicas in enumerate(text.split(",") if text else ()):
        try:
            brokers = [integer(broker.strip()) for broker in replicas.split(":")]
        except ValueError as error:
            raise ToolError(f'For input string: "{error}"') from error
        duplicates = sorted({broker for broker in brokers if brokers.count(broker) > 1})
        if duplicates:
            raise ToolError(
                f"Partition replica lists may not contain duplicate entries: {','.join(map(str, duplicates))}"
            )
        assignment[partition] = brokers
        if len(brokers) != len(assignment[0]):
            raise ToolError(f"Partition {partition} has different replication factor: {brokers}")
    return assignment


if __name__ == "__main__":
    sys.exit(main())
