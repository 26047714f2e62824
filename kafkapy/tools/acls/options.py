"""The ACLs that the options of kafka-acls describe: patterns of resources, and entries for them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from kafkapy.common.acl_types import (
    CLUSTER_NAME,
    CONCRETE_PATTERN_TYPES,
    SUPPORTED_OPERATIONS,
    WILDCARD_HOST,
    AccessControlEntry,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
    from_pascal_case,
    pascal_case,
)
from kafkapy.tools.common.command_line import CommandLineError, Options, ToolError

_Entries = dict[AccessControlEntry, None]
"""An ordered set."""

_O = ACLOperation
_CLUSTER = AclPatternFilter(ResourceType.CLUSTER, CLUSTER_NAME, ACLResourcePatternType.LITERAL)
_NAMED = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "delegation-token": ResourceType.DELEGATION_TOKEN,
    "user-principal": ResourceType.USER,
}


def pattern_type(text: str) -> ACLResourcePatternType:
    """Parse --resource-pattern-type. Raises ValueError."""
    found = ACLResourcePatternType.__members__.get(text.upper())
    if not found:
        raise ValueError(text)
    return found


def _pattern_type(options: Options) -> ACLResourcePatternType:
    try:
        kind: ACLResourcePatternType = options.value("resource-pattern-type")
    except CommandLineError as error:
        raise ToolError(str(error)) from None
    return kind


def resource_filters(options: Options) -> list[AclPatternFilter]:
    """The resources named by the options, the cluster after the topics."""
    kind = _pattern_type(options)
    found = []
    for option, resource_type in _NAMED.items():
        names = options.values(option) if options.has(option) else []
        is_kept = option == "transactional-id"
        found += [AclPatternFilter(resource_type, name if is_kept else name.strip(), kind) for name in names]
        if option == "topic" and kind is ACLResourcePatternType.LITERAL and options.count(("cluster", "idempotent")):
            found.append(_CLUSTER)
    return list(dict.fromkeys(found))


def acls_to_add(options: Options) -> dict[AclPattern, list[AccessControlEntry]]:
    """Pattern -> entries to add. Raises CommandLineError, ToolError."""
    kind = _pattern_type(options)
    if kind not in CONCRETE_PATTERN_TYPES:
        raise CommandLineError(f"A '--resource-pattern-type' value of '{kind.name}' is not valid when adding acls.")
    chosen = acls_by_filter(options)
    if not all(chosen.values()):
        raise CommandLineError("You must specify one of: --allow-principal, --deny-principal when trying to add ACLs.")
    return {AclPattern(f.resource_type, f.name or "", f.pattern_type): entries for f, entries in chosen.items()}


def acls_by_filter(options: Options) -> dict[AclPatternFilter, list[AccessControlEntry]]:
    """Filter -> entries to remove; empty if no principal was named. Raises CommandLineError, ToolError."""
    filters = resource_filters(options)
    if not filters:
        raise CommandLineError(
            "You must provide at least one resource: --topic <topic> or --cluster or --group <group> or "
            "--delegation-token <Delegation Token ID>"
        )
    found: dict[AclPatternFilter, _Entries] = {}

    def add(resource_filter: AclPatternFilter, operations: Iterable[ACLOperation]) -> None:
        found.setdefault(resource_filter, {}).update(dict.fromkeys(_entries(options, operations)))

    roles = options.count(("producer", "consumer"))
    for resource_filter in filters:
        kind = resource_filter.resource_type
        if not roles:
            add(resource_filter, [from_pascal_case(ACLOperation, name.strip()) for name in options.values("operation")])
        if options.has("producer"):
            if kind is ResourceType.TOPIC:
                add(resource_filter, (_O.WRITE, _O.DESCRIBE, _O.CREATE))
            elif kind is ResourceType.TRANSACTIONAL_ID:
                add(resource_filter, (_O.WRITE, _O.DESCRIBE))
        if options.has("consumer"):
            if kind is ResourceType.TOPIC:
                add(resource_filter, (_O.READ, _O.DESCRIBE))
            elif kind is ResourceType.GROUP:
                add(resource_filter, (_O.READ,))
    if options.has("idempotent"):
        add(_CLUSTER, (_O.IDEMPOTENT_WRITE,))
    _check_operations(found)
    return {resource_filter: list(entries) for resource_filter, entries in found.items()}


def _check_operations(chosen: dict[AclPatternFilter, _Entries]) -> None:
    for resource_filter, entries in chosen.items():
        valid = (*SUPPORTED_OPERATIONS[resource_filter.resource_type], _O.ALL)
        if any(entry.operation not in valid for entry in entries):
            raise CommandLineError(
                f"ResourceType {resource_filter.resource_type.name} only supports operations "
                + ", ".join(map(pascal_case, valid))
            )


def _entries(options: Options, operations: Iterable[ACLOperation]) -> list[AccessControlEntry]:
    found = []
    operations = list(operations)
    for word, permission in (("allow", ACLPermissionType.ALLOW), ("deny", ACLPermissionType.DENY)):
        for principal, operation, host in product(
            principals(options, f"{word}-principal"), operations, _hosts(options, word)
        ):
            if operation is _O.ANY:
                raise ToolError("operation must not be ANY")
            found.append(AccessControlEntry(principal, host, operation, permission))
    return found


def principals(options: Options, name: str) -> list[str]:
    """The principals of an option, as `User:alice`. Raises ToolError."""
    found = [text.strip() for text in options.values(name)]
    for text in found:
        if ":" not in text:
            raise ToolError(f"expected a string in format principalType:principalName but got {text}")
    return found


def _hosts(options: Options, word: str) -> list[str]:
    hosts = [text.strip() for text in options.values(f"{word}-host")]
    return hosts or [WILDCARD_HOST]
