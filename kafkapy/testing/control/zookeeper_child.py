"""The embedded ZooKeeper as a process of its own, for a test's cluster of several brokers."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from kafkapy.testing.control.server_end import ServerEnd
from kafkapy.testing.control.wire import ControlEnd


def main(argv: list[str]) -> int:
    """Run with `HOST PORT [DIRECTORY]`; without a directory all data is in memory."""
    from kafkapy.common.logging_setup import setup_logging

    setup_logging()
    from twisted.internet import reactor as _reactor

    from kafkapy.zk.embedded.server import EmbeddedZooKeeper

    end = ControlEnd.take_from(os.environ)
    if end is None:
        print("This program is started by kafkapy.testing, which sets KAFKAPY_CONTROL", file=sys.stderr)
        return 1
    reactor: Any = _reactor
    host, port, *directory = argv
    data = Path(directory[0]) if directory else None
    server = EmbeddedZooKeeper(data, host, int(port), reactor=reactor, on_failure=lambda _: reactor.stop())
    wire = ServerEnd(reactor, end, {"stop": reactor.stop})

    def start() -> None:
        wire.open()
        server.start()
        wire.tell("ready")

    reactor.callWhenRunning(start)
    reactor.addSystemEventTrigger("before", "shutdown", server.stop)
    signal.signal(signal.SIGTERM, lambda *_: reactor.callFromThread(reactor.stop))
    reactor.run(installSignalHandlers=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
