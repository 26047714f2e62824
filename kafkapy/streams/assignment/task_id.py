"""Names of tasks and of the instances that run them."""

from __future__ import annotations

from typing import NamedTuple


class TaskId(NamedTuple):
    """One partition of one sub-topology.

    Example:
        >>> str(TaskId(0, 3)), parse_task_id("1_2")
        ('0_3', TaskId(subtopology=1, partition=2))
    """

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"


def parse_task_id(text: str) -> TaskId:
    """The task that a directory or an error names.

    Raises:
        ValueError: It is no task's name.
    """
    subtopology, separator, partition = text.partition("_")
    if not (separator and subtopology.isdecimal() and partition.isdecimal()):
        raise ValueError(f"{text!r} is no id of a task, which must read like 0_1")
    return TaskId(int(subtopology), int(partition))


class ProcessId(NamedTuple):
    """A UUID of an instance, as two signed numbers of 64 bits: Java orders UUIDs so."""

    most: int
    least: int

    @classmethod
    def of(cls, value: bytes) -> ProcessId:
        """Of 16 bytes."""
        return cls(int.from_bytes(value[:8], "big", signed=True), int.from_bytes(value[8:16], "big", signed=True))

    def __bytes__(self) -> bytes:
        return self.most.to_bytes(8, "big", signed=True) + self.least.to_bytes(8, "big", signed=True)

    def __str__(self) -> str:
        text = bytes(self).hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class HostInfo(NamedTuple):
    """Where an instance answers queries (`application.server`)."""

    host: str
    port: int


def parse_host_info(end_point: str | None) -> HostInfo | None:
    """Of `host:port`; None for none.

    Raises:
        ValueError: It reads differently.
    """
    if not end_point:
        return None
    host, separator, port = end_point.rpartition(":")
    if not (separator and host and port.isdecimal()):
        raise ValueError(f"application.server must read like host:port, not {end_point!r}")
    return HostInfo(host.strip("[]"), int(port))
