"""Types of access control lists, with Kafka's codes and names (`org.apache.kafka.common.acl`, `...common.resource`)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, TypeVar


class ResourceType(IntEnum):
    """The type of resource that an ACL applies to. ANY is for filters only.

    Example:
        >>> ResourceType(2).name
        'TOPIC'
    """

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class ACLOperation(IntEnum):
    """The operation that an ACL allows or denies. ANY is for filters only.

    Example:
        >>> ACLOperation(3).name
        'READ'
    """

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class ACLPermissionType(IntEnum):
    """Whether an ACL allows or denies. ANY is for filters only.

    Example:
        >>> ACLPermissionType(3).name
        'ALLOW'
    """

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class ACLResourcePatternType(IntEnum):
    """How an ACL compares a resource's name (KIP-290). ANY and MATCH are for filters only.

    Example:
        >>> ACLResourcePatternType(4).name
        'PREFIXED'
    """

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


CLUSTER_NAME: Final = "kafka-cluster"
"""The only name of a resource of the type CLUSTER."""

WILDCARD_RESOURCE: Final = "*"
"""The name of a literal pattern that matches every resource of its type."""

WILDCARD_HOST: Final = "*"
WILDCARD_PRINCIPAL: Final = "User:*"

RESOURCE_TYPES: Final = tuple(t for t in ResourceType if t > ResourceType.ANY)
"""The types that a resource can have."""

CONCRETE_PATTERN_TYPES: Final = (ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED)
"""The pattern types that an ACL can have."""

_O = ACLOperation
SUPPORTED_OPERATIONS: Final[dict[ResourceType, tuple[ACLOperation, ...]]] = {
    ResourceType.TOPIC: (
        *(_O.READ, _O.WRITE, _O.CREATE, _O.DELETE, _O.ALTER, _O.DESCRIBE),
        *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS),
    ),
    ResourceType.GROUP: (_O.READ, _O.DELETE, _O.DESCRIBE),
    ResourceType.CLUSTER: (
        *(_O.CREATE, _O.ALTER, _O.DESCRIBE, _O.CLUSTER_ACTION),
        *(_O.DESCRIBE_CONFIGS, _O.ALTER_CONFIGS, _O.IDEMPOTENT_WRITE),
    ),
    ResourceType.TRANSACTIONAL_ID: (_O.WRITE, _O.DESCRIBE),
    ResourceType.DELEGATION_TOKEN: (_O.DESCRIBE,),
    ResourceType.USER: (_O.CREATE_TOKENS, _O.DESCRIBE_TOKENS),
}
"""The operations on a resource of each type (`AclEntry.supportedOperations`)."""

_E = TypeVar("_E", bound=IntEnum)


def from_code(kind: type[_E], code: int) -> _E:
    """Return the member with this code, or UNKNOWN, which is 0, for a code that this release does not know.

    Example:
        >>> from_code(ACLOperation, 99).name
        'UNKNOWN'
    """
    try:
        return kind(code)
    except ValueError:
        return kind(0)


def pascal_case(member: IntEnum) -> str:
    """Return the name as znodes and logs have it (`SecurityUtils.operationName`).

    Example:
        >>> pascal_case(ResourceType.TRANSACTIONAL_ID)
        'TransactionalId'
    """
    return member.name.title().replace("_", "")


def from_pascal_case(kind: type[_E], name: str) -> _E:
    """Return the member with this name of `pascal_case`, ignoring case; UNKNOWN for any other name.

    Example:
        >>> from_pascal_case(ACLOperation, "DescribeConfigs").name
        'DESCRIBE_CONFIGS'
    """
    wanted = name.upper()
    return next((member for member in kind if member.name.replace("_", "") == wanted), kind(0))


class AclPattern(NamedTuple):
    """The resources that an ACL applies to (Kafka's `ResourcePattern`)."""

    resource_type: ResourceType
    name: str
    pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL

    def __str__(self) -> str:
        return (
            f"ResourcePattern(resourceType={self.resource_type.name}, name={self.name}, "
            f"patternType={self.pattern_type.name})"
        )

    def matches(self, name: str) -> bool:
        """Return whether a resource of this type with this name matches the pattern."""
        if self.pattern_type is ACLResourcePatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD_RESOURCE)


class AccessControlEntry(NamedTuple):
    """Whether a principal may do an operation from a host."""

    principal: str
    host: str
    operation: ACLOperation
    permission_type: ACLPermissionType

    def __str__(self) -> str:
        return (
            f"(principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission_type.name})"
        )


class AclBinding(NamedTuple):
    """An ACL: a pattern of resources, and an entry that applies to them."""

    pattern: AclPattern
    entry: AccessControlEntry

    @property
    def is_unknown(self) -> bool:
        """Whether it has an element that this release does not know."""
        (resource_type, _, pattern_type), (_, _, operation, permission_type) = self
        return not (resource_type and pattern_type and operation and permission_type)


class AclPatternFilter(NamedTuple):
    """A filter of patterns (Kafka's `ResourcePatternFilter`)."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: ACLResourcePatternType = ACLResourcePatternType.ANY

    def matches(self, pattern: AclPattern) -> bool:
        """Return whether the pattern passes the filter.

        Example:
            >>> found = AclPatternFilter(ResourceType.TOPIC, "orders-eu", ACLResourcePatternType.MATCH)
            >>> found.matches(AclPattern(ResourceType.TOPIC, "orders", ACLResourcePatternType.PREFIXED))
            True
        """
        resource_type, name, pattern_type = self
        if resource_type is not ResourceType.ANY and resource_type is not pattern.resource_type:
            return False
        if pattern_type is ACLResourcePatternType.MATCH:
            return name is None or pattern.matches(name)
        if pattern_type is not ACLResourcePatternType.ANY and pattern_type is not pattern.pattern_type:
            return False
        return name is None or name == pattern.name

    def patterns(self) -> tuple[AclPattern, ...]:
        """Return all patterns that can match, if they can be listed: the filter has a type and a name, and is not a
        MATCH."""
        resource_type, name, pattern_type = self
        if resource_type <= ResourceType.ANY or name is None:
            return ()
        if pattern_type is ACLResourcePatternType.ANY:
            return tuple(AclPattern(resource_type, name, concrete) for concrete in CONCRETE_PATTERN_TYPES)
        return (AclPattern(resource_type, name, pattern_type),) if pattern_type in CONCRETE_PATTERN_TYPES else ()


class AccessControlEntryFilter(NamedTuple):
    """A filter of entries; None stands for any value."""

    principal: str | None = None
    host: str | None = None
    operation: ACLOperation = ACLOperation.ANY
    permission_type: ACLPermissionType = ACLPermissionType.ANY

    def matches(self, entry: AccessControlEntry) -> bool:
        return (
            (self.principal is None or self.principal == entry.principal)
            and (self.host is None or self.host == entry.host)
            and (self.operation is ACLOperation.ANY or self.operation is entry.operation)
            and (self.permission_type is ACLPermissionType.ANY or self.permission_type is entry.permission_type)
        )


class AclBindingFilter(NamedTuple):
    """A filter of ACLs; without arguments it matches all of them."""

    pattern_filter: AclPatternFilter = AclPatternFilter()
    entry_filter: AccessControlEntryFilter = AccessControlEntryFilter()

    def matches(self, binding: AclBinding) -> bool:
        return self.pattern_filter.matches(binding.pattern) and self.entry_filter.matches(binding.entry)
