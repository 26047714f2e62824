"""kafka-transactions: lists transactions, finds hanging ones and aborts them (after Kafka's `TransactionsCommand`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.command_line import CommandLineError

DEFAULT_MAX_TIMEOUT_MINUTES = 15
"""Kafka's default of transaction.max.timeout.ms."""


def parser() -> ArgumentParser:
    parser = ArgumentParser(
        "kafka-transactions.sh",
        "This tool is used to analyze the transactional state of producers in the cluster. It can be used to detect and "
        "recover from hanging transactions.",
    )
    parser.add_argument("--command-config", metavar="FILE", help="a property file with configs for the admin client")
    parser.add_argument("--bootstrap-server", metavar="host:port", required=True, help="the server(s) to connect to")
    commands = parser.add_subparsers(
        dest="command",
        title="commands",
        metavar="COMMAND",
        required=True,
        prog=f"{parser.prog} --bootstrap-server host:port",
    )
    command = commands.add_parser("list", help="list transactions")
    command.add_argument(
        "--duration-filter",
        type=int,
        help="only transactions that have been open for longer than this, ms; below 0: all transactions",
    )
    command = commands.add_parser("describe", help="describe the state of an active transactional id")
    command.add_argument("--transactional-id", required=True, help="the transactional id")
    command = commands.add_parser("describe-producers", help="describe the active producers of a partition")
    command.add_argument("--broker-id", type=int, help="the broker whose replica is asked; else it is the leader")
    _add_partition(command, required=True)
    _add_abort(commands.add_parser("abort", help="abort a hanging transaction (needs administrative privileges)"))
    command = commands.add_parser("find-hanging", help="find hanging transactions")
    command.add_argument("--broker-id", type=int, help="the broker whose replicas are searched")
    command.add_argument(
        "--max-transaction-timeout",
        type=int,
        default=DEFAULT_MAX_TIMEOUT_MINUTES,
        help="minutes that a transaction may last, as the brokers' transaction.max.timeout.ms; younger ones do not hang",
    )
    _add_partition(command, required=False)
    return parser


def _add_partition(command: ArgumentParser, required: bool) -> None:
    command.add_argument("--topic", required=required, help="the topic of the partition")
    command.add_argument("--partition", type=int, required=required, help="the partition's number")


def _add_abort(command: ArgumentParser) -> None:
    _add_partition(command, required=True)
    newer = command.add_argument_group("brokers from 3.0 on", "They need to know where the transaction begins.")
    newer.add_argument("--start-offset", type=int, help="the first offset of the transaction in the partition")
    older = command.add_argument_group("older brokers", "They need all of these.")
    older.add_argument("--producer-id", type=int, help="the producer's id")
    older.add_argument("--producer-epoch", type=int, help="the producer's epoch")
    older.add_argument("--coordinator-epoch", type=int, help="the epoch of the transaction's coordinator")


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv, needs_arguments=True)


def execute(options: argparse.Namespace) -> None:
    from kafkapy.admin.client import AdminClient
    from kafkapy.tools.common.admin_access import admin_properties
    from kafkapy.tools.transactions.commands import COMMANDS

    check_options(options)
    properties = admin_properties(options.command_config, options.bootstrap_server)
    with AdminClient.from_properties(properties) as admin:
        COMMANDS[options.command](admin, options)


def check_options(options: argparse.Namespace) -> None:
    """Check the options without a broker. Raises CommandLineError."""
    if options.command == "abort" and options.start_offset is None:
        if options.producer_id is None:
            raise CommandLineError(
                "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or "
                "with --producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
            )
        for name in ("producer_epoch", "coordinator_epoch"):
            if getattr(options, name) is None:
                raise CommandLineError(f"Missing required argument --{name.replace('_', '-')}")
    elif options.command == "find-hanging":
        if options.topic is None and options.broker_id is None:
            raise CommandLineError(
                "The `find-hanging` command requires either --topic or --broker-id to limit the scope of the search"
            )
        if options.partition is not None and options.topic is None:
            raise CommandLineError("The --partition argument requires --topic to be provided")


if __name__ == "__main__":
    sys.exit(main())
