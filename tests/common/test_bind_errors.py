from __future__ import annotations

import errno
import socket

import pytest

from kafkapy.common.bind_errors import cause_and_remedy, is_taken


@pytest.mark.parametrize(
    ("problem", "sentences"),
    [
        (
            OSError(errno.EADDRINUSE, "x"),
            "Address already in use. Another process uses the port (`ss -ltnp` names it): stop it or choose another port in s",
        ),
        (
            OSError(errno.EADDRNOTAVAIL, "x"),
            "Cannot assign requested address. This machine has no such address: name one of its own in s, or leave the host out "
            "to listen at all of them",
        ),
        (
            PermissionError(errno.EACCES, "x"),
            "Permission denied. Only privileged processes may use ports below 1024: choose a higher one in s, or allow this one "
            "(AmbientCapabilities=CAP_NET_BIND_SERVICE of a systemd unit)",
        ),
        (
            socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
            "Name or service not known. This machine cannot resolve that host name: choose another host or an address in s",
        ),
        (OSError(errno.EMFILE, "x"), "Too many open files"),
        ("something else", "something else"),
    ],
)
def test_each_has_its_remedy(problem: object, sentences: str) -> None:
    assert cause_and_remedy(problem, "s") == sentences


def test_only_a_port_in_use_may_become_free() -> None:
    assert is_taken(OSError(errno.EADDRINUSE, ""))
    assert not is_taken(OSError(errno.EADDRNOTAVAIL, ""))
    assert not is_taken("in use")
