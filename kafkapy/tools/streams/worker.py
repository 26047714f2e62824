"""A process of an application: it runs an instance of KafkaStreams under the supervisor."""

from __future__ import annotations

import logging
import signal
import socket
import sys
import threading
from typing import Any

from kafkapy.common.config_def import ConfigException
from kafkapy.common.logging_setup import setup_logging
from kafkapy.streams.errors import StreamsException, TopologyException
from kafkapy.streams.metrics.samples import samples
from kafkapy.streams.runtime.kafka_streams import KafkaStreams
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.streams.lines import JsonLines
from kafkapy.tools.streams.topology_of import topology_of
from kafkapy.tools.streams.worker_statuses import APPLICATION_STOPPED, FAILED, UNUSABLE

log = logging.getLogger("kafkapy.streams")


class InstanceRunner:
    """Runs an instance until a signal, or until it fails.

    Invariant: `_ended` is set once: by a signal, by the supervisor's end, by the instance's end, or by its failure to
    start.

    Args:
        lines: Connection to the supervisor, whose first message is the order.
    """

    def __init__(self, lines: JsonLines) -> None:
        self._lines = lines
        self._messages = lines.messages()
        self._ended = threading.Event()
        self._failed = False

    def run(self) -> int:
        """Run the instance; return the exit status."""
        for name in ("SIGTERM", "SIGINT", "SIGHUP"):
            signal.signal(getattr(signal, name), lambda *_: self._ended.set())
        try:
            streams = _make(next(self._messages, None))
        except ToolError as error:
            self._lines.send(unusable=str(error))
            return UNUSABLE
        streams.set_state_listener(self._state_changed)
        threading.Thread(target=self._answer, args=(streams,), daemon=True).start()
        starter = threading.Thread(target=self._start, args=(streams,), daemon=True)
        starter.start()
        self._ended.wait()
        starter.join()
        streams.close()
        if streams.is_application_stopped:
            return APPLICATION_STOPPED
        return FAILED if self._failed else 0

    def _start(self, streams: KafkaStreams) -> None:
        try:
            streams.start()
        except Exception:
            log.error("The instance could not be started", exc_info=True)
            self._failed = True
            self._ended.set()

    def _state_changed(self, state: str, _old: str) -> None:
        self._lines.send(state=state)
        if state == "ERROR":
            self._failed = True
            self._ended.set()

    def _answer(self, streams: KafkaStreams) -> None:
        """Answer the supervisor's requests until it ends; then end the instance, too."""
        for message in self._messages:
            if "ask" in message:
                self._lines.send(answers=message["ask"], metrics=metrics_of(streams))
        self._ended.set()


def metrics_of(streams: KafkaStreams) -> list[Any]:
    """Return name, kind, description, labels and value of each metric of an instance."""
    return list(samples(streams.metrics()))


def _make(order: dict[str, Any] | None) -> KafkaStreams:
    """Create the instance.

    Raises:
        ToolError: The order is invalid.
    """
    if order is None:
        raise ToolError("The supervisor has ended")
    configs = order["configs"]
    try:
        return KafkaStreams(topology_of(order["topology"], configs), configs)
    except (ConfigException, TopologyException, StreamsException, ValueError, TypeError) as error:
        raise ToolError(f"{order['topology']}: {error}") from error


def main() -> int:
    """`python -m kafkapy.tools.streams.worker FD`: the descriptor of a connected socket."""
    setup_logging()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        return InstanceRunner(JsonLines(connection)).run()


if __name__ == "__main__":
    sys.exit(main())
