"""Computes the configs of a process of an application that runs in several processes on one machine."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from typing import Final

from kafkapy.tools.common.command_line import ToolError

_INSTANCE_IDS: Final = ("group.instance.id", "consumer.group.instance.id", "main.consumer.group.instance.id")


def process_configs(configs: Mapping[str, str], number: int) -> dict[str, str]:
    """Return the configs of process `number`: unchanged for the first one; with their own state directory, client ids,
    member ids and port for the others.

    They do not change with a restart, so that a process finds its stores.

    Args:
        configs: The application's, by Kafka's names.
        number: Number of the process, from 1.

    Raises:
        ToolError: `application.server` is not of the form host:port.

    Example:
        >>> found = process_configs({"state.dir": "/var/lib/counts", "application.server": "localhost:9000"}, 2)
        >>> found["state.dir"], found["application.server"]
        ('/var/lib/counts/process-2', 'localhost:9001')
    """
    changed = dict(configs)
    if number == 1:
        return changed
    state = changed.get("state.dir") or f"{tempfile.gettempdir()}/kafka-streams"
    changed["state.dir"] = f"{state}/process-{number}"
    for name in ("client.id", *_INSTANCE_IDS):
        if changed.get(name):
            changed[name] = f"{changed[name]}-{number}"
    if changed.get("application.server"):
        changed["application.server"] = _next_port(changed["application.server"], number - 1)
    return changed


def _next_port(server: str, more: int) -> str:
    host, _, port = server.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) + more < 65536:
        raise ToolError(
            f"application.server: {server!r} is no host:port with {more} ports after it, one for each process"
        )
    return f"{host}:{int(port) + more}"
