"""Access control lists: describe, create, delete (KIP-140)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafkapy.admin.results import Results, failure_of, raise_failure, told
from kafkapy.admin.router import Router
from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
    from_code,
)
from kafkapy.protocol.messages.create_acls import CreateAclsRequest
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest
from kafkapy.protocol.messages.describe_acls import DescribeAclsRequest

_USERS_VERSION = 3
"""The first version of the three APIs with resources of type USER."""


class AclOperations(Router):
    async def describe_acls(
        self, acl_filter: AclBindingFilter | None = None, timeout_ms: int | None = None
    ) -> list[AclBinding]:
        """Return the ACLs that match; all without a filter. `KafkaError` SECURITY_DISABLED: the brokers have no
        authorizer."""
        wanted = acl_filter or AclBindingFilter()
        (kind, name, pattern_type), (principal, host, operation, permission_type) = wanted
        request = DescribeAclsRequest(
            resource_type_filter=kind,
            resource_name_filter=name,
            pattern_type_filter=pattern_type,
            principal_filter=principal,
            host_filter=host,
            operation=operation,
            permission_type=permission_type,
        )
        answer = await self.on_any(self.call("describeAcls", timeout_ms), request, min_version=_lowest([kind]))
        raise_failure(answer.response)
        return [_binding(resource, acl) for resource in answer.response.resources for acl in resource.acls]

    async def create_acls(self, acls: Iterable[AclBinding], timeout_ms: int | None = None) -> Results[AclBinding, None]:
        """Create ACLs; return ACL -> None, or the error."""
        wanted = list(dict.fromkeys(acls))
        request = CreateAclsRequest(
            creations=[
                CreateAclsRequest.AclCreation(
                    resource_type=pattern.resource_type,
                    resource_name=pattern.name,
                    resource_pattern_type=pattern.pattern_type,
                    principal=entry.principal,
                    host=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in wanted
            ]
        )
        version = _lowest([binding.pattern.resource_type for binding in wanted])
        answer = await self.on_any(self.call("createAcls", timeout_ms), request, min_version=version)
        results = map(failure_of, answer.response.results)
        return told(dict(zip(wanted, results, strict=False)), wanted, "broker", "ACL creation")

    async def delete_acls(
        self, filters: Iterable[AclBindingFilter], timeout_ms: int | None = None
    ) -> Results[AclBindingFilter, Results[AclBinding, None]]:
        """Delete ACLs; return filter -> matching ACL -> None or the error; or filter -> the error of the filter."""
        wanted = list(dict.fromkeys(filters))
        request = DeleteAclsRequest(
            filters=[
                DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=pattern.resource_type,
                    resource_name_filter=pattern.name,
                    pattern_type_filter=pattern.pattern_type,
                    principal_filter=entry.principal,
                    host_filter=entry.host,
                    operation=entry.operation,
                    permission_type=entry.permission_type,
                )
                for pattern, entry in wanted
            ]
        )
        version = _lowest([acl_filter.pattern_filter.resource_type for acl_filter in wanted])
        answer = await self.on_any(self.call("deleteAcls", timeout_ms), request, min_version=version)
        results: Results[AclBindingFilter, Results[AclBinding, None]] = {}
        for acl_filter, result in zip(wanted, answer.response.filter_results, strict=False):
            deleted: Results[AclBinding, None] = {_binding(acl, acl): failure_of(acl) for acl in result.matching_acls}
            results[acl_filter] = failure_of(result) or deleted
        return told(results, wanted, "broker", "filter")


def _lowest(resource_types: Sequence[ResourceType]) -> int:
    return _USERS_VERSION if ResourceType.USER in resource_types else 0


def _binding(resource: Any, acl: Any) -> AclBinding:
    pattern = AclPattern(
        from_code(ResourceType, resource.resource_type),
        resource.resource_name,
        from_code(ACLResourcePatternType, resource.pattern_type),
    )
    entry = AccessControlEntry(
        acl.principal,
        acl.host,
        from_code(ACLOperation, acl.operation),
        from_code(ACLPermissionType, acl.permission_type),
    )
    return AclBinding(pattern, entry)
