"""Requests that ask an authorizer with thousands of ACLs thousands of times.

Its probes and loads are all ANONYMOUS, which ACLs restrict: what no ACL is about it may do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.brokers import Server
from benchmarks.stalls.client import FrameClient, check, metadata_request
from benchmarks.stalls.measure import PROBE_TOPIC, Scenario
from benchmarks.stalls.topics import create, names
from kafkapy.common.acl_types import ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.create_acls import CreateAclsRequest
from kafkapy.protocol.messages.delete_acls import DeleteAclsRequest
from kafkapy.protocol.messages.describe_acls import DescribeAclsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkapy.protocol.messages.list_groups import ListGroupsRequest
from kafkapy.protocol.messages.offset_commit import OffsetCommitRequest

AclCreation = CreateAclsRequest.AclCreation

TOPICS = 2000
ACLS = 2_000
GROUPS = 2000
ANONYMOUS = "User:ANONYMOUS"

_ONCE = 2000
"""ACLs that a request of the preparation makes."""


def _acl(kind: ResourceType, name: str, principal: str, operation: ACLOperation, prefixed: bool = False) -> AclCreation:
    pattern = ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL
    return AclCreation(
        resource_type=int(kind),
        resource_name=name,
        resource_pattern_type=int(pattern),
        principal=principal,
        host="*",
        operation=int(operation),
        permission_type=int(ACLPermissionType.ALLOW),
    )


def _create_acls(server: Server, creations: Sequence[AclCreation]) -> None:
    with FrameClient(server.port) as client:
        for result in client.call(CreateAclsRequest(creations=list(creations)), 2).results:
            check(result.error_code)


def _delete_acls(server: Server, principal: str | None) -> None:
    """All of the principal, or of all."""
    request = DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=int(ResourceType.ANY),
        resource_name_filter=None,
        pattern_type_filter=int(ACLResourcePatternType.ANY),
        principal_filter=principal,
        host_filter=None,
        operation=int(ACLOperation.ANY),
        permission_type=int(ACLPermissionType.ANY),
    )
    with FrameClient(server.port) as client:
        for result in client.call(DeleteAclsRequest(filters=[request]), 2).filter_results:
            check(result.error_code)


def _rights() -> Iterable[AclCreation]:
    """10,000: of four teams for each topic, and ANONYMOUS may read each second one, and describe each second group."""
    for number, name in enumerate(names(TOPICS)):
        for team in range(4):
            yield _acl(ResourceType.TOPIC, name, f"User:team-{team}-{number}", ACLOperation.READ)
        if number % 2:
            yield _acl(ResourceType.TOPIC, name, ANONYMOUS, ACLOperation.READ, prefixed=number % 4 == 1)
            yield _acl(ResourceType.TOPIC, name, ANONYMOUS, ACLOperation.DESCRIBE_CONFIGS)
    yield _acl(ResourceType.TOPIC, PROBE_TOPIC, ANONYMOUS, ACLOperation.ALL)


class _WithAcls(Scenario):
    broker = "ACLs"
    properties = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
    }

    def __init__(self, name: str) -> None:
        self.name = name


class CreatingAcls(_WithAcls):
    """Each on a name of its own, or all on one."""

    def __init__(self, name: str, one_name: bool = False) -> None:
        super().__init__(name)
        self._one_name = one_name

    def load(self, server: Server) -> None:
        creations = [
            _acl(ResourceType.TOPIC, "other" if self._one_name else f"other-{n}", f"User:u-{n}", ACLOperation.READ)
            for n in range(ACLS)
        ]
        _create_acls(server, creations)

    def clean(self, server: Server) -> None:
        _delete_acls(server, None)


class DeletingAcls(CreatingAcls):
    def prepare(self, server: Server) -> None:
        super().load(server)

    def load(self, server: Server) -> None:
        _delete_acls(server, None)

    def clean(self, server: Server) -> None:
        pass


class Asking(_WithAcls):
    """One request, so many times, beside 2,000 topics and 10,000 ACLs; `cold`: with another ACL before each."""

    def __init__(self, name: str, request: Message, version: int, times: int = 10, cold: bool = False) -> None:
        super().__init__(name)
        self._request, self._version, self._times, self._cold = request, version, times, cold

    def prepare(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            found = len(client.call(metadata_request(None), 9).topics)
        if found < TOPICS // 2:
            create(server, names(TOPICS))
            _commit_as_groups(server)
            rights = list(_rights())
            for begin in range(0, len(rights), _ONCE):
                _create_acls(server, rights[begin : begin + _ONCE])

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            frame = client.frame(self._request, self._version)
            for number in range(self._times):
                if self._cold:
                    _create_acls(server, [_acl(ResourceType.TOPIC, "cold", f"User:{number}", ACLOperation.READ)])
                client.socket.sendall(frame)
                client.receive()


def _commit_as_groups(server: Server) -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=0)
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name=PROBE_TOPIC, partitions=[partition])
    with FrameClient(server.port) as client:
        for number in range(GROUPS):
            client.ask(FindCoordinatorRequest(key="group-0", key_type=0), 2) if not number else None
            client.call(OffsetCommitRequest(group_id=f"group-{number}", topics=[topic]), 7)


def _describe_configs() -> Message:
    request = DescribeConfigsRequest
    resources = [
        request.DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        for name in names(TOPICS)
    ]
    return request(resources=resources, include_synonyms=True, include_documentation=True)


def _describe_acls(name: str | None = None) -> Message:
    return DescribeAclsRequest(
        resource_type_filter=int(ResourceType.ANY),
        resource_name_filter=name,
        pattern_type_filter=int(ACLResourcePatternType.MATCH),
        principal_filter=None,
        host_filter=None,
        operation=int(ACLOperation.ANY),
        permission_type=int(ACLPermissionType.ANY),
    )


def _metadata(named: bool, operations: bool = False) -> Message:
    request = metadata_request(names(TOPICS) if named else None)
    request.include_topic_authorized_operations = operations
    return request


def scenarios() -> list[Scenario]:
    return [
        CreatingAcls("ACLs: CreateAcls of 2,000 in a request"),
        DeletingAcls("ACLs: DeleteAcls of 2,000 in a request"),
        CreatingAcls("ACLs: CreateAcls of 2,000 of one topic", one_name=True),
        Asking("ACLs: Metadata of all by a restricted user, 10 times", _metadata(named=False), 9),
        Asking("ACLs: Metadata of all, each time with other ACLs", _metadata(named=False), 9, cold=True),
        Asking("ACLs: Metadata of 2,000 by name, half of them refused", _metadata(named=True), 9, cold=True),
        Asking("ACLs: Metadata of all with authorized operations", _metadata(False, True), 9, cold=True),
        Asking("ACLs: DescribeConfigs of 2,000, half of them refused", _describe_configs(), 3, 3, cold=True),
        Asking("ACLs: DescribeAcls of all", _describe_acls(), 2),
        Asking("ACLs: DescribeAcls that match a name", _describe_acls("stalls-00001"), 2),
        Asking("ACLs: ListGroups of 2,000 by a restricted user", ListGroupsRequest(), 3, cold=True),
    ]
