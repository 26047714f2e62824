"""Rules of the operator's own for new topics and configs (KIP-108, 133; Kafka's `CreateTopicPolicy`, `AlterConfigPolicy`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.errors import Errors, KafkaError


class PolicyViolation(KafkaError):
    """The request violates the policy; the client gets the message (POLICY_VIOLATION)."""

    def __init__(self, message: str) -> None:
        super().__init__(Errors.POLICY_VIOLATION, message)


class RequestedTopic(NamedTuple):
    """What a topic shall be (`CreateTopicPolicy.RequestMetadata`); it is valid but for the policy."""

    topic: str
    num_partitions: int | None
    """With the broker's default in place of none; None if there are `replicas_assignments`."""
    replication_factor: int | None
    """Likewise."""
    replicas_assignments: Mapping[int, Sequence[int]] | None
    """Partition -> brokers, if the client has chosen them."""
    configs: Mapping[str, str]
    """Those that are given, not the broker's defaults."""


class CreateTopicPolicy:
    """Base of a class that `create.topic.policy.class.name` names by its import path: `module.Class` or `module:Class`.

    It is asked for topics of CreateTopics, with validateOnly too, and for those that come into being by Metadata; not for more
    partitions. Methods are called in threads, perhaps several at a time, and may block.

    Example:
        >>> class AtLeastTwoReplicas(CreateTopicPolicy):
        ...     def validate(self, topic):
        ...         if topic.replication_factor is not None and topic.replication_factor < 2:
        ...             raise PolicyViolation("Topics must have two replicas")
        >>> AtLeastTwoReplicas().validate(RequestedTopic("t", 1, 3, None, {}))
    """

    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once, with the properties of the broker; ConfigException for one that is wrong."""

    def validate(self, topic: RequestedTopic) -> None:
        """Called before a topic is made.

        Raises:
            PolicyViolation: It may not be made. Any other exception is logged, and answered with UNKNOWN_SERVER_ERROR.
        """
        raise NotImplementedError

    def close(self) -> None:
        """The broker stops."""


class AlteredConfigs(NamedTuple):
    """What configs are to become (`AlterConfigPolicy.RequestMetadata`); they are valid but for the policy."""

    resource_type: ConfigResourceType
    """TOPIC or BROKER."""
    resource_name: str
    """The topic, or the broker's id; empty: all brokers."""
    configs: Mapping[str, str | None]
    """Those of the request. Of IncrementalAlterConfigs as they are there: None is to be deleted, and what is to be appended or
    removed ones cannot be distinguished from set ones, as with Apache's."""


class AlterConfigPolicy:
    """Base of a class that `alter.config.policy.class.name` names by its import path: `module.Class` or `module:Class`.

    It is asked for configs of topics and brokers, by AlterConfigs and IncrementalAlterConfigs, with validateOnly too; not for log
    levels, nor for the configs of new topics. Methods are called in threads, perhaps several at a time, and may block.

    Example:
        >>> class NoCompaction(AlterConfigPolicy):
        ...     def validate(self, altered):
        ...         if "compact" in (altered.configs.get("cleanup.policy") or ""):
        ...             raise PolicyViolation("Topics are not compacted here")
        >>> NoCompaction().validate(AlteredConfigs(ConfigResourceType.TOPIC, "t", {"retention.ms": "1"}))
    """

    def configure(self, configs: Mapping[str, str]) -> None:
        """Called once, with the properties of the broker; ConfigException for one that is wrong."""

    def validate(self, altered: AlteredConfigs) -> None:
        """Called before configs are altered.

        Raises:
            PolicyViolation: They may not be. Any other exception is logged, and answered with UNKNOWN_SERVER_ERROR.
        """
        raise NotImplementedError

    def close(self) -> None:
        """The broker stops."""


class Policies(NamedTuple):
    """Those of a broker; None: everything valid is allowed."""

    create_topic: CreateTopicPolicy | None = None
    alter_config: AlterConfigPolicy | None = None

    def close(self) -> None:
        for policy in self:
            if policy is not None:
                policy.close()
