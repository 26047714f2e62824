"""ACLs: describe, create, delete (Kafka's `AclApis`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
    from_code,
)
from kafkapy.network.request import Request
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.create_acls import CreateAclsRequest, CreateAclsResponse
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest, DeleteAclsResponse
from kafkapy.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kafkapy.runtime.clock import InThread
from kafkapy.server.api_error import NO_ERROR, ApiError, CloseConnection
from kafkapy.server.authorizer import CLUSTER_NAME, AclDeletion, Authorizer


@dataclass(eq=False)
class AclsHandler:
    """Checks requests and calls the authorizer in a thread, because that may read ZooKeeper and many ACLs."""

    _authorizer: Authorizer
    _in_thread: InThread

    async def handle_describe_acls(self, request: Request) -> DescribeAclsResponse:
        body: DescribeAclsRequest = request.body
        self._require_authorizer("No Authorizer is configured on the broker")
        if 0 in (body.resource_type_filter, body.pattern_type_filter, body.operation, body.permission_type):
            raise CloseConnection(f"DescribeAclsRequest contains UNKNOWN elements: {body}")
        self._require(request, ACLOperation.DESCRIBE)
        response: DescribeAclsResponse = await self._in_thread(self._describe, _filter_of(body))
        return response

    def _describe(self, acl_filter: AclBindingFilter) -> DescribeAclsResponse:
        resources: dict[AclPattern, DescribeAclsResponse.DescribeAclsResource] = {}
        for binding in self._authorizer.acls(acl_filter):
            if binding.is_unknown:
                continue  # written by a later release; clients reject a response with it
            (resource_type, name, pattern_type), (principal, host, operation, permission_type) = binding
            found = resources.get(binding.pattern)
            if found is None:
                found = resources[binding.pattern] = DescribeAclsResponse.DescribeAclsResource(
                    resource_type=int(resource_type), resource_name=name, pattern_type=int(pattern_type)
                )
            found.acls.append(
                DescribeAclsResponse.AclDescription(
                    principal=principal, host=host, operation=int(operation), permission_type=int(permission_type)
                )
            )
        return DescribeAclsResponse(resources=list(resources.values()))

    async def handle_create_acls(self, request: Request) -> CreateAclsResponse:
        """Create each ACL separately. As in Kafka, all fail if one has a value that only filters may have."""
        self._require_authorizer("No Authorizer is configured.")
        bindings = await self._in_thread(_bindings, request.body)
        self._require(request, ACLOperation.ALTER)
        response: CreateAclsResponse = await self._in_thread(self._create, request, bindings)
        return response

    def _create(self, request: Request, bindings: list[AclBinding]) -> CreateAclsResponse:
        for binding in bindings:
            if (reason := _why_no_acl(binding)) is not None:
                raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, reason)
        results = [_why_misnamed(binding.pattern) for binding in bindings]
        valid = [index for index, result in enumerate(results) if result is NO_ERROR]
        created = self._authorizer.create_acls(request.context, [bindings[index] for index in valid])
        for index, result in zip(valid, created, strict=True):
            results[index] = result
        return CreateAclsResponse(
            results=[
                # Kafka sends an empty message for a created ACL, and null for a deleted one.
                CreateAclsResponse.AclCreationResult()
                if result is NO_ERROR
                else CreateAclsResponse.AclCreationResult(error_code=result.code, error_message=result.message)
                for result in results
            ]
        )

    async def handle_delete_acls(self, request: Request) -> DeleteAclsResponse:
        """Return for each filter the ACLs that it deleted."""
        self._require_authorizer("No Authorizer is configured.")
        filters = await self._in_thread(_filters, request.body)
        self._require(request, ACLOperation.ALTER)
        response: DeleteAclsResponse = await self._in_thread(self._delete, request, filters)
        return response

    def _delete(self, request: Request, filters: list[AclBindingFilter]) -> DeleteAclsResponse:
        deleted = self._authorizer.delete_acls(request.context, filters)
        return DeleteAclsResponse(
            filter_results=[
                DeleteAclsResponse.DeleteAclsFilterResult(error_message=None, matching_acls=_matching(deletions))
                for deletions in deleted
            ]
        )

    def _require_authorizer(self, message: str) -> None:
        if not self._authorizer.enabled:
            raise KafkaError(Errors.SECURITY_DISABLED, message)

    def _require(self, request: Request, operation: ACLOperation) -> None:
        if not self._authorizer.authorize(request.context, operation, ResourceType.CLUSTER, CLUSTER_NAME):
            raise KafkaError(Errors.CLUSTER_AUTHORIZATION_FAILED)


def _bindings(body: CreateAclsRequest) -> list[AclBinding]:
    """Raise CloseConnection for the code of UNKNOWN, 0, as Kafka does; undefined codes get error responses."""
    for asked in body.creations:
        if 0 in (asked.resource_type, asked.resource_pattern_type, asked.operation, asked.permission_type):
            raise CloseConnection(f"CreatableAcls contain unknown elements: {asked}")
    return [_binding_of(asked) for asked in body.creations]


def _filters(body: DeleteAclsRequest) -> list[AclBindingFilter]:
    """Raise CloseConnection as `_bindings` does."""
    for asked in body.filters:
        if 0 in (asked.resource_type_filter, asked.pattern_type_filter, asked.operation, asked.permission_type):
            raise CloseConnection(f"Filters contain UNKNOWN elements, filters: {asked}")
    return [_filter_of(asked) for asked in body.filters]


def _filter_of(asked: DescribeAclsRequest | DeleteAclsRequest.DeleteAclsFilter) -> AclBindingFilter:
    return AclBindingFilter(
        AclPatternFilter(
            from_code(ResourceType, asked.resource_type_filter),
            asked.resource_name_filter,
            from_code(ACLResourcePatternType, asked.pattern_type_filter),
        ),
        AccessControlEntryFilter(
            asked.principal_filter,
            asked.host_filter,
            from_code(ACLOperation, asked.operation),
            from_code(ACLPermissionType, asked.permission_type),
        ),
    )


def _binding_of(creation: CreateAclsRequest.AclCreation) -> AclBinding:
    return AclBinding(
        AclPattern(
            from_code(ResourceType, creation.resource_type),
            creation.resource_name,
            from_code(ACLResourcePatternType, creation.resource_pattern_type),
        ),
        AccessControlEntry(
            creation.principal,
            creation.host,
            from_code(ACLOperation, creation.operation),
            from_code(ACLPermissionType, creation.permission_type),
        ),
    )


def _why_no_acl(binding: AclBinding) -> str | None:
    """Return the reason if the binding has a value that only filters may have."""
    if binding.pattern.resource_type is ResourceType.ANY:
        return "resourceType must not be ANY"
    if binding.pattern.pattern_type in (ACLResourcePatternType.ANY, ACLResourcePatternType.MATCH):
        return f"patternType must not be {binding.pattern.pattern_type.name}"
    if binding.entry.operation is ACLOperation.ANY:
        return "operation must not be ANY"
    if binding.entry.permission_type is ACLPermissionType.ANY:
        return "permissionType must not be ANY"
    return None


def _why_misnamed(pattern: AclPattern) -> ApiError:
    if pattern.resource_type is ResourceType.CLUSTER and pattern.name != CLUSTER_NAME:
        return ApiError(Errors.INVALID_REQUEST, f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not pattern.name:
        return ApiError(Errors.INVALID_REQUEST, "Invalid empty resource name")
    return NO_ERROR


def _matching(deletions: Iterable[AclDeletion]) -> list[Any]:
    return [
        DeleteAclsResponse.DeleteAclsMatchingAcl(
            error_code=error.code,
            error_message=error.message,
            resource_type=int(binding.pattern.resource_type),
            resource_name=binding.pattern.name,
            pattern_type=int(binding.pattern.pattern_type),
            principal=binding.entry.principal,
            host=binding.entry.host,
            operation=int(binding.entry.operation),
            permission_type=int(binding.entry.permission_type),
        )
        for binding, error in deletions
        if not binding.is_unknown
    ]
