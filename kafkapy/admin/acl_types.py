"""The classes of access control lists (kafka-python's names, Kafka's codes)."""

from __future__ import annotations

from typing import Any

from kafkapy.common.acl_types import ACLOperation as ACLOperation
from kafkapy.common.acl_types import ACLPermissionType as ACLPermissionType
from kafkapy.common.acl_types import ACLResourcePatternType as ACLResourcePatternType
from kafkapy.common.acl_types import ResourceType as ResourceType
from kafkapy.errors import IllegalArgumentError


class _Comparable:
    """A value that is equal if all slots are; the constructor raises IllegalArgumentError for invalid arguments."""

    __slots__: tuple[str, ...] = ()

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Comparable) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class ResourcePatternFilter(_Comparable):
    """Selects resources; a name of None matches all.

    Args:
        resource_type: The type; ANY for all.
        resource_name: The name; None: any.
        pattern_type: LITERAL, PREFIXED, ANY, or MATCH: all patterns that apply to the name.

    Example:
        >>> ResourcePatternFilter(ResourceType.TOPIC, "clicks", ACLResourcePatternType.MATCH)
        <ResourcePattern type=TOPIC, name=clicks, pattern=MATCH>
    """

    def __init__(
        self, resource_type: ResourceType, resource_name: str | None, pattern_type: ACLResourcePatternType
    ) -> None:
        self.resource_type = resource_type
        self.resource_name = resource_name
        self.pattern_type = pattern_type
        self.validate()

    def validate(self) -> None:
        if not isinstance(self.resource_type, ResourceType):
            raise IllegalArgumentError("resource_type must be a ResourceType")
        if not isinstance(self.pattern_type, ACLResourcePatternType):
            raise IllegalArgumentError("pattern_type must be an ACLResourcePatternType")

    def _key(self) -> tuple[Any, ...]:
        return self.resource_type, self.resource_name, self.pattern_type

    def __repr__(self) -> str:
        return f"<ResourcePattern type={self.resource_type.name}, name={self.resource_name}, pattern={self.pattern_type.name}>"


class ResourcePattern(ResourcePatternFilter):
    """The resources of one ACL.

    Args:
        resource_type: TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN or USER.
        resource_name: The name, or the prefix of names.
        pattern_type: LITERAL (default) or PREFIXED (KIP-290).

    Example:
        >>> ResourcePattern(ResourceType.TOPIC, "acme-", ACLResourcePatternType.PREFIXED)
        <ResourcePattern type=TOPIC, name=acme-, pattern=PREFIXED>
    """

    def __init__(
        self,
        resource_type: ResourceType,
        resource_name: str,
        pattern_type: ACLResourcePatternType = ACLResourcePatternType.LITERAL,
    ) -> None:
        super().__init__(resource_type, resource_name, pattern_type)

    def validate(self) -> None:
        super().validate()
        if self.resource_type is ResourceType.ANY:
            raise IllegalArgumentError("resource_type cannot be ANY")
        if self.pattern_type in (ACLResourcePatternType.ANY, ACLResourcePatternType.MATCH):
            raise IllegalArgumentError(f"pattern_type cannot be {self.pattern_type.name} on a concrete ResourcePattern")


class ACLFilter(_Comparable):
    """Selects ACLs; None matches any principal or host.

    Args:
        principal: "User:alice"; None: any.
        host: Address of the client; None: any.
        operation: The operation; ANY for all.
        permission_type: ALLOW, DENY, or ANY.
        resource_pattern: The resources.

    Raises:
        IllegalArgumentError: An argument has a wrong type.

    Example:
        >>> topics = ResourcePatternFilter(ResourceType.TOPIC, None, ACLResourcePatternType.ANY)
        >>> ACLFilter("User:alice", None, ACLOperation.ANY, ACLPermissionType.ANY, topics).host is None
        True
    """

    def __init__(
        self,
        principal: str | None,
        host: str | None,
        operation: ACLOperation,
        permission_type: ACLPermissionType,
        resource_pattern: ResourcePatternFilter,
    ) -> None:
        self.principal = principal
        self.host = host
        self.operation = operation
        self.permission_type = permission_type
        self.resource_pattern = resource_pattern
        self.validate()

    def validate(self) -> None:
        if not isinstance(self.operation, ACLOperation):
            raise IllegalArgumentError("operation must be an ACLOperation")
        if not isinstance(self.permission_type, ACLPermissionType):
            raise IllegalArgumentError("permission_type must be an ACLPermissionType")
        if not isinstance(self.resource_pattern, ResourcePatternFilter):
            raise IllegalArgumentError("resource_pattern must be a ResourcePatternFilter")

    def _key(self) -> tuple[Any, ...]:
        return self.principal, self.host, self.operation, self.permission_type, self.resource_pattern

    def __repr__(self) -> str:
        return (
            f"<ACL principal={self.principal}, resource={self.resource_pattern}, operation={self.operation.name}, "
            f"type={self.permission_type.name}, host={self.host}>"
        )


class ACL(ACLFilter):
    """One access rule.

    Args:
        principal: "User:alice"; "User:*" for all.
        host: Address of the client; "*" for all.
        operation: The operation that is allowed or denied.
        permission_type: ALLOW or DENY.
        resource_pattern: The resources.

    Example:
        >>> topic = ResourcePattern(ResourceType.TOPIC, "clicks")
        >>> ACL("User:alice", "*", ACLOperation.READ, ACLPermissionType.ALLOW, topic).operation.name
        'READ'
    """

    def validate(self) -> None:
        super().validate()
        if self.operation is ACLOperation.ANY:
            raise IllegalArgumentError("operation cannot be ANY")
        if self.permission_type is ACLPermissionType.ANY:
            raise IllegalArgumentError("permission_type cannot be ANY")
        if not isinstance(self.resource_pattern, ResourcePattern):
            raise IllegalArgumentError("resource_pattern must be a ResourcePattern")
