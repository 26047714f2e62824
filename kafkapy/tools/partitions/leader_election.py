"""kafka-leader-election: triggers leader elections (after Kafka's `LeaderElectionCommand`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)

if TYPE_CHECKING:
    from kafkapy.admin.results import Results
    from kafkapy.common.topic_partition import TopicPartition

SELECTIONS = ("topic", "all-topic-partitions", "path-to-json-file")

PARSER = OptionParser(
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are "
    "preferred replicas and unclean replicas.",
    ToolOption("bootstrap-server", "REQUIRED: the server(s) to connect to.", "host:port"),
    ToolOption("admin.config", "A property file with configs for the admin client.", "config file"),
    ToolOption(
        "path-to-json-file",
        'The partitions: {"partitions": [{"topic": "foo", "partition": 1}, {"topic": "foobar", "partition": 2}]}.',
        "Path to JSON file",
    ),
    ToolOption("topic", "The topic of the partition.", "topic name"),
    ToolOption("partition", "With --topic, which needs it: the partition.", "partition id", integer),
    ToolOption("all-topic-partitions", "All partitions that an election of this type can help."),
    ToolOption(
        "election-type",
        'REQUIRED: "preferred" gives partitions to their first replica, if that is in sync and another one leads; '
        '"unclean" gives partitions without a leader to any replica that lives, in sync or not: records may be lost.',
        "[PREFERRED,UNCLEAN]: election type",
    ),
)

TIMEOUT_MS = 30_000


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    election_type = check_options(options)
    from kafkapy.admin.client import AdminClient
    from kafkapy.common.topic_partition import TopicPartition
    from kafkapy.common.wire_enums import ElectionType
    from kafkapy.protocol.errors import Errors, KafkaError
    from kafkapy.tools.common.admin_access import admin_properties
    from kafkapy.tools.reassign_partitions.reassignment_json import read_election

    partitions = None
    if options.has("path-to-json-file"):
        partitions = read_election(options.value("path-to-json-file"))
    elif options.has("topic"):
        partitions = [TopicPartition(options.value("topic"), options.value("partition"))]
    properties = admin_properties(options.value("admin.config"), options.value("bootstrap-server"))
    properties.setdefault("default.api.timeout.ms", str(TIMEOUT_MS))
    properties.setdefault("request.timeout.ms", str(TIMEOUT_MS // 2))
    with AdminClient.from_properties(properties) as admin:
        try:
            results = admin.elect_leaders(ElectionType[election_type], partitions)
        except KafkaError as error:
            if error.error is Errors.REQUEST_TIMED_OUT:
                raise ToolError("Timeout waiting for election results") from error
            if error.error is Errors.CLUSTER_AUTHORIZATION_FAILED:
                raise ToolError("Not authorized to perform leader election") from error
            raise
    report(results, election_type)


def check_options(options: Options) -> str:
    """The type of election. Raises CommandLineError."""
    if missing := [name for name in ("bootstrap-server", "election-type") if not options.has(name)]:
        raise CommandLineError(f"Missing required option(s): {', '.join(missing)}")
    election_type: str = options.value("election-type").upper()
    if election_type not in ("PREFERRED", "UNCLEAN"):
        raise CommandLineError(f"Cannot parse argument '{options.value('election-type')}' of option election-type")
    if options.count(SELECTIONS) != 1:
        raise CommandLineError(f"One and only one of the following options is required: {', '.join(SELECTIONS)}")
    if options.has("topic") and not options.has("partition"):
        raise CommandLineError("Missing required option(s): partition")
    if options.has("partition") and not options.has("topic"):
        raise CommandLineError("Option partition is only allowed if topic is used")
    return election_type


def report(results: Results[TopicPartition, None], election_type: str) -> None:
    """Print the results. Raises ToolError if an election has failed."""
    from kafkapy.protocol.errors import Errors
    from kafkapy.tools.common.admin_access import exception_text

    errors = {partition: error for partition, error in sorted(results.items()) if error is not None}
    elected = [str(partition) for partition in sorted(results) if partition not in errors]
    needless = [str(partition) for partition, error in errors.items() if error.error is Errors.ELECTION_NOT_NEEDED]
    failed = {partition: error for partition, error in errors.items() if str(partition) not in needless}
    if elected:
        print(f"Successfully completed leader election ({election_type}) for partitions {', '.join(elected)}")
    if needless:
        print(f"Valid replica already elected for partitions {', '.join(needless)}")
    for partition, error in failed.items():
        print(f"Error completing leader election ({election_type}) for partition: {partition}: {exception_text(error)}")
    if failed:
        raise ToolError(f"{len(failed)} replica(s) could not be elected")


if __name__ == "__main__":
    sys.exit(main())
