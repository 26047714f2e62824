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
    """A resource and its configs. Resources are equal if type and name are.

    Args:
        resource_type: TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS or GROUP.
        name: Name of the topic, or id of the broker; the empty name is the default of all brokers.
        configs: Keys to describe or reset, or a dict of values to set. None (default): all.

    Example:
        >>> ConfigResource("topic", "clicks", {"retention.ms": "86400000"}).resource_type.name
        'TOPIC'
    """

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
    """Selects the configs that `describe_configs` returns.

    Example:
        >>> ConfigFilterType.build_from("modified").name
        'MODIFIED'
    """

    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4

    def should_skip(self, source: ConfigSourceType) -> bool:
        """Return whether a config is omitted.

        Args:
            source: Where the config's value comes from.
        """
        if self is ConfigFilterType.MODIFIED:
            return not source.is_modified()
        if self is ConfigFilterType.DEFAULT:
            return source.is_modified()
        return self is ConfigFilterType.STATIC and source is not ConfigSourceType.STATIC_BROKER_CONFIG


# --- groups


class GroupState(EnumHelper, StrEnum):
    """The state of a group.

    Example:
        >>> GroupState("Stable").name
        'STABLE'
    """

    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"


class GroupType(EnumHelper, StrEnum):
    """The protocol of a group's members.

    Example:
        >>> GroupType("classic").name
        'CLASSIC'
    """

    UNKNOWN = "Unknown"
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"


class MemberToRemove(NamedTuple):
    """A member named by its id (dynamic) or its instance id (static).

    Attributes:
        member_id: Id from the coordinator. None (default): a static member.
        group_instance_id: Its `group_instance_id` (KIP-345). None (default): a dynamic member.
        reason: For the coordinator's log (KIP-800). None (default): none.

    Example:
        >>> MemberToRemove(group_instance_id="worker-1").member_id is None
        True
    """

    member_id: str | None = None
    group_instance_id: str | None = None
    reason: str | None = None


# --- cluster


class UpdateFeatureType(EnumHelper, IntEnum):
    """How a feature's level may change (KIP-584).

    Example:
        >>> UpdateFeatureType(1).name
        'UPGRADE'
    """

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


# --- transactions (KIP-664)


class TransactionListing(NamedTuple):
    """A transactional id of a coordinator.

    Attributes:
        transactional_id: The id.
        producer_id: Id of its producer.
        state: The transaction's state.

    Example:
        >>> TransactionListing("payments-1", 4000, TransactionState.EMPTY).state.value
        'Empty'
    """

    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    """The state of a transactional id (KIP-664).

    Attributes:
        coordinator_id: Id of the broker that coordinates it.
        state: The transaction's state.
        producer_id: Id of its producer.
        producer_epoch: Epoch of its producer.
        transaction_timeout_ms: The producer's `transaction_timeout_ms`.
        transaction_start_time_ms: ms since the epoch; -1: none is open.
        topic_partitions: Partitions of the open transaction.

    Example:
        >>> TransactionDescription(1, TransactionState.ONGOING, 4000, 0, 60_000, -1, set()).state.value
        'Ongoing'
    """

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[TopicPartition]


class ProducerState(NamedTuple):
    """The state of a producer in a partition.

    Attributes:
        producer_id: Id of the producer.
        producer_epoch: Its epoch.
        last_sequence: Sequence number of its last record.
        last_timestamp: Timestamp of its last batch, in ms since the epoch.
        coordinator_epoch: Epoch of its transaction's coordinator; -1: none.
        current_transaction_start_offset: First offset of its open transaction; -1: none is open.

    Example:
        >>> ProducerState(4000, 0, 9, 1_700_000_000_000, -1, -1).last_sequence
        9
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    """The active producers of a partition (KIP-664).

    Attributes:
        active_producers: One for each producer id.

    Example:
        >>> PartitionProducerState([ProducerState(4000, 0, 9, 1_700_000_000_000, -1, -1)]).active_producers[0].producer_id
        4000
    """

    active_producers: list[ProducerState]


class AbortTransactionSpec(NamedTuple):
    """A hanging transaction in one partition (KIP-664).

    Attributes:
        topic_partition: The partition.
        producer_id: Id of the producer.
        producer_epoch: Epoch of the producer.
        coordinator_epoch: Epoch of the transaction's coordinator. Default -1: whichever the partition has seen.

    Example:
        >>> AbortTransactionSpec(TopicPartition("clicks", 0), 4000, 1).coordinator_epoch
        -1
    """

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1


# --- SCRAM users (KIP-554)


class ScramMechanism(IntEnum):
    """A SCRAM mechanism.

    Example:
        >>> ScramMechanism.of("SCRAM-SHA-512").hash_name
        'sha512'
    """

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def mechanism_name(self) -> str:
        """Return the mechanism's name in SASL."""
        return self.name.replace("_", "-")

    @property
    def hash_name(self) -> str:
        return {ScramMechanism.SCRAM_SHA_256: "sha256", ScramMechanism.SCRAM_SHA_512: "sha512"}[self]

    @classmethod
    def of(cls, value: ScramMechanism | int | str) -> ScramMechanism:
        """Return the mechanism.

        Args:
            value: The mechanism, its code, or its name with hyphens or underscores.

        Raises:
            KeyError: There is no such name.
            ValueError: There is no such code.
        """
        if isinstance(value, str):
            return cls[value.upper().replace("-", "_")]
        return cls(value)


class UserScramCredentialDeletion:
    """A user's credential to delete.

    Args:
        user: Name of the user.
        mechanism: A `ScramMechanism`, its code or its name.

    Example:
        >>> UserScramCredentialDeletion("alice", "SCRAM-SHA-256")
        UserScramCredentialDeletion(alice, SCRAM_SHA_256)
    """

    def __init__(self, user: str, mechanism: ScramMechanism | int | str) -> None:
        self.user = user
        self.mechanism = ScramMechanism.of(mechanism)

    def __repr__(self) -> str:
        return f"UserScramCredentialDeletion({self.user}, {self.mechanism.name})"


class UserScramCredentialUpsertion:
    """A user's credential to set. The password is salted and hashed by the client and never sent.

    Args:
        user: Name of the user.
        mechanism: A `ScramMechanism`, its code or its name.
        password: The password; text is encoded as UTF-8.
        iterations: Rounds of hashing. None (default): 4096.
        salt: The salt. None (default): a random one.

    Raises:
        IllegalArgumentError: The mechanism is UNKNOWN.

    Example:
        >>> UserScramCredentialUpsertion("alice", "SCRAM-SHA-256", "secret", iterations=8192)
        UserScramCredentialUpsertion(alice, SCRAM_SHA_256, iterations=8192)
    """

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
