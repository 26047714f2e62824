"""`python -m system_tests.foreign_suites.http_servers`: registries and proxies in one process, as many as are asked for.

A line of stdin is `{"kind": "registry" or "rest", "properties": {...}}`; the line of stdout that answers it is the port that the
server listens on, in JSON, or `{"error": "..."}`. All stop when stdin ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

from twisted.internet import reactor as global_reactor
from twisted.internet.threads import blockingCallFromThread

from kafkapy.registry.config import RegistryConfig
from kafkapy.registry.server import RegistryServer
from kafkapy.rest.config import RestConfig
from kafkapy.rest.server import RestServer

reactor: Any = global_reactor


def start(kind: str, properties: dict[str, str]) -> RegistryServer | RestServer:
    """Blocks: not on the reactor's thread."""
    server: Any
    if kind == "registry":
        server = RegistryServer(RegistryConfig.of(properties), reactor)
    else:
        server = RestServer(RestConfig.of(properties), reactor)
    server.start()
    blockingCallFromThread(reactor, server.open)
    started: RegistryServer | RestServer = server
    return started


def serve() -> None:
    """Until stdin ends; whatever still runs then ends with the process."""
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            server = start(asked["kind"], asked["properties"])
            answer: Any = server.ports[0].getHost().port
        except Exception as error:
            answer = {"error": str(error)}
        print(json.dumps(answer), flush=True)
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=serve, daemon=True).start()
    reactor.run()
