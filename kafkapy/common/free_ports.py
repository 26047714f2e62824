"""Finds free ports for servers that are about to start."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

_LOWEST, _HIGHEST = 10_000, 65_535
_EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_EPHEMERAL = 32_768
"""Linux's default."""


def free_ports(count: int, host: str = "127.0.0.1") -> list[int]:
    """Return `count` ports on which no process listens.

    They are below the ephemeral ports, if there are enough: otherwise any outgoing connection could take a port before
    the server binds it, or while the server restarts.
    """
    ports: list[int] = []
    tries = 8 * count + 64
    end = _first_ephemeral()
    if end - _LOWEST < tries:
        end = _HIGHEST
    candidates = random.sample(range(_LOWEST, end), k=tries)
    with ExitStack() as held:
        for port in candidates:
            with suppress(OSError):
                held.enter_context(socket.create_server((host, port)))
                ports.append(port)
            if len(ports) == count:
                return ports
    raise OSError(f"no {count} free ports found between {_LOWEST} and {end} on {host}")


def _first_ephemeral() -> int:
    try:
        return int(_EPHEMERAL_PORTS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _FIRST_EPHEMERAL
