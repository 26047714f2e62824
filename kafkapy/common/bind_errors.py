"""Explains why a server cannot bind an address, and how to fix it."""

from __future__ import annotations

import errno
import os
import socket

_REMEDIES = {
    errno.EADDRINUSE: "Another process uses the port (`ss -ltnp` names it): stop it or choose another port in {setting}",
    errno.EADDRNOTAVAIL: "This machine has no such address: name one of its own in {setting}, or leave the host out to "
    "listen at all of them",
    errno.EACCES: "Only privileged processes may use ports below 1024: choose a higher one in {setting}, or allow this one "
    "(AmbientCapabilities=CAP_NET_BIND_SERVICE of a systemd unit)",
    errno.EAFNOSUPPORT: "This machine has no addresses of that family (IPv6): choose another address in {setting}",
}
_UNKNOWN_HOST = "This machine cannot resolve that host name: choose another host or an address in {setting}"


def cause_and_remedy(problem: object, setting: str) -> str:
    """Return the cause, and the remedy if one is known, without a full stop at the end.

    `problem`: the `OSError` of the bind or of the host look-up. `setting`: the config that has the address, e.g.
    `'listeners'`.
    """
    if isinstance(problem, socket.gaierror):
        return f"{problem.strerror}. {_UNKNOWN_HOST.format(setting=setting)}"
    if not isinstance(problem, OSError) or problem.errno is None:
        return str(problem)
    sentences = [os.strerror(problem.errno)]
    if problem.errno in _REMEDIES:
        sentences.append(_REMEDIES[problem.errno].format(setting=setting))
    return ". ".join(sentences)


def is_taken(problem: object) -> bool:
    """Return whether another process uses the address."""
    return isinstance(problem, OSError) and problem.errno == errno.EADDRINUSE
