"""An embedded ZooKeeper on a reactor of its own, in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.epollreactor import EPollReactor
from twisted.python import threadable

from kafkapy.zk.embedded.server import EmbeddedZooKeeper
from kafkapy.zk.embedded.settings import SecurePort, Settings
from tests.waiting import HANG_SECONDS
from tests.zk.embedded.raw_client import RawClient

R = TypeVar("R")


class ServerInThread:
    def __init__(
        self,
        data_dir: Path | None = None,
        settings: Settings | None = None,
        keep_sessions: bool = True,
        secure: SecurePort | None = None,
    ) -> None:
        self._reactor = EPollReactor()
        self.failures: list[str] = []
        self.server = EmbeddedZooKeeper(
            data_dir,
            reactor=self._reactor,
            settings=settings or Settings(),
            keep_sessions=keep_sessions,
            on_failure=self.failures.append,
            secure=secure,
        )
        # The thread that runs a reactor becomes the process's I/O thread, and other tests' reactor runs in this one.
        io_thread = threadable.ioThread
        self._reactor.callWhenRunning(lambda: setattr(threadable, "ioThread", io_thread))
        self._thread = threading.Thread(target=lambda: self._reactor.run(installSignalHandlers=False), daemon=True)

    def __enter__(self) -> ServerInThread:
        self._thread.start()
        self.call(self.server.start)
        return self

    def __exit__(self, *exc_info: object) -> None:
        stopped: Future[None] = Future()

        def end(_: object) -> None:
            stopped.set_result(None)
            self._reactor.stop()

        def stop() -> None:
            done: Deferred[None] = self.server.stop()
            done.addBoth(end)

        self._reactor.callFromThread(stop)
        stopped.result(HANG_SECONDS)
        self._thread.join(HANG_SECONDS)

    def call(self, function: Callable[[], R]) -> R:
        """On the reactor's thread."""
        future: Future[R] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)

        self._reactor.callFromThread(run)
        return future.result(HANG_SECONDS)

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.server.port

    def client(self, timeout_ms: int = 10_000) -> RawClient:
        return RawClient(self.address, timeout_ms)
