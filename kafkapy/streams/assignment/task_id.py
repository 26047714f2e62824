"""Identifiers of tasks and of instances."""

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
    """Parse a task id, such as the name of a task directory.

    Raises:
        ValueError: It is not a task id.
    """
    subtopology, separator, partition = text.partition("_")
    if not (separator and subtopology.isdecimal() and partition.isdecimal()):
        raise ValueError(f"{text!r} is no id of a task, which must read like 0_1")
    return TaskId(int(subtopology), int(partition))


class ProcessId(NamedTuple):
    """The UUID of an instance, as two signed 64-bit numbers for Java's order of UUIDs."""

    most: int
    least: int

    @classmethod
    def of(cls, value: bytes) -> ProcessId:
        """Create from 16 bytes."""
        return cls(int.from_bytes(value[:8], "big", signed=True), int.from_bytes(value[8:16], "big", signed=True))

    def __bytes__(self) -> bytes:
        return self.most.to_bytes(8, "big", signed=True) + self.least.to_bytes(8, "big", signed=True)

    def __str__(self) -> str:
        text = bytes(self).hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


class HostInfo(NamedTuple):
    """Host and port of an instance for interactive queries (`application.server`)."""

    host: str
    port: int


def parse_host_info(end_point: str | None) -> HostInfo | None:
    """Parse `host:port`; None for None or an empty text.

    Raises:
        ValueError: It has another form.
    """
    if not end_point:
        return None
    host, separator, port = end_point.rpartition(":")
    if not (separator and host and port.isdecimal()):
        raise ValueError(f"application.server must read like host:port, not {end_point!r}")
    return HostInfo(host.strip("[]"), int(port))
