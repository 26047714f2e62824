"""ACLs in ZooKeeper, in Kafka's bytes (`ZkAclStore`, `ZkAclChangeStore`, `AclEntry`).

| node | data |
| --- | --- |
| /kafka-acl/<Type>/<name> | JSON: the entries of a literal pattern |
| /kafka-acl-extended/prefixed/<Type>/<prefix> | JSON: the entries of a prefix |
| /kafka-acl-changes/acl_changes_<number> | text `TYPE:name`: a literal pattern has changed |
| /kafka-acl-extended-changes/acl_changes_<number> | JSON: a prefix has changed |
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple

from kafkapy.common.acl_types import (
    CONCRETE_PATTERN_TYPES,
    RESOURCE_TYPES,
    AccessControlEntry,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
    from_pascal_case,
    pascal_case,
)
from kafkapy.common.time import Time
from kafkapy.zk import paths
from kafkapy.zk.change_notifications import ZkNodeChangeNotificationListener
from kafkapy.zk.errors import NodeExistsError
from kafkapy.zk.kafka_zk_client import UNKNOWN_VERSION, KafkaZkClient
from kafkapy.zk.requests import Create, Delete, SetData
from kafkapy.zk.zk_data import decode_json, encode_json

log = logging.getLogger("kafkapy.security.authorizer.AclAuthorizer")

SEQUENCE_PREFIX: Final = "acl_changes_"
_LITERAL, _PREFIXED = ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED

ACL_PATHS: Final = {_LITERAL: "/kafka-acl", _PREFIXED: "/kafka-acl-extended/prefixed"}
CHANGE_PATHS: Final = {_LITERAL: "/kafka-acl-changes", _PREFIXED: "/kafka-acl-extended-changes"}
_VERSION: Final = 1


class VersionedAcls(NamedTuple):
    """The entries of a pattern, and the version of their znode: UNKNOWN_VERSION if there is none."""

    entries: frozenset[AccessControlEntry]
    zk_version: int

    @property
    def exists(self) -> bool:
        return self.zk_version != UNKNOWN_VERSION


NO_ACLS: Final = VersionedAcls(frozenset(), UNKNOWN_VERSION)


class ResourceZNode:
    """The entries of one pattern."""

    @staticmethod
    def path(pattern: AclPattern) -> str:
        """Return the path of the entries.

        Raises:
            ValueError: ZooKeeper does not allow the path.
        """
        path = f"{ACL_PATHS[pattern.pattern_type]}/{pascal_case(pattern.resource_type)}/{pattern.name}"
        if (reason := paths.reason_invalid(path)) is not None:
            raise ValueError(reason)
        return path

    @staticmethod
    def encode(entries: Iterable[AccessControlEntry]) -> bytes:
        acls = [
            {
                "principal": entry.principal,
                "permissionType": pascal_case(entry.permission_type),
                "host": entry.host,
                "operation": pascal_case(entry.operation),
            }
            for entry in sorted(entries)
        ]
        return encode_json({"acls": acls, "version": _VERSION})

    @staticmethod
    def decode(data: bytes | None) -> frozenset[AccessControlEntry]:
        """Return the entries; none if there is no data, or it is not JSON.

        Operations and permissions of later releases become UNKNOWN.

        Raises:
            ValueError: The JSON is not that of entries.
        """
        if not data:
            return frozenset()
        try:
            value = json.loads(data)
        except ValueError:
            log.error("ACLs that are no JSON are taken for none: %r", data)
            return frozenset()
        try:
            if value["version"] != _VERSION:
                raise ValueError(f"Version {value['version']} of ACLs is not known")
            return frozenset(_entry(item) for item in value["acls"])
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"ACLs have another form: {error!r} in {data!r}") from error


def _entry(item: dict[str, Any]) -> AccessControlEntry:
    principal, host = item["principal"], item["host"]
    if not isinstance(principal, str) or ":" not in principal or not isinstance(host, str):
        raise ValueError(f"expected a string in format principalType:principalName but got {principal}")
    return AccessControlEntry(
        principal,
        host,
        from_pascal_case(ACLOperation, item["operation"]),
        from_pascal_case(ACLPermissionType, item["permissionType"]),
    )


class AclChangeZNode:
    """A notification that the entries of a pattern have changed."""

    @staticmethod
    def create_path(pattern: AclPattern) -> str:
        return f"{CHANGE_PATHS[pattern.pattern_type]}/{SEQUENCE_PREFIX}"

    @staticmethod
    def encode(pattern: AclPattern) -> bytes:
        resource_type, name, pattern_type = pattern
        if pattern_type is _LITERAL:
            return f"{resource_type.name}:{name}".encode()
        return encode_json(
            {"version": _VERSION, "resourceType": resource_type.name, "name": name, "patternType": pattern_type.name}
        )

    @staticmethod
    def decode_literal(data: bytes) -> AclPattern:
        """Raise ValueError if it is not a pattern."""
        type_name, colon, name = data.decode().partition(":")
        if not colon:
            raise ValueError(f"expected a string in format ResourceType:ResourceName but got {type_name}")
        return AclPattern(_resource_type(type_name), name, _LITERAL)

    @staticmethod
    def decode_extended(data: bytes) -> AclPattern:
        """Raise ValueError or KeyError if it is not a pattern."""
        value = decode_json(data)
        if value["version"] > _VERSION:
            raise ValueError(f"Acl change event received for unsupported version: {value['version']}")
        pattern_type = ACLResourcePatternType[str(value["patternType"]).upper()]
        if pattern_type not in CONCRETE_PATTERN_TYPES:
            raise ValueError(f"Invalid pattern type: {pattern_type.name}")
        return AclPattern(_resource_type(str(value["resourceType"])), str(value["name"]), pattern_type)


def _resource_type(name: str) -> ResourceType:
    found = ResourceType.__members__.get(name.upper(), ResourceType.UNKNOWN)
    if found not in RESOURCE_TYPES:
        raise ValueError(f"Unknown resource type: {name}")
    return found


class ZkAclStore:
    """Reads and writes entries. Every method blocks; `ZooKeeperError`s are those of `KafkaZkClient`."""

    def __init__(self, zk_client: KafkaZkClient, time: Time, close_client: bool = False) -> None:
        """`close_client`: whether this store owns the client and `close` closes it."""
        self._zk_client = zk_client
        self._time = time
        self._close_client = close_client

    def close(self) -> None:
        """Close the client, if this store owns it."""
        if self._close_client:
            self._zk_client.close()

    def time_limit(self, timeout_ms: int) -> AbstractContextManager[None]:
        """Limit how long this thread waits for a lost connection within the block; then `ZooKeeperClientTimeoutError`
        is raised.
        """
        return self._zk_client.time_limit(timeout_ms)

    def create_acl_paths(self) -> None:
        """Create the missing parents of all znodes."""
        for root in ACL_PATHS.values():
            for path in (root, *(f"{root}/{pascal_case(resource_type)}" for resource_type in RESOURCE_TYPES)):
                self._create_if_missing(path, None)
        for path in CHANGE_PATHS.values():
            self._create_if_missing(path, None)

    def load_all(self) -> Iterator[tuple[AclPattern, VersionedAcls]]:
        """Yield every pattern that has a znode.

        Raises:
            ValueError: A znode does not contain ACLs; the message names it.
        """
        known = {pascal_case(resource_type): resource_type for resource_type in RESOURCE_TYPES}
        for pattern_type, root in ACL_PATHS.items():
            for type_name in sorted(self._zk_client.get_children(root)):
                if type_name not in known:
                    log.warning("Ignoring unknown ResourceType: %s", type_name)
                    continue
                names = sorted(self._zk_client.get_children(f"{root}/{type_name}"))
                patterns = [AclPattern(known[type_name], name, pattern_type) for name in names]
                found = self._zk_client.get_many([f"{root}/{type_name}/{name}" for name in names])
                for pattern, node in zip(patterns, found, strict=True):
                    if node is not None:
                        yield pattern, _versioned(pattern, *node)

    def get(self, pattern: AclPattern) -> VersionedAcls:
        """Read the pattern's entries from ZooKeeper.

        Raises:
            ValueError: The pattern's name is not valid for a znode, or the znode does not contain ACLs.
        """
        return self.get_many([pattern])[0]

    def get_many(self, patterns: Sequence[AclPattern]) -> list[VersionedAcls]:
        """The same of each, in few requests. Raises ValueError as `get`."""
        nodes = self._zk_client.get_many([ResourceZNode.path(pattern) for pattern in patterns])
        return [
            NO_ACLS if node is None else _versioned(pattern, *node)
            for pattern, node in zip(patterns, nodes, strict=True)
        ]

    def update(self, pattern: AclPattern, entries: Collection[AccessControlEntry], zk_version: int) -> int | None:
        """Write the entries if the znode has that version; without entries, delete it.

        Returns:
            The znode's new version, UNKNOWN_VERSION if it no longer exists; None if it had another version.
        """
        path = ResourceZNode.path(pattern)
        if not entries:
            return UNKNOWN_VERSION if self._zk_client.conditional_delete(path, zk_version) else None
        data = ResourceZNode.encode(entries)
        if zk_version == UNKNOWN_VERSION:
            return 0 if self._create_if_missing(path, data) else None
        updated, new_version = self._zk_client.conditional_update_path(path, data, zk_version)
        return new_version if updated else None

    def update_many(
        self, updates: Iterable[tuple[AclPattern, Collection[AccessControlEntry], int]]
    ) -> list[int | None]:
        """The same of each (pattern, entries, version), all on the way together. None, too, for what `update` may yet achieve."""
        writes: list[Create | SetData | Delete] = []
        for pattern, entries, zk_version in updates:
            path = ResourceZNode.path(pattern)
            if not entries:
                writes.append(Delete(path, zk_version))
            elif zk_version == UNKNOWN_VERSION:
                writes.append(Create(path, ResourceZNode.encode(entries)))
            else:
                writes.append(SetData(path, ResourceZNode.encode(entries), zk_version))
        return self._zk_client.conditional_writes(writes)

    def notify(self, pattern: AclPattern) -> None:
        """Tell every broker that the pattern's entries have changed."""
        self.notify_many([pattern])

    def notify_many(self, patterns: Iterable[AclPattern]) -> None:
        """The same of each, all on the way together."""
        self._zk_client.create_all_sequential(
            [(AclChangeZNode.create_path(pattern), AclChangeZNode.encode(pattern)) for pattern in patterns]
        )

    def listeners(
        self, changed: Callable[[Sequence[AclPattern]], object], reload: Callable[[], object]
    ) -> list[ZkNodeChangeNotificationListener]:
        """What calls `changed` with the patterns of notifications, and `reload` for a new session, each on its own thread; not
        started."""
        return [
            self._listener(CHANGE_PATHS[_LITERAL], AclChangeZNode.decode_literal, changed, reload),
            self._listener(CHANGE_PATHS[_PREFIXED], AclChangeZNode.decode_extended, changed, lambda: None),
        ]

    def _listener(
        self,
        path: str,
        decode: Callable[[bytes], AclPattern],
        changed: Callable[[Sequence[AclPattern]], object],
        reload: Callable[[], object],
    ) -> ZkNodeChangeNotificationListener:
        def one(data: bytes) -> None:
            changed([decode(data)])

        def several(of_each: Sequence[bytes]) -> None:
            changed(list(dict.fromkeys(map(decode, of_each))))

        return ZkNodeChangeNotificationListener(
            self._zk_client, path, SEQUENCE_PREFIX, one, self._time, reload, process_several=several
        )

    def _create_if_missing(self, path: str, data: bytes | None) -> bool:
        try:
            self._zk_client.create_recursive(path, data)
        except NodeExistsError:
            return False
        return True


def _versioned(pattern: AclPattern, data: bytes | None, zk_version: int) -> VersionedAcls:
    try:
        return VersionedAcls(ResourceZNode.decode(data), zk_version)
    except ValueError as error:
        raise ValueError(f"{ResourceZNode.path(pattern)}: {error}") from error
