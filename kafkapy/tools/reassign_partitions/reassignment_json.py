"""Reads and writes the JSON files of kafka-reassign-partitions and kafka-leader-election."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from kafkapy.common import strict_json
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.structs import TopicPartitionReplica
from kafkapy.tools.common.command_line import ToolError

ANY_LOG_DIR = "any"

H = TypeVar("H", bound=Hashable)


class Reassignment(NamedTuple):
    """The content of a file: the replicas of partitions, in the file's order, and directories for some of them."""

    partitions: list[tuple[TopicPartition, list[int]]]
    log_dirs: dict[TopicPartitionReplica, str]

    def check(self) -> None:
        """Check that the plan can be carried out. Raises ToolError."""
        if not self.partitions:
            raise ToolError("Error: Partition reassignment list cannot be empty")
        if not all(replicas for _, replicas in self.partitions):
            raise ToolError("Error: Partition replica list cannot be empty")
        if twice := duplicates([partition for partition, _ in self.partitions]):
            raise ToolError(
                f"Error: Partition reassignment contains duplicate topic partitions: {','.join(map(str, twice))}"
            )
        if sentences := [
            f"{partition} contains multiple entries for {','.join(map(str, duplicates(replicas)))}"
            for partition, replicas in self.partitions
            if duplicates(replicas)
        ]:
            raise ToolError(f"Error: Partition replica lists may not contain duplicate entries: {'. '.join(sentences)}")


def read_reassignment(path: str) -> Reassignment:
    """Parse the file of `--reassignment-json-file`. Raises ToolError."""
    reassignment = Reassignment([], {})
    for entry in _list(_read(path), "partitions"):
        partition = TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int))
        replicas = _field(entry, "replicas", list, int)
        log_dirs = _field(entry, "log_dirs", list, str) if "log_dirs" in entry else [ANY_LOG_DIR] * len(replicas)
        if len(replicas) != len(log_dirs):
            raise ToolError(
                f"Error: Size of replicas list {_java(replicas)} is different from size of log dirs list "
                f"{_java(log_dirs)} for partition {partition}"
            )
        reassignment.partitions.append((partition, replicas))
        for replica, log_dir in zip(replicas, log_dirs, strict=True):
            if log_dir != ANY_LOG_DIR:
                reassignment.log_dirs[TopicPartitionReplica(*partition, replica)] = log_dir
    return reassignment


def read_topics(path: str) -> list[str]:
    """Parse the file of `--topics-to-move-json-file`. Raises ToolError."""
    topics = [_field(entry, "topic", str) for entry in _list(_read(path), "topics")]
    if twice := duplicates(topics):
        raise ToolError(f"Error: List of topics to reassign contains duplicate entries: {_java(twice)}")
    return topics


def read_election(path: str) -> list[TopicPartition]:
    """Parse the file of `--path-to-json-file`. Raises ToolError."""
    try:
        document = strict_json.loads(_content(path))
    except strict_json.JsonError as error:
        raise ToolError(f"Replica election data is empty: {error}") from None
    if "partitions" not in _object(document):
        raise ToolError('Replica election data is missing "partitions" field')
    partitions = [
        TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int))
        for entry in _list(document, "partitions")
    ]
    if twice := duplicates(partitions):
        raise ToolError(f"Replica election data contains duplicate partitions: {_java(twice)}")
    return partitions


def format_reassignment(partitions: Mapping[TopicPartition, Sequence[int]]) -> str:
    """One line of JSON that `--reassignment-json-file` takes."""
    entries = [
        {"topic": p.topic, "partition": p.partition, "replicas": replicas, "log_dirs": [ANY_LOG_DIR] * len(replicas)}
        for p, replicas in sorted(partitions.items())
    ]
    return json.dumps({"version": 1, "partitions": entries}, separators=(",", ":"))


def duplicates(things: Sequence[H]) -> list[H]:
    return [thing for thing in dict.fromkeys(things) if things.count(thing) > 1]


def _java(things: Iterable[object]) -> str:
    """A collection as Java prints it."""
    return f"[{', '.join(map(str, things))}]"


def _read(path: str) -> dict[str, Any]:
    try:
        document = _object(strict_json.loads(_content(path)))
    except strict_json.JsonError as error:
        raise ToolError(f"Error: The input string is not a valid JSON: {error}") from None
    version = _field(document, "version", int) if "version" in document else 1
    if version != 1:
        raise ToolError(f"Error: Not supported version field value {version}")
    return document


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ToolError(f"Error: Unable to read file {path} ({error.strerror})") from error


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ToolError(f"Error: Expected JSON object, received {_json(value)}")
    return value


def _list(document: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of a list; empty if the value is no list."""
    value = document.get(name, [])
    if not isinstance(value, list):
        raise ToolError(f"Error: Expected JSON array, received {_json(value)}")
    return [_object(entry) for entry in value]


_INT32 = range(-(2**31), 2**31)
_JAVA_TYPES: dict[type, str] = {str: "String", int: "Integer", list: "JSON array"}


def _field(entry: dict[str, Any], name: str, type_: type, of: type | None = None) -> Any:
    if name not in entry:
        raise ToolError(f"Error: No such field exists: `{name}`")
    value = _typed(entry[name], type_)
    if of is not None:
        for item in value:
            _typed(item, of)
    return value


def _typed(value: Any, type_: type) -> Any:
    if type(value) is not type_ or (type_ is int and value not in _INT32):
        raise ToolError(f"Error: Expected `{_JAVA_TYPES[type_]}` value, received {_json(value)}")
    return value


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
