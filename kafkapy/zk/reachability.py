"""Diagnoses why servers give no ZooKeeper session, by requesting one from each."""

from __future__ import annotations

import socket
import threading
import time

from kafkapy.zk.client_security import PLAINTEXT, ZkClientSecurity
from kafkapy.zk.embedded.plain_client import PlainClient
from kafkapy.zk.session_closer import Session

PROBE_SECONDS = 2.0
"""Time limit for a server that accepts connections without answering."""


def cause(problem: OSError) -> str:
    """Return the meaning of an error of a `PlainClient`, with what to check."""
    if isinstance(problem, socket.gaierror):
        return f"no host of that name is known ({problem.strerror})"
    if isinstance(problem, ConnectionRefusedError):
        return "the connection is refused: nothing listens at that port. Is ZooKeeper running?"
    if isinstance(problem, TimeoutError):
        return "it is silent: the host is down, a firewall drops what is sent, or what listens there is no ZooKeeper"
    if isinstance(problem, ConnectionError):
        return str(problem)
    return problem.strerror or str(problem)


def why_unreachable(connect: str, seconds: float = PROBE_SECONDS, security: ZkClientSecurity = PLAINTEXT) -> str:
    """Return a clause for each server of `host:port[,host:port]...[/chroot]`. Takes `seconds` at most."""
    addresses = Session(0, b"", 0, connect).addresses()
    found: dict[tuple[str, int], str] = {}

    def probe(address: tuple[str, int]) -> None:
        try:
            PlainClient([address], seconds, security).close()
        except OSError as error:
            found[address] = cause(error)
        else:
            found[address] = "it gives sessions now: it has just begun to, or is too slow for the time-out"

    threads = [threading.Thread(target=probe, args=[address], daemon=True) for address in addresses]
    deadline = time.monotonic() + seconds
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(deadline - time.monotonic(), 0))
    silent = cause(TimeoutError())
    return "; ".join(f"{host}:{port}: {found.get((host, port), silent)}" for host, port in addresses)
