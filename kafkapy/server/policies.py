"""Plug-ins that restrict new topics and configs (KIP-108, 133; Kafka's `CreateTopicPolicy`, `AlterConfigPolicy`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.protocol.errors import Errors, KafkaError


class PolicyViolation(KafkaError):
    """The request violates the policy; the client gets POLICY_VIOLATION with the message."""

    def __init__(self, message: str) -> None:
        super().__init__(Errors.POLICY_VIOLATION, message)


class RequestedTopic(NamedTuple):
    """A topic to create (`CreateTopicPolicy.RequestMetadata`); all other checks have passed."""

    topic: str
    num_partitions: int | None
    """The broker's default if the request has none; None if there are `replicas_assignments`."""
    replication_factor: int | None
    """As `num_partitions`."""
    replicas_assignments: Mapping[int, Sequence[int]] | None
    """Partition -> brokers, if the client has chosen them."""
    configs: Mapping[str, str]
    """Configs in the request, without the broker's defaults."""


class CreateTopicPolicy:
    """Base class for `create.topic.policy.class.name`, which takes an import path: `module.Class` or `module:Class`.

    It is called for CreateTopics, with validateOnly too, and for topics that Metadata creates; not for
    CreatePartitions. Methods run in threads, possibly several at a time, and may block.

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
        """Called before a topic is created.

        Raises:
            PolicyViolation: The topic must not be created. Other exceptions are logged; the client gets
                UNKNOWN_SERVER_ERROR.
        """
        raise NotImplementedError

    def close(self) -> None:
        """The broker stops."""


class AlteredConfigs(NamedTuple):
    """New configs of a resource (`AlterConfigPolicy.RequestMetadata`); all other checks have passed."""

    resource_type: ConfigResourceType
    """TOPIC or BROKER."""
    resource_name: str
    """The topic, or the broker's id; empty: all brokers."""
    configs: Mapping[str, str | None]
    """Configs in the request. With IncrementalAlterConfigs, None means delete; values to append or subtract can't be
    distinguished from values to set, as with Apache's policy."""


class AlterConfigPolicy:
    """Base class for `alter.config.policy.class.name`, which takes an import path: `module.Class` or `module:Class`.

    It is called for AlterConfigs and IncrementalAlterConfigs of topics and brokers, with validateOnly too; not for log
    levels, nor for the configs of new topics. Methods run in threads, possibly several at a time, and may block.

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
            PolicyViolation: The configs must not be altered. Other exceptions are logged; the client gets
                UNKNOWN_SERVER_ERROR.
        """
        raise NotImplementedError

    def close(self) -> None:
        """The broker stops."""


class Policies(NamedTuple):
    """A broker's policies; None: all valid requests are allowed."""

    create_topic: CreateTopicPolicy | None = None
    alter_config: AlterConfigPolicy | None = None

    def close(self) -> None:
        for policy in self:
            if policy is not None:
                policy.close()
