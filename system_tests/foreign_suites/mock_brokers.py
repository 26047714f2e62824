"""kafka-python's mock brokers behind real sockets, so that any client can be tested with what they were told to answer.

Theirs hand bytes to kafka-python's connections within the process; `kafka_client=broker.client_factory()` gives such a
connection to a client. Here each mock broker listens on a port of its own, and that argument means nothing but its address.
"""

from __future__ import annotations

import asyncio
import struct
import threading
from typing import Any

_LENGTH = struct.Struct(">i")
_HEADER = struct.Struct(">hhi")


class Loop:
    """An event loop on a thread of its own, for all brokers of the process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="mock-brokers", daemon=True).start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)


class Listener:
    """The socket of one mock broker."""

    def __init__(self, broker: Any, loop: Loop) -> None:
        self._broker = broker
        self._writers: set[asyncio.StreamWriter] = set()
        server = loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port: int = server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        failure = type(self._broker).FAILURE
        try:
            while self._broker.online:
                (length,) = _LENGTH.unpack(await reader.readexactly(4))
                request = await reader.readexactly(length)
                answer = await self._broker.handle_request(*_HEADER.unpack_from(request), request)
                if isinstance(answer, failure):
                    break
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


class Address:
    """What `client_factory` gives: the broker is found by its address."""


def listening(mock_broker: Any, failure: type) -> type:
    """The class of mock brokers, whose instances listen. `failure`: what `handle_request` gives to break one."""
    loop = Loop()

    class ListeningBroker(mock_broker):  # type: ignore[misc]
        FAILURE = failure

        def __init__(self, node_id: int = 0, host: str = "", port: int = 0, **options: Any) -> None:
            self.online = True
            self.listener = Listener(self, loop)
            super().__init__(node_id, "localhost", self.listener.port, **options)

        def client_factory(self) -> type[Address]:
            return Address

    return ListeningBroker


def taking_addresses(client: type) -> type:
    """A client that takes `kafka_client=broker.client_factory()`."""

    def __init__(self: Any, *args: Any, **options: Any) -> None:
        if options.get("kafka_client") is Address:
            del options["kafka_client"]
        client.__init__(self, *args, **options)  # type: ignore[misc]

    return type(client.__name__, (client,), {"__init__": __init__})
