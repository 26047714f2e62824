"""kafka-consumer-groups: shows and changes groups and their offsets (after Kafka's `ConsumerGroupCommand`)."""

from __future__ import annotations

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
from kafkapy.tools.consumer_groups.options import (
    FAILED,
    RESET_SCENARIOS,
    chosen_groups,
    consumer_groups,
    parse_topic_with_partitions,
    print_error,
)

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.common.topic_partition import TopicPartition

ACTIONS = ("list", "describe", "delete", "reset-offsets", "delete-offsets")
VIEWS = ("members", "offsets", "state")
STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
TYPES = ("Consumer", "Classic")

PARSER = OptionParser(
    "This tool helps to list all consumer groups, describe a consumer group, delete consumer group info, "
    "or reset consumer group offsets.",
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    ToolOption("list", "List all consumer groups."),
    ToolOption("describe", "Describe groups: their offsets and lag, or --members, or --state."),
    ToolOption("delete", "Delete groups that have no members."),
    ToolOption(
        "reset-offsets", "Reset the offsets of inactive groups; only shows what would be done without --execute."
    ),
    ToolOption("delete-offsets", "Delete the offsets that a group has for topics."),
    ToolOption("group", "The group to act on; may be repeated.", "consumer group"),
    ToolOption("all-groups", "Act on all groups."),
    ToolOption("topic", "The topic whose offsets are to be reset or deleted; as topic:0,1 for partitions.", "topic"),
    ToolOption("all-topics", "Reset the offsets of all topics that the group has offsets for."),
    ToolOption("timeout", "How long to wait for the cluster.", "timeout (ms)", integer, default=5000),
    ToolOption("dry-run", "With --reset-offsets: only show the new offsets (the default)."),
    ToolOption("execute", "With --reset-offsets: do it."),
    ToolOption("export", "With --reset-offsets: print the new offsets as CSV."),
    ToolOption("to-offset", "Reset to this offset.", "offset", integer),
    ToolOption("from-file", "Reset to the offsets in a CSV file.", "path to CSV file"),
    ToolOption("to-datetime", "Reset to the offset at this time, as in 'YYYY-MM-DDTHH:mm:SS.sss'.", "datetime"),
    ToolOption("by-duration", "Reset to the offset as long ago as this, as in 'PnDTnHnMnS'.", "duration"),
    ToolOption("to-earliest", "Reset to the earliest offset."),
    ToolOption("to-latest", "Reset to the latest offset."),
    ToolOption("to-current", "Reset to the current offset."),
    ToolOption("shift-by", "Move the current offset by a number that may be negative.", "number-of-offsets", integer),
    ToolOption("members", "With --describe: the members of the group.", available_if=("describe",)),
    ToolOption("verbose", "With --describe --members: their partitions too.", available_if=("describe",)),
    ToolOption("offsets", "With --describe: the offsets and lag of each partition.", available_if=("describe",)),
    ToolOption(
        "state",
        "With --describe: the state of the group. With --list: the state of each group, or only groups in these "
        "states, as in --state stable,empty",
        "states",
        optional_argument=True,
        available_if=("describe", "list"),
    ),
    ToolOption(
        "type",
        "With --list: the type of each group, or only groups of these types, as in --type classic,consumer",
        "types",
        optional_argument=True,
        available_if=("list",),
    ),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import admin_client, exception_text

    check_options(options)
    try:
        with admin_client(options, options.value("bootstrap-server")) as admin:
            if options.has("list"):
                return list_groups(admin, options)
            if options.has("describe"):
                from kafkapy.tools.consumer_groups.describe import describe_groups

                return describe_groups(admin, options)
            if options.has("delete"):
                return delete_groups(admin, options)
            if options.has("reset-offsets"):
                from kafkapy.tools.consumer_groups.reset import reset_offsets

                return reset_offsets(admin, options)
            return delete_offsets(admin, options)
    except KafkaError as error:
        raise ToolError(FAILED + exception_text(error)) from error


def check_options(options: Options) -> None:
    options.require("bootstrap-server")
    scope = ("group", "all-groups")
    for action in ("describe", "delete", "reset-offsets"):
        if options.has(action) and not options.count(scope):
            raise CommandLineError(f"Option [{action}] takes one of these options: [group], [all-groups]")
    if options.has("describe"):
        if options.count(VIEWS) > 1:
            raise CommandLineError(
                "Option [describe] takes at most one of these options: [members], [offsets], [state]"
            )
        if options.value("state") is not None:
            raise CommandLineError("Option [describe] does not take a value for [state]")
    if options.has("delete") and options.has("topic"):
        raise CommandLineError("The consumer does not support topic-specific offset deletion from a consumer group.")
    if options.has("delete-offsets") and options.count(("group", "topic")) != 2:
        raise CommandLineError("Option [delete-offsets] takes the following options: [group], [topic]")
    if options.has("reset-offsets"):
        if options.has("dry-run") and options.has("execute"):
            raise CommandLineError("Option [reset-offsets] only accepts one of [execute] and [dry-run]")
        for scenario in RESET_SCENARIOS:
            options.exclude(scenario, (other for other in RESET_SCENARIOS if other != scenario))
    options.exclude("group", ("all-groups", "list"))
    options.exclude("topic", ("list", "describe"))
    if options.count(ACTIONS) != 1:
        raise CommandLineError(
            "Command must include exactly one action: --list, --describe, --delete, --reset-offsets, --delete-offsets"
        )
    if options.has("reset-offsets") and not options.count(("dry-run", "execute")):
        print(
            "WARN: No action will be performed as the --execute option is missing. Add --dry-run to say that this is "
            "what you want.",
            file=sys.stderr,
        )


def list_groups(admin: AdminClient, options: Options) -> int:
    include_state, include_type = options.has("state"), options.has("type")
    states = parse_names("state", options.value("state"), STATES)
    types = parse_names("types", options.value("type"), TYPES)
    groups = consumer_groups(admin, options, states, types)
    if not include_state and not include_type:
        for group in groups:
            print(group.group_id)
        return 0
    width = max([15, *(len(group.group_id) for group in groups)]) + 10
    rows = [["GROUP", "TYPE", "STATE"]]
    rows += [[group.group_id, _known(group.type, TYPES), _known(group.state, STATES)] for group in groups]
    for name, type_, state in rows:
        columns = [name.ljust(width)]
        if include_type:
            columns.append(type_.ljust(20))
        if include_state:
            columns.append(state.ljust(20))
        print(" ".join(columns))
    return 0


def _known(text: str, names: Sequence[str]) -> str:
    """A state in the spelling of Kafka's tools: brokers send "classic", tools print "Classic"."""
    return next((name for name in names if name.upper() == text.upper()), "Unknown")


def parse_names(what: str, text: str | None, valid: Sequence[str]) -> list[str]:
    """A comma-separated list of names in any case -> the names in Kafka's spelling."""
    by_upper = {name.upper(): name for name in valid}
    names = [by_upper.get(word.strip().upper()) for word in text.split(",")] if text else []
    if None in names:
        raise ToolError(f"Invalid {what} list '{text}'. Valid {what.rstrip('s')}s are: {', '.join(valid)}")
    return [name for name in names if name is not None]


def delete_groups(admin: AdminClient, options: Options) -> int:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import exception_text

    results = admin.delete_groups(chosen_groups(admin, options), options.value("timeout"))
    deleted = [group for group, result in results.items() if result is None]
    if len(deleted) == len(results):
        print(f"Deletion of requested consumer groups ('{', '.join(deleted)}') was successful.")
        return 0
    print_error("Deletion of some consumer groups failed:")
    for group, result in results.items():
        if isinstance(result, KafkaError):
            print(f"* Group '{group}' could not be deleted due to: {exception_text(result)}", file=sys.stderr)
    if deleted:
        names = ", ".join(f"'{group}'" for group in deleted)
        print(f"\nThese consumer groups were deleted successfully: {names}")
    return 1


def delete_offsets(admin: AdminClient, options: Options) -> int:
    from kafkapy.admin.results import Results
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import exception_text

    group, topics = options.value("group"), options.values("topic")
    partitions: list[TopicPartition] = []
    results: Results[TopicPartition, None] = {}
    for argument in topics:
        if ":" in argument:
            partitions += parse_topic_with_partitions(argument)
            continue
        described = admin.describe_topics([argument])[argument]
        if isinstance(described, KafkaError):
            results[TopicPartition(argument, -1)] = described
        else:
            partitions += [TopicPartition(argument, p.partition) for p in described.partitions]
    failure: KafkaError | None = None
    try:
        results.update(admin.delete_group_offsets(group, partitions, options.value("timeout")))
    except KafkaError as error:
        failure = error
        results.update(dict.fromkeys(partitions, error))
    status = _report_deletion(group, topics, failure, any(result is not None for result in results.values()))
    print(f"\n{'TOPIC':<30} {'PARTITION':<15} {'STATUS':<15}")
    for partition, result in sorted(results.items()):
        number = str(partition.partition) if partition.partition >= 0 else "Not Provided"
        outcome = f"Error: :{exception_text(result)}" if isinstance(result, KafkaError) else "Successful"
        print(f"{partition.topic:<30} {number:<15} {outcome:<15}")
    return status


def _report_deletion(group: str, topics: Sequence[str], failure: object, any_failed: bool) -> int:
    from kafkapy.protocol.errors import Errors, KafkaError

    if isinstance(failure, KafkaError):
        sentences = {
            Errors.INVALID_GROUP_ID: f"'{group}' is not valid.",
            Errors.GROUP_ID_NOT_FOUND: f"'{group}' does not exist.",
            Errors.GROUP_AUTHORIZATION_FAILED: f"Access to '{group}' is not authorized.",
            Errors.NON_EMPTY_GROUP: f"Deleting offsets of a consumer group '{group}' is forbidden if the group is "
            "not empty.",
        }
        return print_error(sentences.get(failure.error, f"Encounter some unknown error: {failure.error.name}"))
    if any_failed:
        return print_error("Encounter some partition level error, see the follow-up details:")
    print(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {group}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
