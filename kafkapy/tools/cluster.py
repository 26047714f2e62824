"""kafka-cluster: the id of a cluster (after Kafka's `ClusterTool`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.command_line import CommandLineError, ToolError


def parser() -> ArgumentParser:
    parser = ArgumentParser("kafka-cluster", "The Kafka cluster tool.")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_connection(commands.add_parser("cluster-id", help="get information about the ID of a cluster"))
    unregister = commands.add_parser("unregister", help="unregister a broker (clusters with ZooKeeper can't)")
    unregister.add_argument("--id", "-i", type=int, required=True, help="the id of the broker to unregister")
    _add_connection(unregister)
    return parser


def _add_connection(command: ArgumentParser) -> None:
    servers = command.add_mutually_exclusive_group(required=True)
    servers.add_argument("--bootstrap-server", "-b", help="a list of host:port pairs to connect to")
    servers.add_argument("--bootstrap-controller", "-C", help="not supported here")
    command.add_argument("--config", "-c", help="a property file with configs for the admin client")


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv, needs_arguments=True)


def execute(options: argparse.Namespace) -> None:
    if options.bootstrap_controller is not None:
        raise CommandLineError("--bootstrap-controller is not supported, use --bootstrap-server to connect to a broker")
    if options.command == "unregister":
        raise ToolError("The target cluster does not support the broker unregistration API.")

    from kafkapy.admin.client import AdminClient
    from kafkapy.tools.common.admin_access import admin_properties

    with AdminClient.from_properties(admin_properties(options.config, options.bootstrap_server)) as admin:
        cluster_id = admin.describe_cluster().cluster_id
    if cluster_id is None:
        print("No cluster ID found. The Kafka version is probably too old.")
    else:
        print(f"Cluster ID: {cluster_id}")


if __name__ == "__main__":
    sys.exit(main())
