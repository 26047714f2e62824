"""Hooks by which tests modify a production broker (`kafkapy.testing`)."""

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
    """The parts of a broker that is about to accept connections."""

    core: Core
    sockets: SocketServer
    controller: KafkaController


class Hooks:
    """Called by a broker at start and for each request. The defaults change nothing."""

    def clock(self, reactor: Any) -> ReactorClock:
        """Return the clock of the whole broker; called once, before all others."""
        return ReactorClock(reactor)

    def built(self, broker: BuiltBroker) -> None:
        """Called when all parts are created, before connections are accepted."""

    def handler(self, handle: Handle) -> Handle:
        """Return the handler for all requests; `handle` is the broker's own."""
        return handle

    def zk_session(self, session: Session | None) -> None:
        """Called with a new ZooKeeper session; None: closed. On kazoo's thread."""
