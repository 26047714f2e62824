"""Determines the quota of a client: by Kafka's order, or by a plug-in (KIP-257; Kafka's `ClientQuotaCallback`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.sanitizer import desanitize, sanitize
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.quota_entity import DEFAULT, Level, QuotaEntity, QuotaType

USER_TAG: Final = "user"
CLIENT_ID_TAG: Final = "client-id"
CALLBACK_CONFIG: Final = "client.quota.callback.class"

Tags = Mapping[str, str]
"""Clients with the same tags share a quota."""


class ClientQuotaCallback:
    """Base class of quota plug-ins; `client.quota.callback.class` has the import path: `module.Class` or
    `module:Class`.

    One object serves all types of quotas. All methods are called on the reactor thread, so they must not block, and
    those for each request should take microseconds. Exceptions are logged, and the request is not throttled.

    Example:
        >>> class TenBytesForAll(ClientQuotaCallback):
        ...     def quota_metric_tags(self, quota_type, principal, client_id):
        ...         return {"user": principal.name}
        ...
        ...     def quota_limit(self, quota_type, metric_tags):
        ...         return 10.0 if quota_type is QuotaType.PRODUCE else None
    """

    def configure(self, configs: Mapping[str, str]) -> None:
        """Configure the plug-in; called once.

        Args:
            configs: The properties of the broker.
        """

    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Tags:
        """Return the tags of this client's metrics; called for each request.

        Args:
            quota_type: The type of quota.
            principal: The client's principal.
            client_id: The client id of the request.
        """
        raise NotImplementedError

    def quota_limit(self, quota_type: QuotaType, metric_tags: Tags) -> float | None:
        """Return the limit per second, shared by clients with these tags; None: there is no limit (any more).

        Called for the first request with these tags, and again after any change.

        Args:
            quota_type: The type of quota.
            metric_tags: A result of `quota_metric_tags`.
        """
        raise NotImplementedError

    def update_quota(self, quota_type: QuotaType, entity: QuotaEntity, new_value: float) -> None:
        """Process a new or changed quota in ZooKeeper.

        Args:
            quota_type: The type of quota.
            entity: The user, client id, or both.
            new_value: The limit per second.
        """

    def remove_quota(self, quota_type: QuotaType, entity: QuotaEntity) -> None:
        """Process the removal of a quota in ZooKeeper.

        Args:
            quota_type: The type of quota.
            entity: The user, client id, or both.
        """

    def quota_reset_required(self, quota_type: QuotaType) -> bool:
        """Return whether any limit has changed since the last call, other than by calls of the other methods. Called
        for each request.

        Args:
            quota_type: The type of quota.
        """
        return False

    def update_cluster_metadata(self, cluster: Any) -> bool:
        """Process a change of leaders or partitions; return whether any limit may have changed.

        Args:
            cluster: The broker's metadata cache.
        """
        return False

    def close(self) -> None:
        """Release resources; called when the broker stops."""


def load_quota_callback(import_path: str, configs: Mapping[str, str]) -> ClientQuotaCallback:
    """Return a configured object of the class at `import_path`.

    Args:
        import_path: `module.Class` or `module:Class`.
        configs: The properties of the broker.

    Raises:
        ConfigException: There is no such class, it is not derived from `ClientQuotaCallback`, or it cannot be created.
    """
    module, _, name = import_path.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigException.invalid(
            CALLBACK_CONFIG, import_path, f"Class {import_path} could not be found: {error}"
        ) from error
    if not (isinstance(found, type) and issubclass(found, ClientQuotaCallback)):
        raise ConfigException.invalid(
            CALLBACK_CONFIG, import_path, f"{import_path} is not a class derived from ClientQuotaCallback"
        )
    try:
        callback = found()
        callback.configure(configs)
    except Exception as error:
        raise ConfigException.invalid(CALLBACK_CONFIG, import_path, f"Could not make it: {error!r}") from error
    return callback


class QuotasByEntity(ClientQuotaCallback):
    """Kafka's own order, over the quotas in ZooKeeper, of one type (Kafka's `DefaultQuotaCallback`).

    The most specific quota applies: (user, client id), (user, default client id), user, (default user, client id),
    (default user, default client id), default user, client id, default client id.

    Invariant: `_levels` counts the entities of `_limits` by level.
    """

    def __init__(self) -> None:
        self._limits: dict[QuotaEntity, float] = {}
        self._levels: Counter[Level] = Counter()

    @property
    def is_empty(self) -> bool:
        return not self._limits

    def limit_of(self, entity: QuotaEntity) -> float | None:
        """Return the quota of exactly this entity."""
        return self._limits.get(entity)

    def update_quota(self, quota_type: QuotaType, entity: QuotaEntity, new_value: float) -> None:
        if entity not in self._limits:
            self._levels[entity.level] += 1
        self._limits[entity] = new_value

    def remove_quota(self, quota_type: QuotaType, entity: QuotaEntity) -> None:
        if self._limits.pop(entity, None) is not None:
            self._levels[entity.level] -= 1

    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Tags:
        """Return tags. The user is sanitized, and empty if all users share the quota; so is the client id, but not
        sanitized.
        """
        level = self._level(principal.name, client_id)
        return {
            USER_TAG: "" if level is Level.CLIENT else sanitize(principal.name),
            CLIENT_ID_TAG: "" if level is Level.USER else client_id,
        }

    def _level(self, user: str, client_id: str) -> Level:
        used = [level for level, entities in self._levels.items() if entities]
        if len(used) <= 1:
            return used[0] if used else Level.CLIENT
        limits = self._limits
        for each in (user, DEFAULT):
            if QuotaEntity(each, client_id) in limits or QuotaEntity(each, DEFAULT) in limits:
                return Level.USER_AND_CLIENT
            if QuotaEntity(each, None) in limits:
                return Level.USER
        return Level.CLIENT

    def quota_limit(self, quota_type: QuotaType, metric_tags: Tags) -> float | None:
        user, client_id = metric_tags.get(USER_TAG), metric_tags.get(CLIENT_ID_TAG)
        if user is None or client_id is None:
            return None
        for entity in _candidates(desanitize(user), client_id):
            limit = self._limits.get(entity)
            if limit is not None:
                return limit
        return None


def _candidates(user: str, client_id: str) -> tuple[QuotaEntity, ...]:
    """Return the entities that may have a quota for these tags, the most specific first."""
    if user and client_id:
        return (
            QuotaEntity(user, client_id),
            QuotaEntity(user, DEFAULT),
            QuotaEntity(DEFAULT, client_id),
            QuotaEntity(DEFAULT, DEFAULT),
        )
    if user:
        return QuotaEntity(user, None), QuotaEntity(DEFAULT, None)
    if client_id:
        return QuotaEntity(None, client_id), QuotaEntity(None, DEFAULT)
    return ()
