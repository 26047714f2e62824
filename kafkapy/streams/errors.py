"""The exceptions of Streams, with the names and meanings of `org.apache.kafka.streams.errors`.

Java's general exceptions are Python's: IllegalArgumentException is ValueError, NullPointerException TypeError,
IllegalStateException RuntimeError, UnsupportedOperationException NotImplementedError, SerializationException ValueError.
"""

from __future__ import annotations

from collections.abc import Collection

from kafkapy.common.topic_partition import TopicPartition


class StreamsException(Exception):
    """The application cannot continue; the cause is chained."""


class TopologyException(StreamsException):
    """The topology is invalid; detected while it is built or started."""

    def __init__(self, message: str) -> None:
        super().__init__(f"Invalid topology: {message}")


class ProcessorStateException(StreamsException):
    """A state store could not be read, written or restored."""


class InvalidStateStoreException(StreamsException):
    """A store is closed, unknown, of another type, or not ready to be queried."""


class UnknownStateStoreException(InvalidStateStoreException):
    """The topology has no store of this name."""


class InvalidStateStorePartitionException(InvalidStateStoreException):
    """This instance does not have the partition of the store."""


class StreamsNotStartedException(InvalidStateStoreException):
    """The instance was not started yet."""


class TaskCorruptedException(StreamsException):
    """The state of a task does not match its changelogs; it is deleted and restored.

    Args:
        message: The error message.
        partitions: The affected changelog partitions.
    """

    def __init__(self, message: str = "", partitions: Collection[TopicPartition] = ()) -> None:
        super().__init__(message)
        self.partitions = list(partitions)


class TaskMigratedException(StreamsException):
    """Another instance runs the task now; this one must rejoin the group."""


class MissingSourceTopicException(StreamsException):
    """A topic that the topology reads does not exist."""
