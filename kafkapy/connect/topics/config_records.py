"""Keys and values of the configs topic, in the format of Kafka's `KafkaConfigBackingStore`."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from kafkapy.connect.storage import ConnectorTaskId, RestartRequest, SessionKey, TargetState
from kafkapy.connect.topics.topic_json import dumps

CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
TARGET_STATE = "target-state-"
TASKS_FENCING = "tasks-fencing-"
RESTART = "restart-connector-"
LOGGER_CLUSTER = "logger-cluster-"
SESSION_KEY = "session-key"


def connector_config_value(config: Mapping[str, str | None]) -> bytes:
    """Return the value for a key `connector-NAME` or `task-NAME-NUMBER`.

    Example:
        >>> connector_config_value({"name": "a"})
        b'{"properties":{"name":"a"}}'
    """
    return dumps({"properties": dict(config)})


def commit_value(tasks: int) -> bytes:
    return dumps({"tasks": tasks})


def target_state_value(state: TargetState) -> bytes:
    """Return the value of a target state; STOPPED includes PAUSED for older workers (KIP-875)."""
    old = TargetState.PAUSED if state is TargetState.STOPPED else state
    return dumps({"state": old.name, "state.v2": state.name})


def task_count_value(tasks: int) -> bytes:
    return dumps({"task-count": tasks})


def session_key_value(key: SessionKey) -> bytes:
    return dumps(
        {
            "key": base64.b64encode(key.key).decode(),
            "algorithm": key.algorithm,
            "creation-timestamp": key.creation_timestamp,
        }
    )


def restart_value(request: RestartRequest) -> bytes:
    return dumps({"include-tasks": request.include_tasks, "only-failed": request.only_failed})


def logger_level_value(level: str) -> bytes:
    return dumps({"level": level})


def parse_task_key(key: str) -> ConnectorTaskId | None:
    """Parse a key `task-NAME-NUMBER`; None: it is another key.

    Example:
        >>> parse_task_key("task-my-name-3")
        my-name-3
    """
    parts = key.split("-")
    number = parts[-1]
    if len(parts) < 3 or not (number.isascii() and number.isdigit()) or len(number) > 10:
        return None
    return ConnectorTaskId("-".join(parts[1:-1]), int(number))
