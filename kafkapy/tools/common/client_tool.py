"""Shared by the tools that run a producer or a consumer: log lines, signals, a progress bar."""

from __future__ import annotations

import logging
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.common.admin_access import exception_class
from kafkapy.tools.common.command_line import CommandLineError, ToolError

_PROGRESS_DELAY_SECONDS = 1


def log_to_stderr() -> None:
    """Log warnings and errors in the format of Apache's tools. Has no effect where logging is set up already."""
    logging.addLevelName(logging.WARNING, "WARN")
    logging.basicConfig(level=logging.WARNING, format="[%(asctime)s] %(levelname)s %(message)s (%(name)s)")


def java_exception(error: BaseException) -> str:
    """The Java exception class for a client's exception."""
    if isinstance(error, KafkaError):
        return exception_class(error.error)
    return "org.apache.kafka.common.KafkaException"


def java_message(error: BaseException) -> str:
    return error.message if isinstance(error, KafkaError) else str(error)


def java_error(error: BaseException) -> str:
    """An exception as Java prints it."""
    message = java_message(error)
    return f"{java_exception(error)}: {message}" if message else java_exception(error)


def check_host_port(servers: str) -> None:
    """Check that every server has a port (Kafka's `ToolsUtils.validatePortOrDie`). Raises CommandLineError."""
    for server in servers.split(","):
        host, colon, port = server.strip().rpartition(":")
        if not (colon and host and port.isascii() and port.isdigit()):
            raise CommandLineError("Please provide valid host:port like host1:9091,host2:9092")


@contextmanager
def client_errors_as_tool_errors() -> Iterator[None]:
    """A client's complaint about its arguments becomes a ToolError."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise ToolError(str(error)) from error


class Interruption:
    """A context, `with Interruption() as interruption`: Ctrl-C and SIGTERM only set a flag, so that work in progress
    is finished.

    `interruption.status` is then the exit status of a JVM; before that it is 0. A second signal ends the process as
    usual.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, when_interrupted: Callable[[], None] | None = None) -> None:
        self.signal: int | None = None
        self._when_interrupted = when_interrupted
        self._previous: dict[int, Any] = {}

    def __bool__(self) -> bool:
        return self.signal is not None

    @property
    def status(self) -> int:
        return 0 if self.signal is None else 128 + self.signal

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.signal = number
        self._restore()
        if self._when_interrupted is not None:
            self._when_interrupted()

    def _restore(self) -> None:
        while self._previous:
            signal.signal(*self._previous.popitem())

    def __enter__(self) -> Self:
        for number in self._SIGNALS:
            previous = signal.signal(number, self._handle)
            self._previous[number] = signal.SIG_DFL if previous is None else previous
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()


class Progress:
    """A progress bar on stderr, if stderr is a terminal and the work takes longer than a moment."""

    def __init__(self, total: int | None, unit: str) -> None:
        self._bar: Any = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(
                total=total, unit=unit, unit_scale=True, leave=False, delay=_PROGRESS_DELAY_SECONDS, file=sys.stderr
            )

    def update(self, count: int) -> None:
        if self._bar is not None:
            self._bar.update(count)

    def print(self, line: str) -> None:
        """Print a line on stdout that does not run into the bar."""
        if self._bar is None:
            print(line, flush=True)
        else:
            self._bar.clear()
            print(line, flush=True)
            self._bar.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


class ThroughputThrottler:
    """Limits work to about `throughput` per second by sleeping (Kafka's class of this name).

    `throughput` < 0: unlimited. `throughput` 0: the first sleep never ends.
    """

    _MIN_SLEEP_SECONDS = 0.002

    def __init__(self, throughput: float, sleep: Callable[[float], Any] = time.sleep) -> None:
        self._throughput = throughput
        self._sleep = sleep
        self._start = time.time()
        self._deficit = 0.0

    def throttle(self, done: int, now: float, count: int = 1) -> None:
        """Sleep if needed. `done`: work done by `now` (seconds), `count` of it since the last call."""
        elapsed = now - self._start
        if self._throughput < 0 or elapsed <= 0 or done / elapsed <= self._throughput:
            return
        if self._throughput == 0:
            self._sleep(float(2**31))
            return
        self._deficit += count / self._throughput
        if self._deficit >= self._MIN_SLEEP_SECONDS:
            self._sleep(self._deficit)
            self._deficit = 0.0


def print_metrics(metrics: dict[str, dict[str, Any]] | None, client_id: str) -> None:
    """Print metrics by group and name, aligned as Kafka's `ToolsUtils.printMetrics`."""
    values = {
        f"{group}:{name}:{{client-id={client_id}}}": value
        for group, figures in (metrics or {}).items()
        for name, value in figures.items()
    }
    if not values:
        return
    width = max(map(len, values))
    print(f"\n{'Metric Name':<{width}}   Value")
    for name in sorted(values):
        value = values[name]
        print(f"{name:<{width}} : {f'{value:.3f}' if isinstance(value, float) else value}")
