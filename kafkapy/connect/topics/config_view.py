"""Builds the current configs from the records of the configs topic. No I/O."""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Callable
from typing import Any

from kafkapy.connect.storage import (
    ClusterConfigState,
    ConfigTransformer,
    ConfigUpdateListener,
    ConnectorTaskId,
    RestartRequest,
    SessionKey,
    TargetState,
)
from kafkapy.connect.topics import config_records as records
from kafkapy.connect.topics.topic_json import as_properties, java_kind, loads

log = logging.getLogger("kafkapy.connect.topics")

Update = Callable[[ConfigUpdateListener], None]
"""A call of the listener."""

_Config = dict[str, str | None]


class ConfigView:
    """The configs after one record.

    Invariant: configs of tasks are kept in `_deferred` until their commit record; snapshots have copies of the dicts,
    which never change. As in Kafka, the task generation and fencing record of a removed connector remain.
    """

    def __init__(self, transformer: ConfigTransformer | None = None) -> None:
        self._transformer = transformer
        self._offset = -1
        self._session_key: SessionKey | None = None
        self._task_counts: dict[str, int] = {}
        self._configs: dict[str, _Config] = {}
        self._target_states: dict[str, TargetState] = {}
        self._task_configs: dict[ConnectorTaskId, _Config] = {}
        self._task_count_records: dict[str, int] = {}
        self._generations: dict[str, int] = {}
        self._applied: dict[str, _Config] = {}
        self._pending_fencing: set[str] = set()
        self._inconsistent: set[str] = set()
        self._deferred: dict[str, dict[ConnectorTaskId, _Config]] = {}

    def contains(self, connector: str) -> bool:
        return connector in self._configs

    def snapshot(self) -> ClusterConfigState:
        return ClusterConfigState(
            self._offset,
            self._session_key,
            dict(self._task_counts),
            dict(self._configs),
            dict(self._target_states),
            dict(self._task_configs),
            dict(self._task_count_records),
            dict(self._generations),
            dict(self._applied),
            frozenset(self._pending_fencing),
            frozenset(self._inconsistent),
            self._transformer,
        )

    def apply(self, key: str | None, value: bytes | None, offset: int) -> Update | None:
        """Apply a record.

        Returns:
            The call of the listener; None: no call is needed.
        """
        try:
            content = loads(value)
        except ValueError as error:
            log.error("Failed to convert config data to Kafka Connect format: %s", error)
            return None
        self._offset = offset + 1
        if key is None:
            return None
        for prefix, take in (
            (records.TARGET_STATE, self._target_state),
            (records.CONNECTOR, self._connector_config),
            (records.TASK, self._task_config),
            (records.COMMIT, self._commit),
            (records.RESTART, _restart),
            (records.TASKS_FENCING, self._task_count_record),
            (records.LOGGER_CLUSTER, _logger_level),
        ):
            if key.startswith(prefix):
                return take(key.removeprefix(prefix), content)
        if key == records.SESSION_KEY:
            return self._take_session_key(content)
        log.error("Discarding config update record with invalid key: %s", key)
        return None

    def _target_state(self, connector: str, content: Any) -> Update | None:
        if content is None:
            self._target_states.pop(connector, None)
            if connector in self._configs:
                self._target_states[connector] = TargetState.STARTED
            return None
        if not isinstance(content, dict):
            log.error("Ignoring target state for connector '%s' because it is a %s", connector, java_kind(content))
            return None
        text = content.get("state.v2")
        if not isinstance(text, str):
            text = content.get("state")
        state = TargetState.__members__.get(text) if isinstance(text, str) else None
        if state is None:
            log.error("Invalid target state for connector '%s': %s", connector, text)
            return None
        changed = self._target_states.get(connector) is not state
        self._target_states[connector] = state
        if not changed or connector not in self._configs:
            return None
        return lambda listener: listener.on_connector_target_state_change(connector)

    def _connector_config(self, connector: str, content: Any) -> Update | None:
        if content is None:
            self._remove(connector)
            log.info("Successfully processed removal of connector '%s'", connector)
            return lambda listener: listener.on_connector_config_remove(connector)
        config = as_properties(content.get("properties")) if isinstance(content, dict) else None
        if config is None:
            log.error("Ignoring configuration for connector '%s' because it is in the wrong format", connector)
            return None
        self._configs[connector] = config
        self._target_states.setdefault(connector, TargetState.STARTED)
        return lambda listener: listener.on_connector_config_update(connector)

    def _task_config(self, rest: str, content: Any) -> Update | None:
        task = records.parse_task_key(records.TASK + rest)
        if task is None:
            log.error("Ignoring task configuration because task-%s couldn't be parsed as a task config key", rest)
            return None
        config = as_properties(content.get("properties")) if isinstance(content, dict) else None
        if config is None:
            log.error("Ignoring task configuration for task %s because it is in the wrong format", task)
            return None
        self._deferred.setdefault(task.connector, {})[task] = config
        return None

    def _commit(self, connector: str, content: Any) -> Update | None:
        config = self._configs.get(connector)
        if config is None:
            self._remove(connector)  # the commit record of a deleted connector, left by compaction
            return None
        count = _whole(content, "tasks")
        if count is None:
            log.error("Ignoring connector tasks configuration commit for connector '%s' in the wrong format", connector)
            return None
        deferred = self._deferred.get(connector)
        updated: list[ConnectorTaskId] = []
        if not {ConnectorTaskId(connector, number) for number in range(count)} <= (deferred or {}).keys():
            self._inconsistent.add(connector)
        else:
            if deferred is not None:
                self._task_configs.update(deferred)
                updated = list(deferred)
                self._generations[connector] = self._generations.get(connector, -1) + 1
            self._inconsistent.discard(connector)
            self._applied[connector] = config
        if deferred is not None:
            deferred.clear()
        self._task_counts[connector] = count
        self._pending_fencing.add(connector)
        return lambda listener: listener.on_task_config_update(updated)

    def _task_count_record(self, connector: str, content: Any) -> Update | None:
        count = _whole(content, "task-count")
        if count is None:
            log.error("Ignoring task count record for connector '%s' because it is in the wrong format", connector)
            return None
        self._task_count_records[connector] = count
        self._pending_fencing.discard(connector)
        return None

    def _take_session_key(self, content: Any) -> Update | None:
        if not isinstance(content, dict):
            log.error("Ignoring session key because the value is not a Map but is %s", java_kind(content))
            return None
        text, algorithm, created = (content.get(name) for name in ("key", "algorithm", "creation-timestamp"))
        if not isinstance(text, str) or not isinstance(algorithm, str) or type(created) is not int:
            log.error("Ignoring session key because its fields are not a key, an algorithm and a time")
            return None
        try:
            key = SessionKey(base64.b64decode(text, validate=True), algorithm, created)
        except binascii.Error:
            log.error("Ignoring session key because it is not in base 64")
            return None
        self._session_key = key
        return lambda listener: listener.on_session_key_update(key)

    def _remove(self, connector: str) -> None:
        self._configs.pop(connector, None)
        self._task_counts.pop(connector, None)
        for task in [task for task in self._task_configs if task.connector == connector]:
            del self._task_configs[task]
        self._deferred.pop(connector, None)
        self._applied.pop(connector, None)


def _whole(content: Any, name: str) -> int | None:
    """Return a plausible number of tasks, so that a corrupt record can't make the worker build an endless list."""
    number = content.get(name) if isinstance(content, dict) else None
    return number if type(number) is int and 0 <= number <= 1_000_000 else None


def _restart(connector: str, content: Any) -> Update | None:
    if not isinstance(content, dict):
        log.error("Ignoring restart request because the value is not a Map but is %s", java_kind(content))
        return None
    request = RestartRequest(connector, content.get("only-failed") is True, content.get("include-tasks") is True)
    return lambda listener: listener.on_restart_request(request)


def _logger_level(namespace: str, content: Any) -> Update | None:
    level = content.get("level") if isinstance(content, dict) else None
    if not isinstance(level, str):
        log.error("Ignoring logging level for namespace %s because it is in the wrong format", namespace)
        return None
    return lambda listener: listener.on_logging_level_update(namespace, level)
