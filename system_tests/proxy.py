"""A bad line between clients and a broker: a TCP proxy that cuts, stalls, half-closes and slows what runs through it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
_RESET = struct.pack("ii", 1, 0)
_CHUNK = 1 << 16


class Proxy:
    """Forwards connections to `port` of `host` to another address; close it. Its methods are for any thread.

    Invariant: `_lines` has every connection that is not yet closed; all else happens on the loop's thread.
    """

    def __init__(
        self, target: tuple[str, int], host: str = "127.0.0.1", port: int = 0, source: str | None = None
    ) -> None:
        """`source`: the address that its connections to the target come from."""
        self.target = target
        self._source = None if source is None else (source, 0)
        self._lines: set[_Line] = set()
        self.delay = 0.0
        """Seconds that each piece of data is late."""
        self.rate = 0.0
        """Bytes a second in each direction of a connection; 0: as fast as it goes."""
        self.open = True
        """Are new connections forwarded? Else they are reset at once."""
        self.bytes_to_clients = 0
        """All that has come from the target so far."""
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._listener = socket.create_server((host, port), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"proxy to {target[1]}", daemon=True)
        self._thread.start()

    @property
    def connections(self) -> int:
        return len(self._lines)

    # ------------------------------------------------------------------------------------------------ faults

    def cut(self) -> int:
        """Reset all connections; returns how many."""
        return self._call(lambda: self._each(_Line.reset))

    def cut_after(self, size: int) -> None:
        """Reset each connection when `size` more bytes have come from the broker: in the middle of a response."""
        self._call(lambda: self._each(lambda line: line.cut_after(size)))

    def half_close(self) -> int:
        """The broker's side of all connections ends (clients read EOF), theirs stays open."""
        return self._call(lambda: self._each(_Line.half_close))

    def stall(self) -> int:
        """All present connections stay open, but nothing runs through them any more; new ones work."""
        return self._call(lambda: self._each(_Line.stall))

    def freeze(self) -> None:
        """Nothing runs, whether through old connections or new ones, until `thaw`: a partition of the network."""
        self._call(self._flowing.clear)

    def thaw(self) -> None:
        self._call(self._flowing.set)

    def close(self) -> None:
        if self._loop.is_running():
            self._call(lambda: self._each(_Line.reset))
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._listener.close()

    # ------------------------------------------------------------------------------------------------ inside

    def _run(self) -> None:
        server = self._loop.run_until_complete(asyncio.start_server(self._accepted, sock=self._listener))
        self._loop.run_forever()
        server.close()
        self._loop.run_until_complete(asyncio.sleep(0))  # connections that are being accepted
        for task in (tasks := asyncio.all_tasks(self._loop)):
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks))
        self._loop.close()

    def _call(self, f: Callable[[], T]) -> T:
        async def call() -> T:
            return f()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(30)

    def _each(self, fault: Callable[[_Line], object]) -> int:
        lines = list(self._lines)
        for line in lines:
            fault(line)
        return len(lines)

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not self.open:
                raise ConnectionRefusedError
            await self._flowing.wait()
            to_broker = await asyncio.open_connection(*self.target, local_addr=self._source)
        except (OSError, asyncio.CancelledError):
            _abort(writer)
            return
        line = _Line(self, (reader, writer), to_broker)
        self._lines.add(line)
        try:
            await line.run()
        finally:
            self._lines.discard(line)

    async def pass_on(self, size: int) -> None:
        """Wait as long as the line's state makes `size` bytes wait."""
        wait = self.delay + (size / self.rate if self.rate else 0)
        if wait:
            await asyncio.sleep(wait)
        await self._flowing.wait()


class _Line:
    """One connection: two halves, each a reader and a writer."""

    def __init__(
        self,
        proxy: Proxy,
        client: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        broker: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._proxy = proxy
        self._client_reader, self._client_writer = client
        self._broker_reader, self._broker_writer = broker
        self._stalled = False
        self._ended_for_client = False
        self._bytes_left: int | None = None

    async def run(self) -> None:
        pumps: list[Coroutine[Any, Any, None]] = [
            self._pump(self._client_reader, self._broker_writer, from_broker=False),
            self._pump(self._broker_reader, self._client_writer, from_broker=True),
        ]
        try:
            await asyncio.gather(*pumps)
        except (OSError, asyncio.CancelledError):
            self.reset()
        else:
            self._client_writer.close()
            self._broker_writer.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, from_broker: bool) -> None:
        while data := await reader.read(_CHUNK):
            if from_broker:
                self._proxy.bytes_to_clients += len(data)
            await self._proxy.pass_on(len(data))
            if self._stalled or (from_broker and self._ended_for_client):
                continue
            if from_broker and self._bytes_left is not None:
                if self._bytes_left < len(data):
                    writer.write(data[: self._bytes_left])
                    await writer.drain()
                    raise ConnectionResetError
                self._bytes_left -= len(data)
            writer.write(data)
            await writer.drain()
        await self._proxy.pass_on(0)
        if not self._stalled and not (from_broker and self._ended_for_client):
            writer.write_eof()

    def reset(self) -> None:
        _abort(self._client_writer)
        _abort(self._broker_writer)

    def cut_after(self, size: int) -> None:
        self._bytes_left = size

    def half_close(self) -> None:
        if not self._ended_for_client:
            self._ended_for_client = True
            with contextlib.suppress(OSError):
                self._client_writer.write_eof()

    def stall(self) -> None:
        self._stalled = True


def _abort(writer: asyncio.StreamWriter) -> None:
    """RST instead of FIN."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
