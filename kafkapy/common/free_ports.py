"""Ports for servers that are about to start."""

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
    """`count` ports that nobody listens on.

    They lie below those that the system gives to outgoing connections, if it leaves any there: a port that is free now would
    else be taken by any client of any program until the server binds it, or while the server is restarted.
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
