"""Quota entities, and the types of quotas."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from kafkapy.common.sanitizer import desanitize
from kafkapy.server.config.dynamic_broker_config import DEFAULT_ENTITY
from kafkapy.server.config.zk_entity_configs import CLIENTS, USERS


class QuotaType(Enum):
    """The value is the `type` of Kafka's MBeans."""

    PRODUCE = "Produce"
    FETCH = "Fetch"
    REQUEST = "Request"
    CONTROLLER_MUTATION = "ControllerMutation"

    @property
    def config(self) -> str:
        """The config's name in /config/users and /config/clients."""
        return _CONFIGS[self]


_CONFIGS: Final = {
    QuotaType.PRODUCE: "producer_byte_rate",
    QuotaType.FETCH: "consumer_byte_rate",
    QuotaType.REQUEST: "request_percentage",
    QuotaType.CONTROLLER_MUTATION: "controller_mutation_rate",
}


class DefaultName(Enum):
    """Stands for all users or client ids without their own quota."""

    DEFAULT = DEFAULT_ENTITY


DEFAULT: Final = DefaultName.DEFAULT


class QuotaEntity(NamedTuple):
    """A user, a client id, or a client id of a user (Kafka's `KafkaQuotaEntity`). None: not part of the entity.

    Example:
        >>> QuotaEntity("alice", DEFAULT).level is Level.USER_AND_CLIENT
        True
    """

    user: str | DefaultName | None
    """Not sanitized."""
    client_id: str | DefaultName | None

    @property
    def level(self) -> Level:
        if self.user is None:
            return Level.CLIENT
        return Level.USER if self.client_id is None else Level.USER_AND_CLIENT


class Level(Enum):
    """The parts that an entity has."""

    CLIENT = 1
    USER = 2
    USER_AND_CLIENT = 4


def entity_of_path(entity_type: str, path: str) -> QuotaEntity:
    """Return the entity of a change notification, by its sanitized path below /config/users or /config/clients.

    Raises:
        ValueError: The path is invalid.

    Example:
        >>> entity_of_path("users", "team%2Ca/clients/<default>")
        QuotaEntity(user='team,a', client_id=<DefaultName.DEFAULT: '<default>'>)
    """
    parts = path.split("/")
    if entity_type == CLIENTS and len(parts) == 1:
        return QuotaEntity(None, _name(parts[0]))
    if entity_type == USERS and len(parts) == 1:
        return QuotaEntity(_name(parts[0]), None)
    if entity_type == USERS and len(parts) == 3 and parts[1] == CLIENTS:
        return QuotaEntity(_name(parts[0]), _name(parts[2]))
    raise ValueError(f"Invalid quota entity path: {entity_type}/{path}")


def _name(sanitized: str) -> str | DefaultName:
    if not sanitized:
        raise ValueError("Empty name in a quota entity path")
    return DEFAULT if sanitized == DEFAULT_ENTITY else desanitize(sanitized)
