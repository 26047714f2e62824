"""Keys and values of the status topic, in the format of Kafka's `KafkaStatusBackingStore`."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.connect.storage import ConnectorStatus, ConnectorTaskId, StatusState, TaskStatus, TopicStatus
from kafkapy.connect.topics.topic_json import dumps, loads

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
_TOPIC_SEPARATOR = ":connector-"


def connector_key(connector: str) -> str:
    return CONNECTOR + connector


def task_key(task: ConnectorTaskId) -> str:
    return f"{TASK}{task.connector}-{task.task}"


def topic_key(topic: str, connector: str) -> str:
    return TOPIC + topic + _TOPIC_SEPARATOR + connector


def status_value(status: ConnectorStatus | TaskStatus) -> bytes | None:
    """Return the value of a status; None (a tombstone) for DESTROYED.

    Example:
        >>> status_value(ConnectorStatus("a", StatusState.RUNNING, "w:1", 3))
        b'{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}'
    """
    if status.state is StatusState.DESTROYED:
        return None
    return dumps(
        {
            "state": status.state.name,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
        }
    )


def topic_value(status: TopicStatus) -> bytes:
    return dumps(
        {
            "topic": {
                "name": status.topic,
                "connector": status.connector,
                "task": status.task,
                "discoverTimestamp": status.discover_timestamp,
            }
        }
    )


class ParsedStatus(NamedTuple):
    state: StatusState
    trace: str | None
    worker_id: str
    generation: int


def parse_status(value: bytes) -> ParsedStatus | None:
    """Parse a status; None: the record is corrupt."""
    content = _content(value)
    if content is None:
        return None
    state = StatusState.__members__.get(str(content.get("state")))
    trace, worker, generation = (content.get(name) for name in ("trace", "worker_id", "generation"))
    if state is None or not isinstance(trace, str | None) or not isinstance(worker, str):
        return None
    if not isinstance(generation, int) or isinstance(generation, bool):
        return None
    return ParsedStatus(state, trace, worker, generation)


def parse_topic_status(value: bytes) -> TopicStatus | None:
    content = _content(value)
    inner = content.get("topic") if content is not None else None
    if not isinstance(inner, dict):
        return None
    name, connector, task, found = (inner.get(each) for each in ("name", "connector", "task", "discoverTimestamp"))
    if not (isinstance(name, str) and isinstance(connector, str) and type(task) is int and type(found) is int):
        return None
    return TopicStatus(name, connector, task, found)


def parse_task_key(key: str) -> ConnectorTaskId | None:
    parts = key.split("-")
    number = parts[-1]
    if len(parts) < 4 or not (number.isascii() and number.isdigit()) or len(number) > 10:
        return None
    return ConnectorTaskId("-".join(parts[2:-1]), int(number))


def parse_topic_key(key: str) -> tuple[str, str] | None:
    """Return topic and connector of a key; None: it is another key."""
    topic, separator, connector = key.removeprefix(TOPIC).partition(":")
    connector = connector.removeprefix(_TOPIC_SEPARATOR[1:])
    return (topic, connector) if topic and separator and connector else None


def _content(value: bytes) -> dict[str, Any] | None:
    try:
        content = loads(value)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None
