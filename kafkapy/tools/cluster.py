"""kafka-cluster: the id of a cluster (after Kafka's `ClusterTool`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafkapy.tools.command_line import CommandLineError, ToolError, guard, print_version

USAGE = """\
usage: kafka-cluster [-h] {cluster-id,unregister} ...

The Kafka cluster tool.

positional arguments:
  {cluster-id,unregister}
    cluster-id           Get information about the ID of a cluster.
    unregister           Unregister a broker. (Clusters with ZooKeeper do not have this API.)

options of both:
  -h, --help             show this help message and exit
  --bootstrap-server BOOTSTRAP_SERVER, -b BOOTSTRAP_SERVER
                         A list of host:port pairs to connect to.
  --config CONFIG, -c CONFIG
                         A property file with configs for the admin client.

options of unregister:
  --id ID, -i ID         The id of the broker to unregister."""

_OPTIONS = {"-b": "--bootstrap-server", "-C": "--bootstrap-controller", "-c": "--config", "-i": "--id"}
COMMANDS = {
    "cluster-id": ("--bootstrap-server", "--bootstrap-controller", "--config"),
    "unregister": ("--bootstrap-server", "--bootstrap-controller", "--config", "--id"),
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if not arguments:
        print(USAGE, file=sys.stderr)
        return 1
    return guard(lambda: execute(arguments))


def execute(arguments: Sequence[str]) -> None:
    if {"-h", "--help"} & set(arguments):
        print(USAGE)
        return
    if "--version" in arguments:
        print_version()
        return
    command, options = parse(arguments)
    if "--bootstrap-controller" in options:
        raise CommandLineError("--bootstrap-controller is not supported, use --bootstrap-server to connect to a broker")
    if "--bootstrap-server" not in options:
        raise CommandLineError("argument --bootstrap-server/-b is required")
    if command == "unregister":
        raise ToolError("The target cluster does not support the broker unregistration API.")

    from kafkapy.admin.client import AdminClient
    from kafkapy.tools.common import admin_properties

    properties = admin_properties(options.get("--config"), options["--bootstrap-server"])
    with AdminClient.from_properties(properties) as admin:
        cluster_id = admin.describe_cluster().cluster_id
    if cluster_id is None:
        print("No cluster ID found. The Kafka version is probably too old.")
    else:
        print(f"Cluster ID: {cluster_id}")


def parse(arguments: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The command and its options by their long names. Raises `CommandLineError`."""
    command = arguments[0]
    if command not in COMMANDS:
        raise CommandLineError(f"argument command: invalid choice: '{command}' (choose from cluster-id, unregister)")
    options: dict[str, str] = {}
    words = iter(arguments[1:])
    for word in words:
        name, equals, value = word.partition("=")
        name = _OPTIONS.get(name, name)
        if name not in COMMANDS[command]:
            raise CommandLineError(f"unrecognized arguments: '{word}'")
        if not equals:
            try:
                value = next(words)
            except StopIteration:
                raise CommandLineError(f"argument {name}: expected one argument") from None
        options[name] = value
    broker = options.get("--id", "")
    if command == "unregister" and not (broker.isascii() and broker.isdigit()):
        raise CommandLineError("argument --id/-i is required and must be a number")
    return command, options


if __name__ == "__main__":
    sys.exit(main())
