"""Where a test reaches into a broker that is otherwise the one of production (`kafkapy.testing`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kafkapy.controller.kafka_controller import KafkaController
from kafkapy.network.request import Request
from kafkapy.network.socket_server import SocketServer
from kafkapy.runtime.reactor_clock import ReactorClock
from kafkapy.server.build import Core
from kafkapy.zk.session_closer import Session

Handle = Callable[[Request], None]


class BuiltBroker(NamedTuple):
    """The parts of a broker that is about to open its doors."""

    core: Core
    sockets: SocketServer
    controller: KafkaController


class Hooks:
    """What a broker asks on its way. These answers change nothing."""

    def clock(self, reactor: Any) -> ReactorClock:
        """The clock that all of the broker lives by; asked once, before anything else."""
        return ReactorClock(reactor)

    def built(self, broker: BuiltBroker) -> None:
        """All parts are there, and no connection has been accepted."""

    def handler(self, handle: Handle) -> Handle:
        """The handler of each request; `handle` is the broker's own."""
        return handle

    def zk_session(self, session: Session | None) -> None:
        """A new ZooKeeper session; None: closed. On kazoo's thread."""
