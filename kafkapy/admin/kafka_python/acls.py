"""Access control lists: describe, create, delete."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkapy.admin.acl_types import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourceType,
)
from kafkapy.admin.kafka_python.base import ErrorClass, Face, error_class, raise_code
from kafkapy.errors import IllegalArgumentError, NoError
from kafkapy.protocol.messages.create_acls import CreateAclsRequest
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest
from kafkapy.protocol.messages.describe_acls import DescribeAclsRequest

_USERS_VERSION = 3
"""The first version of the three APIs with resources of type USER."""


class AclMethods(Face):
    async def describe_acls(self, acl_filter: ACLFilter) -> tuple[list[ACL], ErrorClass]:
        """Return the ACLs that match, and `NoError`. Raises SecurityDisabledError if the brokers have no authorizer.

        Args:
            acl_filter: Which ACLs are returned.
        """
        pattern = acl_filter.resource_pattern
        request = DescribeAclsRequest(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.resource_name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=acl_filter.principal,
            host_filter=acl_filter.host,
            operation=acl_filter.operation,
            permission_type=acl_filter.permission_type,
        )
        response = (await self._any(request, min_version=_lowest([acl_filter]))).response
        raise_code(response.error_code, response.error_message)
        return [_acl(resource, acl) for resource in response.resources for acl in resource.acls], NoError

    async def create_acls(self, acls: Sequence[ACL]) -> dict[str, list[Any]]:
        """Create ACLs; return {succeeded: [ACL], failed: [error class]}.

        Args:
            acls: The rules to add.
        """
        if not all(isinstance(acl, ACL) for acl in acls):
            raise IllegalArgumentError("acls must contain ACL objects")
        request = CreateAclsRequest(
            creations=[
                CreateAclsRequest.AclCreation(
                    resource_type=acl.resource_pattern.resource_type,
                    resource_name=acl.resource_pattern.resource_name or "",
                    resource_pattern_type=acl.resource_pattern.pattern_type,
                    principal=acl.principal or "",
                    host=acl.host or "",
                    operation=acl.operation,
                    permission_type=acl.permission_type,
                )
                for acl in acls
            ]
        )
        response = (await self._any(request, min_version=_lowest(acls))).response
        outcome: dict[str, list[Any]] = {"succeeded": [], "failed": []}
        for acl, result in zip(acls, response.results, strict=False):
            if result.error_code:
                outcome["failed"].append(error_class(result.error_code))
            else:
                outcome["succeeded"].append(acl)
        return outcome

    async def delete_acls(self, acl_filters: Sequence[ACLFilter]) -> list[tuple[ACLFilter, list[ACL], ErrorClass]]:
        """Delete ACLs; return for each filter: the filter, the deleted ACLs, and an error class (`NoError` for
        success).

        Args:
            acl_filters: Each ACL that matches one of them is deleted.
        """
        if not all(isinstance(acl_filter, ACLFilter) for acl_filter in acl_filters):
            raise IllegalArgumentError("acl_filters must contain ACLFilter objects")
        request = DeleteAclsRequest(
            filters=[
                DeleteAclsRequest.DeleteAclsFilter(
                    resource_type_filter=acl_filter.resource_pattern.resource_type,
                    resource_name_filter=acl_filter.resource_pattern.resource_name,
                    pattern_type_filter=acl_filter.resource_pattern.pattern_type,
                    principal_filter=acl_filter.principal,
                    host_filter=acl_filter.host,
                    operation=acl_filter.operation,
                    permission_type=acl_filter.permission_type,
                )
                for acl_filter in acl_filters
            ]
        )
        response = (await self._any(request, min_version=_lowest(acl_filters))).response
        return [
            (acl_filter, [_acl(acl, acl) for acl in result.matching_acls], error_class(result.error_code))
            for acl_filter, result in zip(acl_filters, response.filter_results, strict=False)
        ]


def _lowest(filters: Sequence[ACLFilter]) -> int:
    users = any(acl_filter.resource_pattern.resource_type is ResourceType.USER for acl_filter in filters)
    return _USERS_VERSION if users else 0


def _acl(resource: Any, acl: Any) -> ACL:
    return ACL(
        principal=acl.principal,
        host=acl.host,
        operation=ACLOperation(acl.operation),
        permission_type=ACLPermissionType(acl.permission_type),
        resource_pattern=ResourcePattern(
            ResourceType(resource.resource_type),
            resource.resource_name,
            ACLResourcePatternType(resource.pattern_type),
        ),
    )
