"""Users and ACLs of a secured cluster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from kafkapy.common.acl_types import (
    CLUSTER_NAME,
    WILDCARD_HOST,
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
)
from kafkapy.testing.broker_process import BrokerProcess
from kafkapy.testing.cluster_security import ADMIN, PYTHON, ClusterSecurity, Options, open_options
from kafkapy.testing.server_process import START_SECONDS, ClusterError
from kafkapy.testing.waiting import wait_until

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

Operations = str | ACLOperation | Sequence[str | ACLOperation]


class Access:
    """The part of a cluster that manages users. `_security` None: the cluster has no security; everything is
    allowed."""

    brokers: list[BrokerProcess]
    _security: ClusterSecurity | None = None

    @property
    def admin(self) -> AdminClient:
        raise NotImplementedError

    @property
    def bootstrap_servers(self) -> str:
        raise NotImplementedError

    @property
    def users(self) -> list[str]:
        """The users that can log in; empty if the cluster is not secured."""
        return [] if self._security is None else self._security.users

    def client_options(self, user: str = ADMIN, style: str = PYTHON) -> Options:
        """Return the options of a client of this user: addresses and, if the cluster is secured, credentials.

        Args:
            user: One of `users`; "admin" may do everything.
            style: Which client's option names: "python" (kafkapy, kafka-python), "aiokafka", "confluent", "java".

        Raises:
            ValueError: There is no such user, or no such style.
        """
        servers = self.bootstrap_servers
        return open_options(servers, style) if self._security is None else self._security.options(user, servers, style)

    def create_user(self, user: str, password: str | None = None) -> None:
        """Create a user with a password. Returns when every broker accepts it.

        Args:
            user: Name of the user.
            password: The password. None (default): a random one.
        """
        security = self._secured()
        security.add(user, password)
        security.create_users(self.admin, [user])
        self.wait_until_let_in([user])

    def wait_until_let_in(self, users: Sequence[str]) -> None:
        """Wait until every broker knows the users' passwords.

        Args:
            users: Names of the users.
        """
        for broker, user in product(self.brokers, users):
            told = f"{broker.name} lets {user} in"
            wait_until(partial(self._lets_in, broker, user), START_SECONDS, partial(str, told))

    def _lets_in(self, broker: BrokerProcess, user: str) -> bool:
        from kafkapy.clients.blocking_client import BlockingClient
        from kafkapy.clients.config import ClientConfig
        from kafkapy.errors import SaslAuthenticationFailedError
        from kafkapy.protocol.messages.metadata import MetadataRequest

        options = self._secured().options(user, broker.address)
        del options["bootstrap_servers"]
        with BlockingClient(broker.port.host, broker.port.port, ClientConfig(**options)) as client:
            try:
                client.call(MetadataRequest(topics=[]))
            except SaslAuthenticationFailedError:
                return False
        return True

    def allow(self, user: str, operation: Operations = "ALL", **resource: Any) -> None:
        """Allow a user an operation on a resource. Returns when every broker has the ACL.

        Args:
            user: "alice", or "*" for every user.
            operation: "READ", "WRITE", ...; or several of them.
            resource: One of `topic="t"`, `group="g"`, `transactional_id="x"`, `cluster=True`; `prefixed=True` for all
                resources whose names have this prefix; `host="10.0.0.1"` for clients at that address alone.

        Raises:
            KafkaError: The brokers refuse it.
            ValueError: There is no such operation.
        """
        self._create_acls(user, operation, ACLPermissionType.ALLOW, **resource)

    def deny(self, user: str, operation: Operations = "ALL", **resource: Any) -> None:
        """Deny a user an operation on a resource, even if another ACL allows it. Takes the arguments of `allow`.

        Args:
            user: As in `allow`.
            operation: As in `allow`. Default "ALL".
            resource: As in `allow`.
        """
        self._create_acls(user, operation, ACLPermissionType.DENY, **resource)

    def forget_acls(self, user: str | None = None) -> None:
        """Delete the ACLs of one user or of all. Returns when every broker has deleted them.

        Args:
            user: Name of the user. None (default): all.
        """
        from kafkapy.admin.results import values_of

        self._secured()
        principal = None if user is None else f"User:{user}"
        wanted = AclBindingFilter(AclPatternFilter(), AccessControlEntryFilter(principal))
        values_of(self.admin.delete_acls([wanted]))
        self._until_all(wanted, set())

    def _create_acls(self, user: str, operation: Operations, permission: ACLPermissionType, **resource: Any) -> None:
        from kafkapy.admin.results import values_of

        self._secured()
        host = resource.pop("host", WILDCARD_HOST)
        pattern = _pattern(**resource)
        operations = [operation] if isinstance(operation, str | ACLOperation) else operation
        entries = [AccessControlEntry(f"User:{user}", host, _operation(each), permission) for each in operations]
        acls = {AclBinding(pattern, entry) for entry in entries}
        values_of(self.admin.create_acls(acls))
        self._until_all(AclBindingFilter(AclPatternFilter(*pattern)), acls)

    def _until_all(self, acl_filter: AclBindingFilter, acls: set[AclBinding]) -> None:
        """Wait until each broker has these ACLs; if `acls` is empty, until no broker has one that matches the
        filter."""
        from kafkapy.admin.client import AdminClient

        for broker in [broker for broker in self.brokers if broker.is_running]:
            options = self._secured().options(ADMIN, broker.address)
            told = f"{broker.name} has the ACLs"
            with AdminClient(**options) as admin:  # it queries the given broker until it fetches metadata
                wait_until(partial(_knows, admin, acl_filter, acls), START_SECONDS, partial(str, told))

    def _secured(self) -> ClusterSecurity:
        if self._security is None:
            raise ClusterError("the cluster is open to all; secured=True closes it")
        return self._security


def _knows(admin: AdminClient, acl_filter: AclBindingFilter, acls: set[AclBinding]) -> bool:
    found = set(admin.describe_acls(acl_filter))
    return acls <= found if acls else not found


def _operation(operation: str | ACLOperation) -> ACLOperation:
    if isinstance(operation, ACLOperation):
        return operation
    try:
        return ACLOperation[operation.upper()]
    except KeyError:
        known = ", ".join(each.name for each in ACLOperation if each > ACLOperation.ANY)
        raise ValueError(f"there is no operation {operation}; those there are: {known}") from None


def _pattern(
    *,
    topic: str | None = None,
    group: str | None = None,
    transactional_id: str | None = None,
    cluster: bool = False,
    prefixed: bool = False,
) -> AclPattern:
    named = [
        (ResourceType.TOPIC, topic),
        (ResourceType.GROUP, group),
        (ResourceType.TRANSACTIONAL_ID, transactional_id),
        (ResourceType.CLUSTER, CLUSTER_NAME if cluster else None),
    ]
    given = [(kind, name) for kind, name in named if name is not None]
    if len(given) != 1:
        raise ValueError("say one of topic, group, transactional_id and cluster")
    ((kind, name),) = given
    return AclPattern(kind, name, ACLResourcePatternType.PREFIXED if prefixed else ACLResourcePatternType.LITERAL)
