"""kafka-reassign-partitions: move replicas between brokers and log directories (after Kafka's `ReassignPartitionsCommand`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
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

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.common.time import Time
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.structs import TopicPartitionReplica

PARSER = OptionParser(
    "This tool helps to move topic partitions between replicas.",
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    ToolOption("generate", "Propose an assignment of the partitions of some topics to some brokers; nothing is moved."),
    ToolOption("execute", "Start the reassignment that --reassignment-json-file describes."),
    ToolOption(
        "verify",
        "Tell whether the reassignment of --reassignment-json-file is complete. If so its throttles are removed.",
    ),
    ToolOption("cancel", "Give up the reassignments of --reassignment-json-file that are under way."),
    ToolOption("list", "List all reassignments that are under way."),
    ToolOption(
        "reassignment-json-file",
        'The reassignment: {"partitions": [{"topic": "foo", "partition": 1, "replicas": [1,2,3], '
        '"log_dirs": ["dir1","dir2","dir3"]}], "version":1}. "log_dirs" may be left out; it has as many entries as '
        '"replicas", each "any" or the absolute path of a log directory of that broker, where the replica shall lie.',
        "manual assignment json file path",
    ),
    ToolOption(
        "topics-to-move-json-file",
        'With --generate: the topics: {"topics": [{"topic": "foo"},{"topic": "foo1"}], "version":1}.',
        "topics to reassign json file path",
    ),
    ToolOption(
        "broker-list", 'With --generate: the brokers that shall hold the partitions, as in "0,1,2".', "brokerlist"
    ),
    ToolOption("disable-rack-aware", "With --generate: pay no regard to racks."),
    ToolOption(
        "throttle",
        "With --execute: bytes/s for moves between brokers, at least 1 KB/s. Run --execute again with --additional "
        "to change it.",
        "throttle",
        integer,
        -1,
    ),
    ToolOption(
        "replica-alter-log-dirs-throttle",
        "With --execute: bytes/s for moves between the log directories of a broker, at least 1 KB/s. Run --execute "
        "again with --additional to change it.",
        "replicaAlterLogDirsThrottle",
        integer,
        -1,
    ),
    ToolOption(
        "timeout", "How long to wait for moves between log directories to begin, in ms.", "timeout", integer, 10000
    ),
    ToolOption("additional", "With --execute: in addition to reassignments that are under way, or in their place."),
    ToolOption("preserve-throttles", "With --verify and --cancel: leave the throttles alone."),
)

REQUIRED = {
    "generate": ("bootstrap-server", "topics-to-move-json-file", "broker-list"),
    "execute": ("bootstrap-server", "reassignment-json-file"),
    "verify": ("bootstrap-server", "reassignment-json-file"),
    "cancel": ("bootstrap-server", "reassignment-json-file"),
    "list": ("bootstrap-server",),
}
PERMITTED = {
    "generate": ("disable-rack-aware",),
    "execute": ("additional", "throttle", "replica-alter-log-dirs-throttle", "timeout"),
    "verify": ("preserve-throttles",),
    "cancel": ("preserve-throttles", "timeout"),
    "list": (),
}

EXISTING_REASSIGNMENT = (
    "Cannot execute because there is an existing partition assignment. Use --additional to override this and create a "
    "new partition assignment in addition to the existing one. The --additional flag can also be used to change the "
    "throttle by resubmitting the current reassignment."
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    action = check_options(options)
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import admin_client, exception_text

    try:
        with admin_client(options, options.value("bootstrap-server"), "reassign-partitions-tool") as admin:
            ACTIONS[action](admin, options)
    except KafkaError as error:
        raise ToolError(f"Error: {exception_text(error)}") from error


def check_options(options: Options) -> str:
    """The action of the options. Raises CommandLineError."""
    actions = [action for action in REQUIRED if options.has(action)]
    if len(actions) != 1:
        names = ", ".join(f"--{name}" for name in REQUIRED)
        raise CommandLineError(f"Command must include exactly one action: {names}")
    action = actions[0]
    options.require(*REQUIRED[action])
    for name, _ in options.given:
        if name not in (action, "command-config", *REQUIRED[action], *PERMITTED[action]):
            raise CommandLineError(f'Option "[{name}]" can\'t be used with action "[{action}]"')
    for name in ("throttle", "replica-alter-log-dirs-throttle", "timeout"):
        _check_number(options, name)
    return action


def _check_number(options: Options, name: str) -> None:
    """Check a number before anything is changed. Raises CommandLineError."""
    try:
        options.value(name)
    except CommandLineError as error:
        raise CommandLineError(f"Error: {error}") from None


def generate(admin: AdminClient, options: Options) -> None:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.server.admin.replica_placement import assign_replicas_to_brokers
    from kafkapy.tools.reassign_partitions.reassignment_json import format_reassignment, read_topics

    brokers = _broker_list(options.value("broker-list"))
    current = _replicas_of_topics(admin, read_topics(options.value("topics-to-move-json-file")))
    racks = _racks(admin, brokers, not options.has("disable-rack-aware"))
    proposed: dict[TopicPartition, list[int]] = {}
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in current:
        by_topic.setdefault(partition.topic, []).append(partition)
    for partitions in by_topic.values():
        try:
            assignment = assign_replicas_to_brokers(racks, len(partitions), len(current[partitions[0]]))
        except KafkaError as error:
            raise ToolError(f"Error: {error.message}") from error
        proposed |= {partitions[0]._replace(partition=index): replicas for index, replicas in assignment.items()}
    print(f"Current partition replica assignment\n{format_reassignment(current)}\n")
    print(f"Proposed partition reassignment configuration\n{format_reassignment(proposed)}")


def _broker_list(text: str) -> list[int]:
    from kafkapy.tools.reassign_partitions.reassignment_json import duplicates

    try:
        brokers = [integer(word) for word in text.split(",")]
    except ValueError as error:
        raise ToolError(f'Error: For input string: "{error}"') from error
    if twice := duplicates(brokers):
        raise ToolError(f"Error: Broker list contains duplicate entries: [{', '.join(map(str, twice))}]")
    return brokers


def _racks(admin: AdminClient, brokers: list[int], rack_aware: bool) -> dict[int, str | None]:
    """The live brokers among these, with their racks if racks are used."""
    racks = {
        node.id: node.rack if rack_aware else None for node in admin.describe_cluster().nodes if node.id in brokers
    }
    if None in racks.values() and any(rack is not None for rack in racks.values()):
        raise ToolError(
            "Error: Not all brokers have rack information. Add --disable-rack-aware in command line to make replica "
            "assignment without rack information."
        )
    return racks


def execute_reassignment(admin: AdminClient, options: Options) -> None:
    from kafkapy.tools.reassign_partitions.reassignment_json import format_reassignment, read_reassignment
    from kafkapy.tools.reassign_partitions.throttles import proposed_moves, throttle_log_dirs, throttle_moves

    wanted = read_reassignment(options.value("reassignment-json-file"))
    wanted.check()
    proposed = dict(wanted.partitions)
    under_way = admin.list_partition_reassignments()
    if under_way and not options.has("additional"):
        raise ToolError(EXISTING_REASSIGNMENT)
    live = {node.id for node in admin.describe_cluster().nodes}
    for broker in sorted({broker for replicas in proposed.values() for broker in replicas}):
        if broker not in live:
            raise ToolError(f"Error: Unknown broker id {broker}")
    current = _replicas_of_partitions(admin, proposed)
    print(f"Current partition replica assignment\n\n{format_reassignment(current)}\n")
    print("Save this to use as the --reassignment-json-file option during rollback")

    throttle, log_dirs_throttle = options.value("throttle"), options.value("replica-alter-log-dirs-throttle")
    if throttle >= 0 or log_dirs_throttle >= 0:
        print(
            "Warning: You must run --verify periodically, until the reassignment completes, "
            "to ensure the throttle is removed."
        )
    if throttle >= 0:
        throttle_moves(admin, proposed_moves(under_way, proposed, current), throttle)
    if log_dirs_throttle >= 0:
        throttle_log_dirs(admin, {replica.broker_id for replica in wanted.log_dirs}, log_dirs_throttle)

    errors = _errors(admin.alter_partition_reassignments(proposed))
    if errors:
        raise ToolError(f"Error reassigning partition(s): {_told(errors)}")
    print(f"Successfully started partition reassignment{_plural(proposed)} for {_names(proposed)}")
    move_log_dirs(admin, wanted.log_dirs, options.value("timeout"))


def move_log_dirs(
    admin: AdminClient, targets: Mapping[TopicPartitionReplica, str], timeout_ms: int, time: Time | None = None
) -> None:
    """Move replicas between directories. A move that the broker refuses because it does not have the replica yet is
    repeated until the timeout."""
    from kafkapy.common.time import SystemTime
    from kafkapy.protocol.errors import Errors
    from kafkapy.tools.reassign_partitions.states import replica_name

    time = time or SystemTime()
    deadline = time.monotonic_ms() + timeout_ms
    pending = {replica: targets[replica] for replica in sorted(targets, key=lambda r: (r.broker_id, *r))}
    while pending:
        results = admin.alter_replica_log_dirs(pending)
        for replica, error in results.items():
            if error is None:
                print(
                    f"Successfully started moving log directory to {pending.pop(replica)} for replica "
                    f"{replica.topic}-{replica.partition} with broker {replica.broker_id} "
                )
            elif error.error is not Errors.REPLICA_NOT_AVAILABLE:
                raise ToolError(f"Error: Failed to alter dir for {replica_name(replica)}: {error.message}")
        if pending and time.monotonic_ms() >= deadline:
            names = ",".join(map(replica_name, pending))
            raise ToolError(f"Timed out before log directory move{_plural(pending)} could be started for: {names}")
        if pending:
            time.sleep(0.1)


def verify(admin: AdminClient, options: Options) -> None:
    from kafkapy.tools.reassign_partitions import states
    from kafkapy.tools.reassign_partitions.reassignment_json import read_reassignment
    from kafkapy.tools.reassign_partitions.throttles import clear_all_throttles

    wanted = read_reassignment(options.value("reassignment-json-file"))
    under_way = admin.list_partition_reassignments()
    print(states.format_partition_states(states.partition_states(admin, wanted.partitions, under_way)))
    log_dirs = admin.describe_replica_log_dirs(wanted.log_dirs)
    print(states.format_moves(wanted.log_dirs, log_dirs))
    if not under_way and states.moves_are_done(log_dirs) and not options.has("preserve-throttles"):
        clear_all_throttles(admin, wanted.partitions)


def cancel(admin: AdminClient, options: Options) -> None:
    from kafkapy.tools.reassign_partitions.reassignment_json import read_reassignment
    from kafkapy.tools.reassign_partitions.throttles import clear_all_throttles

    wanted = read_reassignment(options.value("reassignment-json-file"))
    under_way = sorted(admin.list_partition_reassignments(dict(wanted.partitions)))
    if under_way:
        errors = _errors(admin.alter_partition_reassignments(dict.fromkeys(under_way)))
        if errors:
            raise ToolError(f"Error cancelling partition reassignment{_plural(errors)} for: {_told(errors)}")
        print(f"Successfully cancelled partition reassignment{_plural(under_way)} for: {_names(under_way)}")
    else:
        print("None of the specified partition reassignments are active.")
    moving = {
        replica: info.current
        for replica, info in admin.describe_replica_log_dirs(wanted.log_dirs).items()
        if info.current is not None and info.future is not None
    }
    if moving:
        move_log_dirs(admin, moving, options.value("timeout"))
    else:
        print("None of the specified partition moves are active.")
    if not options.has("preserve-throttles"):
        clear_all_throttles(admin, wanted.partitions)


def list_reassignments(admin: AdminClient, options: Options) -> None:
    from kafkapy.tools.reassign_partitions.states import format_reassignments

    print(format_reassignments(admin.list_partition_reassignments()))


ACTIONS = {
    "generate": generate,
    "execute": execute_reassignment,
    "verify": verify,
    "cancel": cancel,
    "list": list_reassignments,
}


def _replicas_of_topics(admin: AdminClient, topics: Iterable[str]) -> dict[TopicPartition, list[int]]:
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.protocol.errors import Errors, KafkaError

    replicas: dict[TopicPartition, list[int]] = {}
    for name, topic in admin.describe_topics(sorted(set(topics))).items():
        if isinstance(topic, KafkaError):
            if topic.error is Errors.UNKNOWN_TOPIC_OR_PARTITION:
                raise KafkaError(topic.error, f"Topic {name} not found.")
            raise topic
        replicas |= {TopicPartition(name, p.partition): list(p.replicas) for p in topic.partitions}
    return replicas


def _replicas_of_partitions(
    admin: AdminClient, partitions: Mapping[TopicPartition, Sequence[int]]
) -> dict[TopicPartition, list[int]]:
    from kafkapy.protocol.errors import Errors, KafkaError

    known = _replicas_of_topics(admin, (partition.topic for partition in partitions))
    if missing := [str(partition) for partition in sorted(partitions) if partition not in known]:
        raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {', '.join(missing)}")
    return {partition: known[partition] for partition in partitions}


def _errors(results: Mapping[TopicPartition, KafkaError | None]) -> dict[TopicPartition, KafkaError]:
    return {partition: error for partition, error in sorted(results.items()) if error is not None}


def _told(errors: Mapping[TopicPartition, KafkaError]) -> str:
    return "; ".join(f"{partition}: {error.message}" for partition, error in errors.items())


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ",".join(map(str, sorted(partitions)))


def _plural(things: Iterable[object]) -> str:
    return "" if len(list(things)) == 1 else "s"


if __name__ == "__main__":
    sys.exit(main())
