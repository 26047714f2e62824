"""Whether a transport notices that its peer has gone, though nobody reads."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

from kafkapy.network.transport import PlaintextTransport


def test_who_has_left_is_noticed_though_nobody_reads() -> None:
    here, there = socket.socketpair()
    transport: Any = SimpleNamespace(socket=here)
    with here:
        with there:
            assert PlaintextTransport.has_peer(transport)
            there.send(b"x")
            assert PlaintextTransport.has_peer(transport)
            assert here.recv(10) == b"x", "what was sent is still there"
        assert not PlaintextTransport.has_peer(transport)
    assert not PlaintextTransport.has_peer(transport)
