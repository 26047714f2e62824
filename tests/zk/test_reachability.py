"""What is said of servers that give no ZooKeeper session."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kafkapy.common.free_ports import free_ports
from kafkapy.zk.reachability import cause, why_unreachable

Behaviour = Callable[[socket.socket], object]


@contextmanager
def server(behaviour: Behaviour) -> Iterator[str]:
    """Listens and does that to the first connection; its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection = listening.accept()[0]
            with connection:
                connection.recv(1000)
                behaviour(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it is no ZooKeeper but an HTTP server"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "it is no ZooKeeper but a port that expects TLS"),
        (b"SSH-2.0-OpenSSH", "it is no ZooKeeper but something that answers with the bytes 53 53 48 2d"),
        (b"", "it hangs up: it is no ZooKeeper, or one of an ensemble that has no quorum, or its port expects TLS"),
    ],
)
def test_a_server_that_is_no_zookeeper(answer: bytes, said: str) -> None:
    with server(lambda connection: connection.sendall(answer)) as address:
        assert why_unreachable(f"{address}/chroot") == f"{address}: {said}"


def test_one_that_says_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        assert why_unreachable(address, 0.05).startswith(f"{address}: it is silent")


def test_each_server_has_its_clause() -> None:
    first, second = (f"127.0.0.1:{port}" for port in free_ports(2))
    refused = "the connection is refused: nothing listens at that port. Is ZooKeeper running?"
    assert why_unreachable(f"{first},{second}") == f"{first}: {refused}; {second}: {refused}"


def test_a_host_that_is_unknown() -> None:
    problem = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert cause(problem) == "no host of that name is known (Name or service not known)"


def test_other_errors_of_the_system() -> None:
    assert cause(OSError(101, "Network is unreachable")) == "Network is unreachable"
