"""The stores in which kafka-acls reads and changes ACLs: brokers, or ZooKeeper while no broker runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, Self

from kafkapy.admin.results import values_of
from kafkapy.common.acl_types import AclBinding, AclBindingFilter
from kafkapy.tools.common.admin_access import admin_client
from kafkapy.tools.common.command_line import Options, ToolError, integer
from kafkapy.tools.zookeeper.tls import tool_authorizer_security
from kafkapy.zk.client_security import ZkClientSecurity

if TYPE_CHECKING:
    from kafkapy.server.api_error import ApiError

ACL_AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
_PREFIX: Final = "authorizer."
_SESSION_TIMEOUT_MS: Final = 18_000


class AclUpdateError(ToolError):
    """An update failed; the ACLs in ZooKeeper are unchanged."""


class AclStore(Protocol):
    """Reads and changes ACLs; a context manager. Its methods raise KafkaError."""

    def describe(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]: ...

    def create(self, acls: Sequence[AclBinding]) -> None: ...

    def delete(self, filters: Sequence[AclBindingFilter]) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class BrokerAcls:
    """The ACLs of the brokers of --bootstrap-server."""

    def __init__(self, options: Options) -> None:
        self._admin = admin_client(options, options.value("bootstrap-server"))

    def describe(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]:
        return self._admin.describe_acls(acl_filter)

    def create(self, acls: Sequence[AclBinding]) -> None:
        values_of(self._admin.create_acls(acls))

    def delete(self, filters: Sequence[AclBindingFilter]) -> None:
        for deleted in values_of(self._admin.delete_acls(filters)).values():
            values_of(deleted)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._admin.close()


class ZooKeeperAcls:
    """The ACLs in the ZooKeeper of --authorizer-properties, written and announced as a broker does it.

    Invariant: `_authorizer` follows changes in ZooKeeper until the end of the `with`.
    """

    def __init__(self, options: Options) -> None:
        """Connect. Raises ToolError."""
        from kafkapy.common.time import SystemTime
        from kafkapy.network.request import RequestContext
        from kafkapy.server.security.acl_authorizer import AclAuthorizer
        from kafkapy.zk.acl_store import ZkAclStore
        from kafkapy.zk.errors import ZooKeeperError
        from kafkapy.zk.kafka_zk_client import KafkaZkClient

        place = _zookeeper_of(options)
        time = SystemTime()
        self._context = RequestContext("kafka-acls", "/127.0.0.1", "NONE")
        try:
            client = KafkaZkClient.connect(
                place.connect,
                place.session_timeout_ms,
                place.connection_timeout_ms,
                time=time,
                security=place.security,
                secure_acls=place.secure_acls,
            )
            self._authorizer = AclAuthorizer(ZkAclStore(client, time, close_client=True), time=time)
            self._authorizer.startup()
        except ZooKeeperError as error:
            raise ToolError(str(error)) from error

    def describe(self, acl_filter: AclBindingFilter) -> Iterable[AclBinding]:
        return self._authorizer.acls(acl_filter)

    def create(self, acls: Sequence[AclBinding]) -> None:
        for result in self._authorizer.create_acls(self._context, acls):
            _raise("adding", result)

    def delete(self, filters: Sequence[AclBindingFilter]) -> None:
        for deletions in self._authorizer.delete_acls(self._context, filters):
            for deletion in deletions:
                _raise("removing", deletion.error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._authorizer.shutdown()


def _raise(doing: str, result: ApiError) -> None:
    if result.code:
        raise AclUpdateError(f"Error while {doing} ACLs: {result.message or result.error.message}")


class _AclZooKeeper(NamedTuple):
    """The ZooKeeper that has the ACLs, and the settings of the connection. Times in ms."""

    connect: str
    session_timeout_ms: int
    connection_timeout_ms: int
    security: ZkClientSecurity
    secure_acls: bool


def _zookeeper_of(options: Options) -> _AclZooKeeper:
    """The settings from --authorizer-properties, --zk-tls-config-file and `KAFKA_OPTS`. Raises ToolError."""
    class_name = options.value("authorizer")
    if class_name != ACL_AUTHORIZER:
        raise ToolError(f"{class_name}: without brokers only ACLs of {ACL_AUTHORIZER} can be reached")
    properties = _authorizer_properties(options)
    connect = properties.get(f"{_PREFIX}zookeeper.url") or properties.get("zookeeper.connect")
    if not connect:
        raise ToolError("Missing required configuration `zookeeper.connect` which has no default value.")
    session_timeout_ms = _milliseconds(properties, "zookeeper.session.timeout.ms", _SESSION_TIMEOUT_MS)
    security = tool_authorizer_security(properties, options.value("zk-tls-config-file"), _PREFIX)
    set_acl = properties.get("zookeeper.set.acl")
    return _AclZooKeeper(
        connect,
        session_timeout_ms,
        _milliseconds(properties, "zookeeper.connection.timeout.ms", session_timeout_ms),
        security,
        security.user is not None if set_acl is None else set_acl.strip().lower() == "true",
    )


def _authorizer_properties(options: Options) -> dict[str, str]:
    properties: dict[str, str] = {}
    for pair in options.values("authorizer-properties"):
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise ToolError(f"Missing value for key {name}")
        properties[name] = value
    return properties


def _milliseconds(properties: Mapping[str, str], name: str, default: int) -> int:
    """The property's value; the name with the authorizer's prefix takes precedence, as in the broker."""
    for key in (_PREFIX + name, name):
        if key in properties:
            try:
                return integer(properties[key])
            except ValueError:
                raise ToolError(f"{key}={properties[key]} is no number") from None
    return default
