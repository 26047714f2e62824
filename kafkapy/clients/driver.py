"""The interface between the clients' cores and the event loops: connections, timers, threads.

Implementations: `ThreadDriver` (a thread in the background, for the synchronous facades), `AsyncioDriver`,
`TwistedDriver`.
They differ only in the loop; all of them use `SocketTransport` for sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from kafkapy.common.time import Time
from kafkapy.errors import KafkaTimeoutError
from kafkapy.runtime.completion import Completion

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

Buffer = bytes | bytearray | memoryview


class TimerHandle(Protocol):
    def cancel(self) -> None:
        """Cancel the timer. Harmless if it has fired."""
        ...


class Channel(Protocol):
    """The protocol half of a connection. It is called on the driver's thread."""

    def connected(self) -> None: ...

    def receive_buffer(self) -> memoryview:
        """Return writable memory for the next bytes, not empty."""
        ...

    def bytes_received(self, count: int) -> None:
        """Process `count` bytes in the memory that was returned last."""
        ...

    def disconnected(self, reason: str) -> None:
        """Called when the connection has failed, was refused or closed by the peer. Not called after
        `Transport.close`."""
        ...


class Transport(Protocol):
    """The socket half of a connection."""

    queued_bytes: int
    """Bytes that the kernel has not accepted yet."""

    def write(self, parts: Sequence[Buffer]) -> None:
        """Send buffers in order. Their contents must not change until they are sent."""
        ...

    def close(self) -> None:
        """Close immediately; queued bytes are lost."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class SocketOptions(NamedTuple):
    """Options of new sockets. Buffer sizes in bytes, None or -1: the system's; `tls` None: plaintext."""

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    options: tuple[tuple[Any, ...], ...] = ()
    connect_timeout_ms: float = 10_000
    tls: ssl.SSLContext | None = None


DEFAULT_SOCKET_OPTIONS = SocketOptions()


class Driver(Protocol):
    """An event loop as clients see it. Only `call_soon_threadsafe` may be called on other threads than its own."""

    time: Time

    @property
    def scratch(self) -> memoryview:
        """Return the memory where connections receive small frames and the beginning of each; shared, as they run on
        one thread."""
        ...

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> Transport:
        """Begin to connect, without blocking; `connected` or `disconnected` of `channel` is called with the
        outcome."""
        ...

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> TimerHandle: ...

    def call_soon(self, f: Callable[[], object]) -> None: ...

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        """Schedule `f` on the driver's thread. Thread-safe."""
        ...

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        """Schedule `f` for a call of the user; it may run immediately if no other thread runs the client."""
        ...

    def sleep(self, ms: float) -> Completion[None]:
        """Return a completion that is done after `ms`. Cancelling it cancels the timer."""
        ...

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        """Run `f`, which may block, in a separate thread; return the completion of its result."""
        ...


async def wait_for(driver: Driver, completion: Completion[T], timeout_ms: float | None) -> T:
    """Wait for a result, at most `timeout_ms` (None: without a limit); the completion is not cancelled.

    Raises KafkaTimeoutError, and `Cancelled` if the client is closed.
    """
    if timeout_ms is None or completion.done:
        return await completion
    either: Completion[None] = Completion()
    pause = driver.sleep(timeout_ms)
    for one in (pause, completion):
        one.add_callback(lambda _: either.set_result(None))
    try:
        await either
        if not completion.done:
            pause.result()  # raises if the client was closed
            raise KafkaTimeoutError(f"Timed out after {timeout_ms:g} ms")
    finally:
        pause.cancel()
    return completion.result()
