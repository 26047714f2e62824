"""Creates topics for source tasks (KIP-158; Kafka's `TopicCreation`, `TopicCreationGroup`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.admin.topics import NewTopic
from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import NO_DEFAULT, parse_value
from kafkapy.connect.config.connector_configs import topic_creation_def
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.protocol.errors import Errors, KafkaError

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

log = logging.getLogger("kafkapy.connect.runtime")

DEFAULT_GROUP = "default"
_PREFIX = "topic.creation."
_NOT_ALLOWED = (
    Errors.TOPIC_AUTHORIZATION_FAILED,
    Errors.CLUSTER_AUTHORIZATION_FAILED,
    Errors.UNSUPPORTED_VERSION,
)
_MOST_TOPICS = 100_000


class TopicCreationGroup:
    """A group of topics by patterns of names, with the options of their creation. `values`: parsed by
    `topic_creation_def`; `others`: topic configs."""

    def __init__(self, name: str, values: Mapping[str, Any], others: Mapping[str, str]) -> None:
        self.name = name
        self._include = java("|".join(values["include"]))
        self._exclude = java("|".join(values["exclude"]))  # without patterns it matches no topic: the empty name
        self._partitions = values["partitions"]
        self._replicas = values["replication.factor"]
        self._others = dict(others)

    def matches(self, topic: str) -> bool:
        return not self._exclude.fullmatch(topic) and self._include.fullmatch(topic)

    def new_topic(self, topic: str) -> NewTopic:
        return NewTopic(topic, self._partitions, self._replicas, topic_configs=self._others)


def configured_groups(config: Mapping[str, str | None]) -> list[TopicCreationGroup] | None:
    """Return the groups of a source's config, the default one last; None: it has none, and the broker creates topics.

    Raises:
        ConfigException: A setting of a group is wrong or missing.
    """
    if not any(name.startswith(_PREFIX) and value is not None for name, value in config.items()):
        return None
    names = parse_value(f"{_PREFIX}groups", config.get(f"{_PREFIX}groups"), ConfigType.LIST) or []
    default = _group(DEFAULT_GROUP, config, NO_DEFAULT, NO_DEFAULT)
    values = default[1]
    others = [
        TopicCreationGroup(*_group(name, config, values["replication.factor"], values["partitions"]))
        for name in names
        if name != DEFAULT_GROUP
    ]
    return [*others, TopicCreationGroup(*default)]


def _group(
    name: str, config: Mapping[str, str | None], replicas: Any, partitions: Any
) -> tuple[str, dict[str, Any], dict[str, str]]:
    prefix = f"{_PREFIX}{name}."
    given = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
    definitions = topic_creation_def(name, replicas, partitions)
    try:
        values = definitions.parse({key: value for key, value in given.items() if value is not None})
    except ConfigException as error:
        raise ConfigException(f"{prefix}*: {error}") from error
    others = {key: value for key, value in given.items() if key not in definitions.keys and value is not None}
    return name, values, others


class TopicCreation:
    """Invariant: `_known` has existing topics that this task has found or created. The set is cleared before it has
    more than 100,000 of them, because a transform can generate any number of names."""

    def __init__(self, admin: AdminClient, groups: list[TopicCreationGroup]) -> None:
        """
        Args:
            admin: An admin client that only the task's thread uses.
            groups: The groups, the default one last.
        """
        self._admin = admin
        self._groups = groups
        self._known: set[str] = set()

    def ensure(self, topic: str) -> None:
        """Create the topic unless it exists.

        Raises:
            RetriableException: The cluster does not respond.
            ConnectException: The topic cannot be created.
        """
        if topic in self._known:
            return
        try:
            exists = self._exists(topic) or self._make(topic)
        except KafkaError as error:
            kind = RetriableException if getattr(error, "retriable", False) else ConnectException
            raise kind(f"Error while attempting to create/find topic '{topic}': {error}") from error
        if not exists:
            raise ConnectException(
                f"Task failed to create new topic {topic}. Ensure that the task is authorized to create topics or that the "
                "topic exists and restart the task"
            )
        if len(self._known) >= _MOST_TOPICS:
            self._known.clear()
        self._known.add(topic)

    def _exists(self, topic: str) -> bool:
        (found,) = self._admin.describe_topics([topic]).values()
        if not isinstance(found, KafkaError):
            return True
        if found.error is Errors.UNKNOWN_TOPIC_OR_PARTITION or found.error in _NOT_ALLOWED:
            return False
        raise found

    def _make(self, topic: str) -> bool:
        group = next((group for group in self._groups[:-1] if group.matches(topic)), self._groups[-1])
        (outcome,) = self._admin.create_topics([group.new_topic(topic)]).values()
        if not isinstance(outcome, KafkaError):
            log.info("Made topic %s by the group %s", topic, group.name)
            return True
        if outcome.error is Errors.TOPIC_ALREADY_EXISTS:
            return True
        if outcome.error in _NOT_ALLOWED:
            return False
        raise outcome
