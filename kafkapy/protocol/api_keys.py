"""The APIs of the wire protocol in ZooKeeper mode (Kafka's `ApiKeys`)."""

from __future__ import annotations

from enum import IntEnum
from functools import cached_property
from importlib import import_module
from typing import Any


class ApiKey(IntEnum):
    """An API: its key, its supported versions, and the framing of its messages.

    The versions of an API are defined only here; its messages take them from here (`Message`). `first_flexible`: the
    first version with compact lengths and tagged fields (KIP-482); None if there is none. `cluster_action`: only for
    brokers of the cluster. `request` and `response` are the message classes, imported on first use.
    """

    # Each line: key, highest version (the lowest is 0), first flexible version, cluster action.
    PRODUCE = 0, 11, 9
    FETCH = 1, 17, 12
    LIST_OFFSETS = 2, 9, 6
    METADATA = 3, 12, 9
    LEADER_AND_ISR = 4, 7, 4, True
    STOP_REPLICA = 5, 4, 2, True
    UPDATE_METADATA = 6, 8, 6, True
    CONTROLLED_SHUTDOWN = 7, 3, 3, True
    OFFSET_COMMIT = 8, 9, 8
    OFFSET_FETCH = 9, 9, 6
    FIND_COORDINATOR = 10, 6, 3
    JOIN_GROUP = 11, 9, 6
    HEARTBEAT = 12, 4, 4
    LEAVE_GROUP = 13, 5, 4
    SYNC_GROUP = 14, 5, 4
    DESCRIBE_GROUPS = 15, 5, 5
    LIST_GROUPS = 16, 5, 3
    SASL_HANDSHAKE = 17, 1, None
    API_VERSIONS = 18, 4, 3
    CREATE_TOPICS = 19, 7, 5
    DELETE_TOPICS = 20, 6, 4
    DELETE_RECORDS = 21, 2, 2
    INIT_PRODUCER_ID = 22, 5, 2
    OFFSET_FOR_LEADER_EPOCH = 23, 4, 4
    ADD_PARTITIONS_TO_TXN = 24, 5, 3
    ADD_OFFSETS_TO_TXN = 25, 4, 3
    END_TXN = 26, 4, 3
    WRITE_TXN_MARKERS = 27, 1, 1, True
    TXN_OFFSET_COMMIT = 28, 4, 3
    DESCRIBE_ACLS = 29, 3, 2
    CREATE_ACLS = 30, 3, 2
    DELETE_ACLS = 31, 3, 2
    DESCRIBE_CONFIGS = 32, 4, 4
    ALTER_CONFIGS = 33, 2, 2
    ALTER_REPLICA_LOG_DIRS = 34, 2, 2
    DESCRIBE_LOG_DIRS = 35, 4, 2
    SASL_AUTHENTICATE = 36, 2, 2
    CREATE_PARTITIONS = 37, 3, 2
    CREATE_DELEGATION_TOKEN = 38, 3, 2
    RENEW_DELEGATION_TOKEN = 39, 2, 2
    EXPIRE_DELEGATION_TOKEN = 40, 2, 2
    DESCRIBE_DELEGATION_TOKEN = 41, 3, 2
    DELETE_GROUPS = 42, 2, 2
    ELECT_LEADERS = 43, 2, 2
    INCREMENTAL_ALTER_CONFIGS = 44, 1, 1
    ALTER_PARTITION_REASSIGNMENTS = 45, 0, 0
    LIST_PARTITION_REASSIGNMENTS = 46, 0, 0
    OFFSET_DELETE = 47, 0, None
    DESCRIBE_CLIENT_QUOTAS = 48, 1, 1
    ALTER_CLIENT_QUOTAS = 49, 1, 1
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50, 0, 0
    ALTER_USER_SCRAM_CREDENTIALS = 51, 0, 0
    ALTER_PARTITION = 56, 3, 0, True
    UPDATE_FEATURES = 57, 1, 0, True
    ENVELOPE = 58, 0, 0, True
    DESCRIBE_CLUSTER = 60, 1, 0
    DESCRIBE_PRODUCERS = 61, 0, 0
    DESCRIBE_TRANSACTIONS = 65, 0, 0
    LIST_TRANSACTIONS = 66, 1, 0
    ALLOCATE_PRODUCER_IDS = 67, 0, 0, True
    CONSUMER_GROUP_HEARTBEAT = 68, 0, 0
    CONSUMER_GROUP_DESCRIBE = 69, 0, 0

    min_version: int
    max_version: int
    first_flexible: int | None
    cluster_action: bool

    def __new__(
        cls, key: int, max_version: int = 0, first_flexible: int | None = None, cluster_action: bool = False
    ) -> ApiKey:
        api = int.__new__(cls, key)
        api._value_ = key
        api.min_version = 0
        api.max_version = max_version
        api.first_flexible = first_flexible
        api.cluster_action = cluster_action
        return api

    def supports(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version

    def flexible(self, version: int) -> bool:
        return self.first_flexible is not None and version >= self.first_flexible

    def request_header_version(self, version: int) -> int:
        """Return the request header's version. ControlledShutdown version 0 has its own header, without a client id."""
        if self is ApiKey.CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.flexible(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the response header's version: always 0 for ApiVersions, because the client may not know the broker's
        versions yet (KIP-511).
        """
        return 1 if self.flexible(version) and self is not ApiKey.API_VERSIONS else 0

    @cached_property
    def title(self) -> str:
        """Return Kafka's name in camel case, as in logs, metrics and names of messages: "ListOffsets"."""
        return "".join(word.capitalize() for word in self.name.split("_"))

    @cached_property
    def request(self) -> type[Any]:
        """A `Message`, which depends on this module and therefore cannot be named here."""
        return self._message("Request")

    @cached_property
    def response(self) -> type[Any]:
        return self._message("Response")

    def _message(self, kind: str) -> type[Any]:
        module = import_module(f"kafkapy.protocol.messages.{self.name.lower()}")
        found: type[Any] = getattr(module, self.title + kind)
        return found
