"""What moves a client's bytes and time: the seam between the cores and the event loops.

Implementations: `ThreadDriver` (a thread in the background, for the synchronous facades), `AsyncioDriver`,
`TwistedDriver`.
They differ in the loop only; sockets are `SocketTransport`'s business on all of them.
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
        """Take it back. Harmless if it has run."""
        ...


class Channel(Protocol):
    """The upper half of a connection. It is called on the driver's thread."""

    def connected(self) -> None: ...

    def receive_buffer(self) -> memoryview:
        """Writable memory for the next bytes, not empty."""
        ...

    def bytes_received(self, count: int) -> None:
        """`count` bytes were put into the memory given last."""
        ...

    def disconnected(self, reason: str) -> None:
        """It failed, was refused, or the peer hung up. Not called after `Transport.close`."""
        ...


class Transport(Protocol):
    """The lower half of a connection."""

    queued_bytes: int
    """What the kernel has not taken yet."""

    def write(self, parts: Sequence[Buffer]) -> None:
        """Send buffers in order. They must not change until they are sent."""
        ...

    def close(self) -> None:
        """At once; what is queued is lost."""
        ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class SocketOptions(NamedTuple):
    """How sockets are made. Buffer sizes in bytes, None or -1: the system's; `tls` None: plaintext."""

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    options: tuple[tuple[Any, ...], ...] = ()
    connect_timeout_ms: float = 10_000
    tls: ssl.SSLContext | None = None


DEFAULT_SOCKET_OPTIONS = SocketOptions()


class Driver(Protocol):
    """An event loop as clients see it. Everything but `call_soon_threadsafe` is for its own thread."""

    time: Time

    @property
    def scratch(self) -> memoryview:
        """Where its connections receive what is small, or not begun yet; shared, as they run on one thread."""
        ...

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> Transport:
        """Begin to connect, without blocking; `channel` hears how it went."""
        ...

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> TimerHandle: ...

    def call_soon(self, f: Callable[[], object]) -> None: ...

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        """From any thread."""
        ...

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        """From where the user calls the client: soon, or at once if that is no trouble."""
        ...

    def sleep(self, ms: float) -> Completion[None]:
        """Done when the time is over. Cancelling it takes the timer back."""
        ...

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        """The result of `f`, which may block: it runs in a thread of its own."""
        ...


async def wait_for(driver: Driver, completion: Completion[T], timeout_ms: float | None) -> T:
    """The result, if it comes in time (None: whenever it comes). Raises KafkaTimeoutError, and what a sleep of the driver
    fails with; the completion goes on."""
    if timeout_ms is None or completion.done:
        return await completion
    either: Completion[None] = Completion()
    pause = driver.sleep(timeout_ms)
    for one in (pause, completion):
        one.add_callback(lambda _: either.set_result(None))
    try:
        await either
        if not completion.done:
            pause.result()  # which raises if the client was closed
            raise KafkaTimeoutError(f"Timed out after {timeout_ms:g} ms")
    finally:
        pause.cancel()
    return completion.result()
