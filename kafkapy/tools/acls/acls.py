"""kafka-acls: lists and changes access control lists (after Kafka's `AclCommand`)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLResourcePatternType,
    pascal_case,
)
from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.acls.options import acls_by_filter, acls_to_add, pattern_type, principals, resource_filters
from kafkapy.tools.acls.stores import ACL_AUTHORIZER, AclStore, AclUpdateError, BrokerAcls, ZooKeeperAcls
from kafkapy.tools.common.admin_access import exception_text
from kafkapy.tools.common.command_line import CommandLineError, OptionParser, Options, ToolError, ToolOption, run

_DEPRECATED = "DEPRECATED, and only for a cluster whose brokers do not run yet; else use --bootstrap-server."
_OPERATIONS = ", ".join(pascal_case(operation) for operation in ACLOperation if operation > ACLOperation.ANY)

PARSER = OptionParser(
    "This tool helps to manage acls on kafka.",
    ToolOption("bootstrap-server", "The server(s) to connect to.", "host:port,host:port"),
    ToolOption(
        "command-config", "A property file with configs for the admin client.", "property file", optional_argument=True
    ),
    ToolOption(
        "authorizer",
        f"{_DEPRECATED} The class whose ACLs are meant: {ACL_AUTHORIZER}, which keeps them in ZooKeeper.",
        "authorizer",
        default=ACL_AUTHORIZER,
    ),
    ToolOption(
        "authorizer-properties",
        f"{_DEPRECATED} Configs of that class, key=value: zookeeper.connect=localhost:2181. May be given again.",
        "key=value",
    ),
    ToolOption("zk-tls-config-file", f"{_DEPRECATED} A property file with ZooKeeper's TLS configs.", "property file"),
    ToolOption("add", "Add ACLs."),
    ToolOption("remove", "Remove ACLs."),
    ToolOption("list", "List ACLs, of the resources that are named or of all."),
    ToolOption("topic", "A topic that the ACLs are about; '*' stands for all topics.", "topic"),
    ToolOption("group", "A consumer group that the ACLs are about; '*' stands for all groups.", "group"),
    ToolOption("cluster", "The ACLs are about the cluster."),
    ToolOption(
        "transactional-id", "A transactional id that the ACLs are about; '*' stands for all.", "transactional-id"
    ),
    ToolOption(
        "delegation-token", "A delegation token that the ACLs are about; '*' stands for all.", "delegation-token"
    ),
    ToolOption(
        "user-principal",
        "A user that the ACLs are about, with the operations CreateTokens and DescribeTokens.",
        "user-principal",
    ),
    ToolOption(
        "resource-pattern-type",
        "How names are compared: literal, prefixed; with --list and --remove also any (both of that very name) and match "
        "(whatever matches a resource of that name; with --remove use it with care).",
        "type",
        pattern_type,
        ACLResourcePatternType.LITERAL,
    ),
    ToolOption("operation", f"An operation that is allowed or denied: {_OPERATIONS}.", "operation", default="All"),
    ToolOption(
        "allow-principal", "A principal that is allowed it, as User:alice; User:'*' stands for all users.", "principal"
    ),
    ToolOption(
        "deny-principal",
        "A principal that is denied it. What is not allowed is denied anyhow; this takes away from what is allowed, "
        "User:'*' for example, and goes before it.",
        "principal",
    ),
    ToolOption(
        "principal",
        "With --list: only ACLs of this principal. May be given again.",
        "principal",
        optional_argument=True,
    ),
    ToolOption("allow-host", "The IP address from which it is allowed; '*', any, if left out.", "host"),
    ToolOption("deny-host", "The IP address from which it is denied; '*', any, if left out.", "host"),
    ToolOption(
        "producer", "The ACLs of a producer: Write, Describe and Create on its topics, and on its transactional ids."
    ),
    ToolOption("consumer", "The ACLs of a consumer: Read and Describe on its topics, Read on its groups."),
    ToolOption(
        "idempotent",
        "With --producer: also IdempotentWrite on the cluster, which a producer with transactions has anyhow.",
    ),
    ToolOption("force", "Ask nothing; the answer to all questions is yes."),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    check_options(options)
    try:
        if options.has("add"):
            add(options)
        elif options.has("remove"):
            remove(options)
        else:
            list_acls(options)
    except AclUpdateError:
        raise
    except (KafkaError, ToolError, ValueError) as error:
        reason = exception_text(error) if isinstance(error, KafkaError) else str(error)
        raise ToolError(f"Error while executing ACL command: {reason}") from error


def check_options(options: Options) -> None:
    """Check the options without a broker. Raises CommandLineError."""
    _check_place(options)
    if options.count(("add", "remove", "list")) != 1:
        raise CommandLineError("Command must include exactly one action: --list, --add, --remove. ")
    entries = ("allow-host", "allow-principal", "deny-host", "deny-principal")
    options.exclude("list", ("producer", "consumer", *entries))
    for role in ("producer", "consumer"):
        options.exclude(role, ("operation", "deny-principal", "deny-host"))
    if options.has("principal") and not options.has("list"):
        raise CommandLineError("The --principal option is only available if --list is set")
    if options.has("producer") and not options.has("topic"):
        raise CommandLineError("With --producer you must specify a --topic")
    if options.has("idempotent") and not options.has("producer"):
        raise CommandLineError("The --idempotent option is only available if --producer is set")
    if options.has("consumer"):
        alone = not options.has("producer")
        if options.count(("topic", "group")) < 2 or (alone and options.count(("cluster", "transactional-id"))):
            raise CommandLineError(
                "With --consumer you must specify a --topic and a --group and no --cluster or --transactional-id option "
                "should be specified."
            )


def _check_place(options: Options) -> None:
    """Check that the options name brokers or ZooKeeper, not both."""
    by_broker = options.has("bootstrap-server")
    if by_broker and options.has("authorizer"):
        raise CommandLineError("Only one of --bootstrap-server or --authorizer must be specified")
    if not by_broker:
        options.require("authorizer-properties")
        print(
            "Warning: support for ACL configuration directly through the authorizer is deprecated and will be removed in a "
            "future release. Please use --bootstrap-server instead to set ACLs through the admin client.",
            file=sys.stderr,
        )
    if options.has("command-config") and not by_broker:
        raise CommandLineError("The --command-config option can only be used with --bootstrap-server option")
    if options.has("authorizer-properties") and by_broker:
        raise CommandLineError("The --authorizer-properties option can only be used with --authorizer option")


def _store(options: Options) -> AclStore:
    return BrokerAcls(options) if options.has("bootstrap-server") else ZooKeeperAcls(options)


def add(options: Options) -> None:
    chosen = acls_to_add(options)
    with _store(options) as store:
        for pattern, entries in chosen.items():
            print(f"Adding ACLs for resource `{pattern}`: \n {_lines(entries)} \n")
            store.create([AclBinding(pattern, entry) for entry in entries])


def remove(options: Options) -> None:
    chosen = acls_by_filter(options)
    with _store(options) as store:
        for resource_filter, entries in chosen.items():
            if not _confirmed(options, _question(resource_filter, entries)):
                continue
            if entries:
                filters = [AclBindingFilter(resource_filter, AccessControlEntryFilter(*entry)) for entry in entries]
            else:
                filters = [AclBindingFilter(resource_filter)]
            store.delete(filters)


def _question(resource_filter: AclPatternFilter, entries: Sequence[AccessControlEntry]) -> str:
    name = AclPattern(resource_filter.resource_type, resource_filter.name or "", resource_filter.pattern_type)
    if not entries:
        return f"Are you sure you want to delete all ACLs for resource filter `{name}`? (y/n)"
    lines = _lines(entries)
    return f"Are you sure you want to remove ACLs: \n {lines} \n from resource filter `{name}`? (y/n)"


def _confirmed(options: Options, question: str) -> bool:
    if options.has("force"):
        return True
    print(question, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise ToolError("nothing was answered; --force asks nothing")
    return answer.rstrip("\r\n").lower() == "y"


def list_acls(options: Options) -> None:
    filters = resource_filters(options)
    wanted = principals(options, "principal")
    with _store(options) as store:
        found: dict[AclPattern, dict[AccessControlEntry, None]] = {}
        for resource_filter in filters or [AclPatternFilter()]:
            for pattern, entry in store.describe(AclBindingFilter(resource_filter)):
                found.setdefault(pattern, {})[entry] = None
    if not wanted:
        _print(found)
    for principal in wanted:
        print(f"ACLs for principal `{principal}`")
        of_principal = {p: [e for e in entries if e.principal == principal] for p, entries in found.items()}
        _print({pattern: entries for pattern, entries in of_principal.items() if entries})


def _print(acls: dict[AclPattern, dict[AccessControlEntry, None]] | dict[AclPattern, list[AccessControlEntry]]) -> None:
    for pattern, entries in acls.items():
        print(f"Current ACLs for resource `{pattern}`: \n {_lines(entries)} \n")


def _lines(entries: Iterable[AccessControlEntry]) -> str:
    return "\n".join(f"\t{entry}" for entry in entries)


if __name__ == "__main__":
    sys.exit(main())
