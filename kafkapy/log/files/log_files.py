"""Names of the files and directories of a log (Kafka's `LogFileUtils` and the name part of `LocalLog`)."""

from __future__ import annotations

import ctypes
import os
import re
import uuid
from contextlib import suppress

from kafkapy.common.capabilities import sync
from kafkapy.common.limits import MAX_INT, MAX_LONG
from kafkapy.common.topic_partition import TopicPartition

LOG_FILE_SUFFIX = ".log"
INDEX_FILE_SUFFIX = ".index"
TIME_INDEX_FILE_SUFFIX = ".timeindex"
TXN_INDEX_FILE_SUFFIX = ".txnindex"
PRODUCER_SNAPSHOT_FILE_SUFFIX = ".snapshot"

DELETED_FILE_SUFFIX = ".deleted"
"""A file that waits for delayed deletion."""
CLEANED_FILE_SUFFIX = ".cleaned"
"""Output of the cleaner or of a segment split that is still being written."""
SWAP_FILE_SUFFIX = ".swap"
"""Complete output that is about to replace old segments."""

DELETE_DIR_SUFFIX = "-delete"
FUTURE_DIR_SUFFIX = "-future"
STRAY_DIR_SUFFIX = "-stray"

MAX_DIR_NAME_LENGTH = 255
_SMALL_FILE_BYTES = 4096
"""Size of one read: enough for a checkpoint of a few lines."""
_SEGMENT_SUFFIXES = r"\.(?:log|index|timeindex|txnindex|snapshot)(?:\.cleaned|\.swap)?"
_SEGMENT_FILE_NAME = re.compile(f"([0-9]{{20}}){_SEGMENT_SUFFIXES}")
_ENDS_AS_SEGMENT_FILE = re.compile(f"{_SEGMENT_SUFFIXES}$")
_SUFFIXED_DIR = re.compile(r"^(\S+-\S+)\.\S+(-delete|-future|-stray)$")


def segment_file(directory: str, base_offset: int, file_suffix: str, suffix: str = "") -> str:
    """Return the path of one file of a segment, e.g. `<dir>/00000000000000000042.index.swap`; names sort as offsets do."""
    return f"{directory}/{base_offset:020d}{file_suffix}{suffix}"


def offset_from_file(name: str) -> int:
    """Return the base offset in a segment file's name. `ValueError` if there is none."""
    match = _SEGMENT_FILE_NAME.fullmatch(name)
    if match is None or (offset := int(match[1])) > MAX_LONG:
        raise ValueError(
            f"The file {name} is none of a log: those are named by the offset at which they begin, in 20 digits. Move it away"
        )
    return offset


def is_segment_file(name: str) -> bool:
    """Return whether the name has the suffix of a segment's file."""
    return _ENDS_AS_SEGMENT_FILE.search(name) is not None


def log_dir_name(partition: TopicPartition) -> str:
    return f"{partition.topic}-{partition.partition}"


def log_delete_dir_name(partition: TopicPartition) -> str:
    """Return `<topic>-<p>.<32 hex digits>-delete`; the topic is truncated so that the name fits in 255 characters."""
    end = f"-{partition.partition}.{uuid.uuid4().hex}{DELETE_DIR_SUFFIX}"
    return partition.topic[: MAX_DIR_NAME_LENGTH - len(end)] + end


def log_future_dir_name(partition: TopicPartition) -> str:
    """Return `<topic>-<p>.<32 hex digits>-future`, not truncated: names that are too long must be refused earlier."""
    return f"{partition.topic}-{partition.partition}.{uuid.uuid4().hex}{FUTURE_DIR_SUFFIX}"


def parse_topic_partition_name(directory: str) -> TopicPartition:
    """Return the partition of a log directory. `ValueError` if the name does not have that form."""
    name = os.path.basename(directory)
    stem = name
    if name.endswith((DELETE_DIR_SUFFIX, FUTURE_DIR_SUFFIX, STRAY_DIR_SUFFIX)):
        match = _SUFFIXED_DIR.match(name)
        stem = name[: name.rindex(".")] if match else ""
    topic, dash, partition = stem.rpartition("-")
    if not topic or not dash or not partition.isascii() or not partition.isdigit() or int(partition) > MAX_INT:
        raise ValueError(
            f"Found directory {directory}, '{name}' is not in the form of topic-partition or "
            "topic-partition.uniqueId-delete (if marked for deletion). "
            "Kafka's log directories (and children) should only contain Kafka topic data. Move it away."
        )
    return TopicPartition(topic, int(partition))


def read_small_file(path: str) -> bytes:
    """Read a file that is expected to be small, with a third of the system calls of `open`. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY)
    try:
        content = os.read(fd, _SMALL_FILE_BYTES)
        if len(content) == _SMALL_FILE_BYTES:
            while more := os.read(fd, 1 << 20):
                content += more
        return content
    finally:
        os.close(fd)


def fsync_dir(directory: str) -> None:
    """Make renames and new files of a directory durable. Ignores a directory that no longer exists."""
    fsync_file(directory, os.O_RDONLY | os.O_DIRECTORY)


def fsync_file(path: str, flags: int = os.O_RDONLY) -> None:
    """Make the content of a file durable. Ignores a file that no longer exists."""
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return
    try:
        sync(fd)
    finally:
        os.close(fd)


def sync_file_system(directory: str) -> None:
    """Make durable everything written to the directory's file system, with one call instead of thousands of fsyncs.
    `OSError`. Only available with `SYNCFS`.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if libc.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), "syncfs failed", directory)
    finally:
        os.close(fd)


def delete_if_exists(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def delete_directory(directory: str) -> None:
    """Remove a directory recursively, ignoring files that are removed concurrently. Raises `OSError`."""
    import shutil  # it imports bz2 and lzma for archives, and most brokers never delete a log

    while os.path.isdir(directory):
        with suppress(FileNotFoundError):
            shutil.rmtree(directory)
