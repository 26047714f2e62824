"""Small files beside the data: offset and epoch checkpoints, the clean-shutdown marker, topic and broker identity.

All are replaced as a whole: written to `<name>.tmp`, fsynced, renamed over the old file, directory fsynced. A crash
leaves the old or the new file, and possibly a stale `.tmp` that the next write overwrites.
"""

from __future__ import annotations

import json
import os
import re
import time as _time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from kafkapy.common import uuid
from kafkapy.common.capabilities import sync as make_durable
from kafkapy.common.limits import MAX_INT, MAX_LONG
from kafkapy.common.properties import load_file
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.log_files import delete_if_exists, fsync_dir, read_small_file

RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
CLEANER_OFFSET_CHECKPOINT = "cleaner-offset-checkpoint"
LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
PARTITION_METADATA_FILE = "partition.metadata"
META_PROPERTIES_FILE = "meta.properties"

_CHECKPOINT_VERSION = 0
_META_PROPERTIES_VERSIONS = (0, 1)
_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)

_EFFECT_OF_REMOVAL = {
    RECOVERY_POINT_CHECKPOINT: "without it every log of the directory is checked from its beginning",
    LOG_START_OFFSET_CHECKPOINT: "without it records come back that DeleteRecords has deleted and whose segments are still there",
    CLEANER_OFFSET_CHECKPOINT: "without it compacted logs are cleaned from their beginning once more",
    HIGH_WATERMARK_CHECKPOINT: "without it high watermarks begin at the log start until the followers have answered",
    LEADER_EPOCH_CHECKPOINT: "without it the log has only leader epochs that begin from now on",
    PARTITION_METADATA_FILE: "without it the log takes the topic id that the controller names next",
    META_PROPERTIES_FILE: "without it the directory counts as new, and is marked with this broker's id and cluster",
}
"""File name -> the consequence of removing an unreadable file."""

Entry = TypeVar("Entry")


class MalformedFileError(OSError):
    """A checkpoint or metadata file with invalid content. The message has the file name, the error and the remedy."""


def _malformed(what: str, path: str, error: object) -> MalformedFileError:
    without = _EFFECT_OF_REMOVAL.get(os.path.basename(path))
    remedy = f". Restore it from a backup, or remove it: {without}" if without else ""
    return MalformedFileError(f"Malformed {what} {path}: {error}{remedy}")


def _number(text: str, most: int, least: int = 0) -> int:
    """Parse a decimal number in a range. Raises `ValueError`."""
    if not _NUMBER.fullmatch(text) or not least <= (number := int(text)) <= most:
        raise ValueError(f"{text[:40]!r} is no number from {least} to {most}")
    return number


def write_atomically(path: str, content: bytes, sync: bool = True) -> None:
    """Replace a file as a whole. Without `sync` it survives a crash of the process, but not of the machine."""
    temporary = path + ".tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(fd, view) :]
        if sync:
            make_durable(fd)
    finally:
        os.close(fd)
    os.replace(temporary, path)
    if sync:
        fsync_dir(os.path.dirname(path))


def _write_checkpoint(path: str, lines: Iterable[str], sync: bool = True) -> None:
    body = list(lines)
    text = "\n".join([str(_CHECKPOINT_VERSION), str(len(body)), *body]) + "\n"
    write_atomically(path, text.encode(), sync)


def _read_checkpoint(path: str, parse: Callable[[list[str]], Entry]) -> list[Entry]:
    """Read all entries; none if the file does not exist. `MalformedFileError` for anything but a complete version 0."""
    try:
        lines = read_small_file(path).decode().splitlines()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError as error:
        raise _malformed("checkpoint file", path, error) from None
    try:
        if not lines:
            return []
        if lines[0] != str(_CHECKPOINT_VERSION):
            raise ValueError(f"unrecognized version {lines[0][:40]!r}")
        if len(lines) < 2:
            raise ValueError("the number of entries is missing")
        count, body = _number(lines[1], MAX_INT), lines[2:]
        if count != len(body):
            raise ValueError(f"expected {count} entries but found {len(body)}")
        return [parse(line.split()) for line in body]
    except ValueError as error:
        raise _malformed("checkpoint file", path, error) from None


class OffsetCheckpointFile:
    """Offsets by partition, as text: a line `0`, a line `<count>`, then lines `<topic> <partition> <offset>` (Kafka's
    class).
    """

    def __init__(self, path: str) -> None:
        self.path = path

    def create(self) -> None:
        """Create an empty file if there is none, as Kafka does at start. Raises `OSError`."""
        open(self.path, "ab").close()

    def write(self, offsets: Mapping[TopicPartition, int], sync: bool = True) -> None:
        """Replace the file; see `write_atomically`. Raises `OSError`."""
        lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in offsets.items()]
        _write_checkpoint(self.path, lines, sync)

    def read(self) -> dict[TopicPartition, int]:
        """All offsets; empty if there is no file. Raises `OSError` (`MalformedFileError`)."""
        return dict(_read_checkpoint(self.path, _parse_offset))


def _parse_offset(fields: list[str]) -> tuple[TopicPartition, int]:
    if len(fields) != 3:
        raise ValueError(f"{' '.join(fields)[:80]!r} is no topic, partition and offset")
    topic, partition, offset = fields
    return TopicPartition(topic, _number(partition, MAX_INT)), _number(offset, MAX_LONG)


class LeaderEpochCheckpointFile:
    """Lines `<epoch> <start offset>`, in the format of the offset checkpoints, in the partition's directory."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{LEADER_EPOCH_CHECKPOINT}"

    def write(self, entries: Iterable[tuple[int, int]], sync: bool = True) -> None:
        _write_checkpoint(self.path, [f"{epoch} {offset}" for epoch, offset in entries], sync)

    def read(self) -> list[tuple[int, int]]:
        return _read_checkpoint(self.path, _parse_epoch)


def _parse_epoch(fields: list[str]) -> tuple[int, int]:
    if len(fields) != 2:
        raise ValueError(f"{' '.join(fields)[:80]!r} is no epoch and start offset")
    epoch, offset = fields
    return _number(epoch, MAX_INT), _number(offset, MAX_LONG)


class CleanShutdownFile:
    """Marks a log dir as closed cleanly by its existence. It is deleted at the next start."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{CLEAN_SHUTDOWN_FILE}"

    def exists(self) -> bool:
        return os.path.exists(self.path)

    def write(self, broker_epoch: int = -1) -> None:
        write_atomically(self.path, b'{"version":0,"brokerEpoch":%d}' % broker_epoch)

    def read(self) -> int | None:
        """Return the broker epoch in it; None if there is no file, or an older broker wrote an empty one."""
        try:
            with open(self.path, "rb") as file:
                return int(json.loads(file.read())["brokerEpoch"])
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return None

    def delete(self) -> None:
        delete_if_exists(self.path)


class PartitionMetadataFile:
    """`version: 0` and `topic_id: <22 characters>` without final newline: the topic id of the directory's log."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{PARTITION_METADATA_FILE}"

    def write(self, topic_id: bytes, sync: bool = True) -> None:
        write_atomically(self.path, f"version: 0\ntopic_id: {uuid.to_string(topic_id)}".encode(), sync)

    def read(self) -> bytes | None:
        """Return the topic id; None if there is no file, or an empty one (after a machine crash). Raises
        `MalformedFileError`.
        """
        try:
            content = read_small_file(self.path)
        except FileNotFoundError:
            return None
        if not content:
            return None
        try:
            version, topic_id = (line.split(":", 1) for line in content.decode().splitlines())
            if version[0] != "version" or version[1].strip() != "0" or topic_id[0] != "topic_id":
                raise ValueError("unknown version or fields")
            value = uuid.from_string(topic_id[1].strip())
            if value == uuid.ZERO_UUID:
                raise ValueError("the topic id is zero")
            return value
        except (ValueError, IndexError) as error:
            raise _malformed("partition metadata file", self.path, error) from None


class BrokerMetadata(NamedTuple):
    """The identity of a log dir's broker: the content of `meta.properties`."""

    broker_id: int | None = None
    cluster_id: str | None = None
    version: int = 0
    """0 in ZooKeeper mode; 1 (with node.id) after the start of a migration to KRaft."""
    directory_id: str | None = None


class BrokerMetadataCheckpoint:
    """`meta.properties` of a log dir: Java properties with broker.id, version and cluster.id."""

    def __init__(self, directory: str) -> None:
        self.path = f"{directory}/{META_PROPERTIES_FILE}"

    def write(self, metadata: BrokerMetadata) -> None:
        properties: dict[str, object] = {
            "broker.id" if metadata.version == 0 else "node.id": metadata.broker_id,
            "directory.id": metadata.directory_id,
            "version": metadata.version,
            "cluster.id": metadata.cluster_id,
        }
        date = _time.strftime("%a %b %d %H:%M:%S UTC %Y", _time.gmtime())
        lines = ["#", f"#{date}", *(f"{key}={value}" for key, value in properties.items() if value is not None)]
        write_atomically(self.path, ("\n".join(lines) + "\n").encode("latin-1"))

    def read(self) -> BrokerMetadata | None:
        """Return None if there is no file. Raises `MalformedFileError` for an unknown version or an invalid number."""
        try:
            properties = load_file(self.path)
            node = properties.get("node.id", properties.get("broker.id"))
            version = properties.get("version", "0")
            if version not in map(str, _META_PROPERTIES_VERSIONS):
                raise ValueError(f"version={version[:40]} is unknown; 0 and 1 are known")
            if properties and node is None and "cluster.id" not in properties:
                raise ValueError("it has neither broker.id nor cluster.id")
            return BrokerMetadata(
                _number(node, MAX_INT) if node is not None else None,
                properties.get("cluster.id"),
                int(version),
                properties.get("directory.id"),
            )
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise _malformed("broker metadata file", self.path, error) from None
