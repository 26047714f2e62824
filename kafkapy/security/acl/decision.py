"""Authorization decisions, with the deciding rule."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafkapy.common.acl_types import AclBinding

SUPER_USER: Final = "SuperUser"
MATCHING_ACL: Final = "MatchingAcl"
DEFAULT_ALLOW: Final = "DefaultAllow"
DEFAULT_DENY: Final = "DefaultDeny"


class AclDecision(NamedTuple):
    """Whether the operation is allowed, and why.

    Example:
        >>> str(AclDecision(False, DEFAULT_DENY))
        'DefaultDeny'
    """

    allowed: bool
    rule: str
    """One of the constants above, which are the names in logs of Kafka's `StandardAuthorizer`."""
    acl: AclBinding | None = None
    """The deciding ACL, for MATCHING_ACL."""

    def __str__(self) -> str:
        """Return the text that Kafka's authorizer logs after `based on rule`."""
        if self.acl is None:
            return self.rule
        (resource_type, name, pattern_type), (principal, host, operation, permission_type) = self.acl
        return (
            f"{self.rule}(acl=StandardAcl(resourceType={resource_type.name}, resourceName={name}, "
            f"patternType={pattern_type.name}, principal={principal}, host={host}, operation={operation.name}, "
            f"permissionType={permission_type.name}))"
        )


BY_SUPER_USER: Final = AclDecision(True, SUPER_USER)
BY_DEFAULT_ALLOWED: Final = AclDecision(True, DEFAULT_ALLOW)
BY_DEFAULT_DENIED: Final = AclDecision(False, DEFAULT_DENY)
