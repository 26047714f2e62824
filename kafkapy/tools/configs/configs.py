"""kafka-configs: configs of topics, brokers, loggers, users, clients and IPs (after Kafka's `ConfigCommand`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafkapy.tools.common.command_line import (
    COMMAND_CONFIG,
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)
from kafkapy.tools.configs.entities import BROKER_LOGGERS, BROKERS, CLIENTS, ENTITY_TYPES, IPS, TOPICS, USERS
from kafkapy.tools.zookeeper.tls import TLS_CONFIG_FILE

NAME_FLAGS = {
    "topic": TOPICS,
    "client": CLIENTS,
    "user": USERS,
    "broker": BROKERS,
    "broker-logger": BROKER_LOGGERS,
    "ip": IPS,
}
DEFAULT_FLAGS = {"client-defaults": CLIENTS, "user-defaults": USERS, "broker-defaults": BROKERS, "ip-defaults": IPS}

PARSER = OptionParser(
    "This tool helps to manipulate and describe entity config for a topic, client, user, broker, ip or client-metrics",
    ToolOption("bootstrap-server", "REQUIRED: the server(s) to connect to.", "host:port,host:port"),
    ToolOption("bootstrap-controller", "Not supported: KRaft controllers are another kind of cluster.", "host:port"),
    ToolOption(
        "zookeeper",
        "DEPRECATED. Where ZooKeeper is, host:port. For SCRAM credentials of users, and for configs of brokers that are down.",
        "urls",
    ),
    TLS_CONFIG_FILE,
    COMMAND_CONFIG,
    ToolOption("alter", "Change the configs of an entity."),
    ToolOption("describe", "Show the configs of entities."),
    ToolOption("all", "With --describe: all configs of a topic, broker or logger, static ones and defaults included."),
    ToolOption("entity-type", "Type of entity: topics/clients/users/brokers/broker-loggers/ips/client-metrics", "type"),
    ToolOption("entity-name", "Name of the entity: topic, client id, user principal, broker id, ip.", "name"),
    ToolOption("entity-default", "The default of all clients, users, brokers or ips, in place of --entity-name."),
    ToolOption(
        "add-config",
        "Configs to set, as in 'k1=v1,k2=[v1,v2,v2],k3=v3': square brackets hold values that have commas. "
        "Quotas of users and clients: producer_byte_rate, consumer_byte_rate, request_percentage, "
        "controller_mutation_rate; of ips: connection_creation_rate; users also have SCRAM-SHA-256 and SCRAM-SHA-512, "
        "as in 'SCRAM-SHA-512=[iterations=8192,password=secret]'. Types users and clients may be given together.",
        "k=v,k=v",
    ),
    ToolOption("add-config-file", "A properties file with configs to set.", "properties file"),
    ToolOption("delete-config", "Configs to remove, as in 'k1,k2'.", "k,k", separator=","),
    ToolOption("force", "Suppress console prompts. (There are none.)"),
    ToolOption("topic", "The topic's name.", "topic"),
    ToolOption("client", "The client's id.", "client id"),
    ToolOption("client-defaults", "The defaults of all clients."),
    ToolOption("user", "The user's principal name.", "user"),
    ToolOption("user-defaults", "The defaults of all users."),
    ToolOption("broker", "The broker's id.", "broker id"),
    ToolOption("broker-defaults", "The defaults of all brokers."),
    ToolOption("broker-logger", "The id of the broker whose loggers are meant.", "broker id"),
    ToolOption("ip", "The IP address.", "ip"),
    ToolOption("ip-defaults", "The defaults of all IPs."),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import admin_client, exception_text

    check_options(options)
    types, names = entity_types(options), entity_names(options)
    if options.has("zookeeper"):
        from kafkapy.tools.configs.zookeeper import execute_with_zookeeper

        execute_with_zookeeper(options, types[0], names[0] if names else None)
        return
    if options.has("alter") and len(types) != len(names):
        raise CommandLineError("An entity name must be specified for every entity type")
    try:
        with admin_client(options, options.value("bootstrap-server")) as admin:
            if options.has("alter"):
                from kafkapy.tools.configs.alter import alter

                alter(admin, options, types, names)
            else:
                from kafkapy.tools.configs.describe import describe

                describe(admin, types, names, options.has("all"))
    except KafkaError as error:
        # The arguments are not repeated, as Kafka does: they may hold passwords.
        raise ToolError(f"Error while executing config command: {exception_text(error)}") from error


def entity_types(options: Options) -> list[str]:
    """The entity types of the options, --entity-type first."""
    flags = [type_ for flag, type_ in (NAME_FLAGS | DEFAULT_FLAGS).items() if options.has(flag)]
    return [*options.values("entity-type"), *flags]


def entity_names(options: Options) -> list[str]:
    """The entity names for the types, in the same order; "" for a default."""
    ordered = [value or "" for name, value in options.given if name in ("entity-name", "entity-default")]
    named = [options.value(flag) for flag in NAME_FLAGS if options.has(flag)]
    return [*ordered, *named, *("" for flag in DEFAULT_FLAGS if options.has(flag))]


def check_options(options: Options) -> None:
    if options.count(("alter", "describe")) != 1:
        raise CommandLineError("Command must include exactly one action: --describe, --alter")
    options.exclude("describe", ("add-config", "delete-config"))
    if options.has("bootstrap-controller"):
        raise CommandLineError("--bootstrap-controller is not supported, use --bootstrap-server to connect to a broker")
    types = entity_types(options)
    _check_types(types, options.has("zookeeper"))
    _check_connection(options)
    if options.count(("entity-name", "entity-type", "entity-default")) and options.count(NAME_FLAGS | DEFAULT_FLAGS):
        raise CommandLineError(
            "--entity-{type,name,default} should not be used in conjunction with specific entity flags"
        )
    names = entity_names(options)
    _check_names(types[0], [name for name in names if name])
    if options.has("describe") and BROKER_LOGGERS in types and not any(names):
        raise CommandLineError("an entity name must be specified with --describe of broker-loggers")
    if options.has("alter"):
        _check_alteration(options, types, names)


def _check_connection(options: Options) -> None:
    """Check the options of the connection. The messages are those of Kafka's tool, its grammatical error included."""
    count = options.count(("bootstrap-server", "zookeeper"))
    if not count:
        raise CommandLineError(
            "One of the required --bootstrap-server, --boostrap-controller, or --zookeeper arguments must be specified"
        )
    if count > 1:
        raise CommandLineError(
            "Only one of --bootstrap-server, --boostrap-controller, and --zookeeper can be specified"
        )
    if options.has("all") and options.has("zookeeper"):
        raise CommandLineError("--bootstrap-server must be specified for --all")
    if options.has("zk-tls-config-file") and not options.has("zookeeper"):
        raise CommandLineError("Only the --zookeeper option can be used with the --zk-tls-config-file option.")


def _check_types(types: Sequence[str], with_zookeeper: bool) -> None:
    if twice := sorted({type_ for type_ in types if types.count(type_) > 1}):
        raise CommandLineError(f"Duplicate entity type(s) specified: {','.join(twice)}")
    allowed, option = ((USERS, BROKERS), "zookeeper") if with_zookeeper else (ENTITY_TYPES, "bootstrap-server")
    for type_ in types:
        if type_ not in allowed:
            raise CommandLineError(
                f"Invalid entity type {type_}, the entity type must be one of {', '.join(allowed)} with a --{option} argument"
            )
    if not types:
        raise CommandLineError("At least one entity type must be specified")
    if len(types) > 1 and set(types) != {USERS, CLIENTS}:
        raise CommandLineError("Only 'users' and 'clients' entity types may be specified together")


def _check_names(type_: str, names: Sequence[str]) -> None:
    for name in names:
        if type_ in (BROKERS, BROKER_LOGGERS):
            try:
                integer(name)
            except ValueError:
                raise CommandLineError(
                    f"The entity name for {type_} must be a valid integer broker id, but it is: {name}"
                ) from None
        elif type_ == IPS and not _is_address(name):
            raise CommandLineError(
                f"The entity name for {type_} must be a valid IP or resolvable host, but it is: {name}"
            )


def _is_address(name: str) -> bool:
    import socket

    try:
        return bool(socket.getaddrinfo(name, None))
    except OSError:
        return False


def _check_alteration(options: Options, types: Sequence[str], names: Sequence[str]) -> None:
    if set(types) & {USERS, CLIENTS, BROKERS, IPS}:
        if not names:
            raise CommandLineError(
                "an entity-name or default entity must be specified with --alter of users, clients, brokers or ips"
            )
    elif not any(names):
        raise CommandLineError(f"an entity name must be specified with --alter of {','.join(types)}")
    if options.has("add-config") and options.has("add-config-file"):
        raise CommandLineError("Only one of --add-config or --add-config-file must be specified")
    if not options.count(("add-config", "add-config-file", "delete-config")):
        raise CommandLineError(
            "At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter"
        )


if __name__ == "__main__":
    sys.exit(main())
