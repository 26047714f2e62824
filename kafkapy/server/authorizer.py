"""The seam where ACLs come in (KIP-11, KIP-504): every handler asks before it acts or reveals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafkapy.common.acl_types import CLUSTER_NAME as CLUSTER_NAME
from kafkapy.common.acl_types import (
    SUPPORTED_OPERATIONS,
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ResourceType,
)
from kafkapy.network.request import RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.security.acl.acl_index import AclIndex
from kafkapy.server.api_error import NO_ERROR, ApiError

_SUPPORTED: Final = {
    resource_type: tuple((operation, 1 << operation) for operation in operations)
    for resource_type, operations in SUPPORTED_OPERATIONS.items()
}
SUPPORTED_BITS: Final = {
    resource_type: sum(bit for _, bit in operations) for resource_type, operations in _SUPPORTED.items()
}
"""A bit for each operation that a resource of the type has."""


class AclDeletion(NamedTuple):
    """An ACL that a filter of a DeleteAcls matched, and what became of it."""

    binding: AclBinding
    error: ApiError = NO_ERROR


class Authorizer:
    """May this sender do that? Base class of those of one's own, too: only `authorize` has to be defined.

    Operations and resource types are those that the admin client has, too: `ACLOperation` and `ResourceType` of
    `kafkapy.common.acl_types`, public in `kafkapy.admin`. `authorize` and the methods that call it run on the reactor's thread
    and must not block; methods about ACLs run in other threads and may block.

    Example:
        >>> class OnlyOwnTopics(Authorizer):
        ...     def authorize(self, context, operation, resource_type, name, **options):
        ...         return resource_type is not ResourceType.TOPIC or name.startswith(context.principal.name)
    """

    enabled = True
    """False: everything is allowed, and nothing need be asked."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Called first, with all of the broker's properties as they are in its file; `ConfigException` for one that is wrong."""

    def startup(self) -> None:
        """Called before the broker serves; may block. What it raises ends the broker."""

    def shutdown(self) -> None:
        """Called when the broker has stopped serving; may block."""

    # --- decisions ----------------------------------------------------------------------------------------------------

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
        count: int = 1,
    ) -> bool:
        """May the sender do that to the resource?

        Args:
            context: The sender's principal and address, and what it asks for.
            operation: What it asks to do, for example `ACLOperation.READ`.
            resource_type: What kind of resource it is, for example `ResourceType.TOPIC`.
            name: The resource's.
            log_if_allowed: False if nothing is done by that right, for example because all rights are looked up.
            log_if_denied: False if the sender has not asked for this resource, for example because it asks for all there are.
            count: How often the request names the resource, for the log.
        """
        raise NotImplementedError

    def authorize_by_resource_type(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType
    ) -> bool:
        """May the sender do that to at least one resource of the type (KIP-679)?

        An idempotent producer needs it for WRITE and TOPIC. By default: to one with a name that hardly any ACL is about, or by
        what `acls` has. An authorizer without ACLs defines it.
        """
        if self.authorize(context, operation, resource_type, "hardcode", log_if_denied=False):
            return True
        entries: dict[AclPattern, list[AccessControlEntry]] = {}
        try:
            bindings = self.acls(AclBindingFilter(AclPatternFilter(resource_type)))
        except KafkaError as error:
            if error.error is not Errors.SECURITY_DISABLED:
                raise
            return False
        for binding in bindings:
            entries.setdefault(binding.pattern, []).append(binding.entry)
        host = host_of(context)
        return AclIndex(entries).decide_by_resource_type(context.principal, host, operation, resource_type).allowed

    def filter_authorized(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        names: Iterable[str],
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
    ) -> set[str]:
        """Those of the names that the sender may do it to; each is asked for once."""
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        return {
            name
            for name, count in counts.items()
            if self.authorize(
                context,
                operation,
                resource_type,
                name,
                log_if_allowed=log_if_allowed,
                log_if_denied=log_if_denied,
                count=count,
            )
        }

    def authorized_operations(self, context: RequestContext, resource_type: ResourceType, name: str) -> int:
        """What the sender may do with the resource: a bit for each operation's code (KIP-430)."""
        allowed = 0
        for operation, bit in _SUPPORTED[resource_type]:
            if self.authorize(context, operation, resource_type, name, log_if_allowed=False, log_if_denied=False):
                allowed |= bit
        return allowed

    # --- ACLs ---------------------------------------------------------------------------------------------------------

    def acls(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]:
        """Those that match.

        Raises:
            KafkaError: SECURITY_DISABLED if there are no ACLs, which is the default.
        """
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")

    def create_acls(self, context: RequestContext, bindings: Sequence[AclBinding]) -> list[ApiError]:
        """Add them; what became of each. Raises as `acls` does."""
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")

    def delete_acls(self, context: RequestContext, filters: Sequence[AclBindingFilter]) -> list[list[AclDeletion]]:
        """Delete what matches; for each filter the ACLs that it was the first to match. Raises as `acls` does."""
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")


class AllowAll(Authorizer):
    """No `authorizer.class.name`: everything is allowed, as in Kafka."""

    enabled = False

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        *,
        log_if_allowed: bool = True,
        log_if_denied: bool = True,
        count: int = 1,
    ) -> bool:
        return True


def host_of(context: RequestContext) -> str:
    """The sender's address, as ACLs have it (Java's `getHostAddress`)."""
    return context.client_host.removeprefix("/")
