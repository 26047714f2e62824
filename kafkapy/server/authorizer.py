"""The authorizer's interface (KIP-11, KIP-504): every handler calls it before it changes or discloses anything."""

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
    """An ACL that a filter of DeleteAcls matched, and the error if it was not deleted."""

    binding: AclBinding
    error: ApiError = NO_ERROR


class Authorizer:
    """Decides whether a request's sender may do an operation. Base class of custom authorizers; only `authorize` is
    required.

    Operations and resource types are the admin client's: `ACLOperation` and `ResourceType` of
    `kafkapy.common.acl_types`, public in `kafkapy.admin`. `authorize` and the methods that call it run on the reactor's thread
    and must not block; methods about ACLs run in other threads and may block.

    Example:
        >>> class OnlyOwnTopics(Authorizer):
        ...     def authorize(self, context, operation, resource_type, name, **options):
        ...         return resource_type is not ResourceType.TOPIC or name.startswith(context.principal.name)
    """

    enabled = True
    """False: everything is allowed, so callers may skip the check."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Called first, with all properties of the broker's file. Raises `ConfigException` for an invalid one."""

    def startup(self) -> None:
        """Called before the broker accepts connections; may block. An exception stops the broker."""

    def shutdown(self) -> None:
        """Called after the broker has closed its connections; may block."""

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
        """Return whether the sender may do the operation on the resource.

        Args:
            context: The sender's principal and address, and the request's API.
            operation: The operation, for example `ACLOperation.READ`.
            resource_type: The resource's type, for example `ResourceType.TOPIC`.
            name: The resource's name.
            log_if_allowed: False if nothing is done with the permission, for example because all permissions are
                looked up.
            log_if_denied: False if the sender has not named this resource, for example because it asks for all.
            count: How many times the request names the resource, for the log.
        """
        raise NotImplementedError

    def authorize_by_resource_type(
        self, context: RequestContext, operation: ACLOperation, resource_type: ResourceType
    ) -> bool:
        """Return whether the sender may do the operation on at least one resource of the type (KIP-679).

        An idempotent producer requires WRITE on any topic. By default `authorize` is tried with a name that hardly any
        ACL matches, and then the ACLs of `acls` are checked. An authorizer without ACLs overrides this method.
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
        """Return the names of resources on which the sender may do the operation; each name is checked once."""
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
        """Return the sender's permitted operations on the resource: a bit for each operation's code (KIP-430)."""
        allowed = 0
        for operation, bit in _SUPPORTED[resource_type]:
            if self.authorize(context, operation, resource_type, name, log_if_allowed=False, log_if_denied=False):
                allowed |= bit
        return allowed

    # --- ACLs ---------------------------------------------------------------------------------------------------------

    def acls(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]:
        """Return the ACLs that match the filter.

        Raises:
            KafkaError: SECURITY_DISABLED if there are no ACLs, which is the default.
        """
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")

    def create_acls(self, context: RequestContext, bindings: Sequence[AclBinding]) -> list[ApiError]:
        """Add the ACLs and return an error for each. Raises as `acls` does."""
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")

    def delete_acls(self, context: RequestContext, filters: Sequence[AclBindingFilter]) -> list[list[AclDeletion]]:
        """Delete the matching ACLs; return for each filter those that no earlier filter matched. Raises as `acls`
        does."""
        raise KafkaError(Errors.SECURITY_DISABLED, "This authorizer has no ACLs")


class AllowAll(Authorizer):
    """The authorizer if `authorizer.class.name` is not set: everything is allowed, as in Kafka."""

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
    """Return the sender's address in the form used by ACLs (Java's `getHostAddress`)."""
    return context.client_host.removeprefix("/")
