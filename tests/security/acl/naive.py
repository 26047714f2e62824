"""Kafka's decisions by scanning a list of all ACLs: what the index is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kafkapy.common.acl_types import AclBinding, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType

O = ACLOperation  # noqa: E741
IMPLYING = {O.DESCRIBE: {O.READ, O.WRITE, O.DELETE, O.ALTER}, O.DESCRIBE_CONFIGS: {O.ALTER_CONFIGS}}
DENY, ALLOW = ACLPermissionType.DENY, ACLPermissionType.ALLOW
LITERAL = ACLResourcePatternType.LITERAL


class Naive(NamedTuple):
    """As `AclAuthorizer` says it, line by line."""

    acls: Sequence[AclBinding]
    super_users: Sequence[str] = ()
    allow_everyone: bool = False

    def authorize(self, principal: str, host: str, operation: O, resource_type: ResourceType, name: str) -> bool:
        if principal in self.super_users:
            return True
        about = [acl for acl in self.acls if acl.pattern.resource_type is resource_type and _is_about(acl, name)]
        if not about:
            return self.allow_everyone
        if any(_matches(acl, principal, host, {operation, O.ALL}, DENY) for acl in about):
            return False
        allowing = {operation, O.ALL} | IMPLYING.get(operation, set())
        return any(_matches(acl, principal, host, allowing, ALLOW) for acl in about)

    def authorize_by_resource_type(self, principal: str, host: str, operation: O, resource_type: ResourceType) -> bool:
        if principal in self.super_users:
            return True
        of_type = [acl for acl in self.acls if acl.pattern.resource_type is resource_type]
        wanted = {operation, O.ALL}
        denied = [acl.pattern for acl in of_type if _matches(acl, principal, host, wanted, DENY)]
        allowed = [acl.pattern for acl in of_type if _matches(acl, principal, host, wanted, ALLOW)]
        names = {pattern.name for pattern in denied if pattern.pattern_type is LITERAL}
        prefixes = {pattern.name for pattern in denied if pattern.pattern_type is not LITERAL}
        if "*" in names:
            return False
        if self.allow_everyone:
            return True
        for pattern in allowed:
            literal = pattern.pattern_type is LITERAL
            if literal and pattern.name == "*":
                return True
            if not (literal and pattern.name in names) and not any(pattern.name.startswith(p) for p in prefixes):
                return True
        return False


def _is_about(acl: AclBinding, name: str) -> bool:
    pattern = acl.pattern
    if pattern.pattern_type is LITERAL:
        return pattern.name in ("*", name)
    return name.startswith(pattern.name)


def _matches(acl: AclBinding, principal: str, host: str, operations: set[O], permission: ACLPermissionType) -> bool:
    entry = acl.entry
    return (
        entry.permission_type is permission
        and entry.principal in (principal, "User:*")
        and entry.host in (host, "*")
        and entry.operation in operations
    )
