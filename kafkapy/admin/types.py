"""Enums and small values of the admin client (kafka-python's names, Kafka's codes)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

from kafkapy.clients.list_arguments import check_list
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.transaction_states import TransactionState as TransactionState
from kafkapy.common.wire_enums import ConfigResourceType, ConfigSourceType, EnumHelper
from kafkapy.errors import IllegalArgumentError

# --- configs


class ConfigResource:
    """A resource and its configs: keys to ask for or reset, or a dict of values to set. The broker with the empty name is
    the default of all brokers. Resources are equal if type and name are."""

    def __init__(
        self,
        resource_type: ConfigResourceType | str,
        name: str,
        configs: Mapping[str, Any] | Iterable[str] | None = None,
    ) -> None:
        if not isinstance(resource_type, ConfigResourceType):
            resource_type = ConfigResourceType[str(resource_type).upper()]
        if configs is not None:
            check_list("configs", configs)
        self.resource_type = resource_type
        self.name = name
        self.configs = configs

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConfigResource):
            return NotImplemented
        return (self.resource_type, self.name) == (other.resource_type, other.name)

    def __hash__(self) -> int:
        return hash((self.resource_type, self.name))

    def __str__(self) -> str:
        return f"ConfigResource {self.name}={self.resource_type}"

    def __repr__(self) -> str:
        return f"ConfigResource({self.resource_type}, {self.name}, {self.configs})"


class ConfigFilterType(EnumHelper, IntEnum):
    """Which configs `describe_configs` shows."""

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4

    def should_skip(self, source: ConfigSourceType) -> bool:
        if self is ConfigFilterType.MODIFIED:
            return not source.is_modified()
        if self is ConfigFilterType.DEFAULT:
            return source.is_modified()
        return self is ConfigFilterType.STATIC and source is not ConfigSourceType.STATIC_BROKER_CONFIG


# --- groups


class GroupState(EnumHelper, StrEnum):
    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


class GroupType(EnumHelper, StrEnum):
    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class MemberToRemove(NamedTuple):
    """A member named by its id (dynamic) or its instance id (static)."""

    member_id: str | None = None
    group_instance_id: str | None = None
    reason: str | None = None


# --- cluster


class UpdateFeatureType(EnumHelper, IntEnum):
    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


# --- transactions (KIP-664)


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[TopicPartition]


class ProducerState(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    active_producers: list[ProducerState]


class AbortTransactionSpec(NamedTuple):
    """`coordinator_epoch` -1: whichever the partition has seen."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1


# --- SCRAM users (KIP-554)


class ScramMechanism(IntEnum):
    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """As SASL spells it."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}[self]

    @classmethod
    def of(cls, value: ScramMechanism | int | str) -> ScramMechanism:
        if isinstance(value, str):
            return cls[value.upper().replace("-", "_")]
        return cls(value)


class UserScramCredentialDeletion:
    """A user's credential to delete."""

    def __init__(self, user: str, mechanism: ScramMechanism | int | str) -> None:
        self.user = user
        self.mechanism = ScramMechanism.of(mechanism)

    def __repr__(self) -> str:
        return f"UserScramCredentialDeletion({self.user}, {self.mechanism.name})"


class UserScramCredentialUpsertion:
    """A user's credential to set. The password is salted and hashed here: the broker never sees it."""

    DEFAULT_ITERATIONS = 4096

    def __init__(
        self,
        user: str,
        mechanism: ScramMechanism | int | str,
        password: str | bytes,
        iterations: int | None = None,
        salt: bytes | None = None,
    ) -> None:
        import hashlib
        import secrets

        from kafkapy.security.scram import random_text

        self.user = user
        self.mechanism = ScramMechanism.of(mechanism)
        if self.mechanism is ScramMechanism.UNKNOWN:
            raise IllegalArgumentError("SCRAM mechanism must not be UNKNOWN")
        self.iterations = self.DEFAULT_ITERATIONS if iterations is None else iterations
        self.salt = random_text(secrets.token_bytes(17)).encode() if salt is None else salt
        secret = password.encode() if isinstance(password, str) else password
        self.salted_password = hashlib.pbkdf2_hmac(self.mechanism.hash_name, secret, self.salt, self.iterations)

    def __repr__(self) -> str:
        return f"UserScramCredentialUpsertion({self.user}, {self.mechanism.name}, iterations={self.iterations})"
