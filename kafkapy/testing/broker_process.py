"""One broker of a test's cluster: its process, its ports and its faults."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from kafkapy.common.properties import dump
from kafkapy.testing.reserved_port import ReservedPort
from kafkapy.testing.server_process import LOGGING, ClusterError, ServerProcess
from kafkapy.zk.session_closer import Session, close_session

CLIENTS: Final = "CLIENTS"
BROKERS: Final = "INTERNAL"
SESSION_SECONDS = 5.0

_OURS: Final = frozenset(
    {
        *("advertised.listeners", "inter.broker.listener.name", "listener.security.protocol.map", "listeners"),
        *("security.inter.broker.protocol", "broker.id", "node.id", "log.dir", "log.dirs", "zookeeper.connect"),
    }
)
"""Configs that the cluster sets; a caller's values are refused."""


class BrokerProcess(ServerProcess):
    """One broker process.

    Invariant: `session` is the ZooKeeper session that the broker last reported.
    """

    def __init__(
        self,
        number: int,
        directory: Path,
        port: ReservedPort,
        config: Mapping[str, object],
        zookeeper_connect: str,
        remove: Path | None,
        advertised_host: str | None = None,
        security: Mapping[str, str] | None = None,
    ) -> None:
        """`config`: configs that the caller may set; names with dots or underscores. `security`: properties that
        secure the broker, with the protocols of both listeners.

        Raises ValueError for a config that the cluster sets.
        """
        super().__init__(
            f"broker {number}",
            directory,
            "kafkapy.tools.kafka_server_start",
            [str(directory / "server.properties")],
            remove,
        )
        self.number = number
        self.port = port
        self._internal = ReservedPort()
        self.session: Session | None = None
        self._is_going = False
        """The whole cluster is stopping."""
        own = {
            "broker.id": number,
            "listeners": f"{CLIENTS}://{port.address},{BROKERS}://{self._internal.address}",
            "listener.security.protocol.map": f"{CLIENTS}:PLAINTEXT,{BROKERS}:PLAINTEXT",
            "inter.broker.listener.name": BROKERS,
            "log.dirs": directory / "data",
            "zookeeper.connect": zookeeper_connect,
        }
        if advertised_host is not None:
            own["advertised.listeners"] = (
                f"{CLIENTS}://{advertised_host}:{port.port},{BROKERS}://{self._internal.address}"
            )
        properties = {**own, **(security or {}), **properties_of(config)}
        (directory / "server.properties").write_text(dump(properties))
        (directory / "logging.properties").write_text(LOGGING)

    def environment(self) -> Mapping[str, str]:
        return {"KAFKAPY_LOGGING_CONFIG": str(self.directory / "logging.properties"), "LOG_DIR": str(self.directory)}

    @property
    def address(self) -> str:
        return self.port.address

    @property
    def internal_address(self) -> str:
        """`host:port` of the listener for other brokers."""
        return self._internal.address

    def end(self, *, in_order: bool) -> None:
        """Stop the process for good and release its ports."""
        self._is_going = True
        if in_order:
            self.stop()
        else:
            self.kill()
        self.port.release()
        self._internal.release()

    def _news(self, name: str, more: dict[str, Any]) -> None:
        super()._news(name, more)
        if name == "session":
            line = more["line"]
            self.session = None if line is None else Session.from_line(base64.b64decode(line))

    # ------------------------------------------------------------------------------------------------ faults

    def _ended(self) -> None:
        """Close the session of a broker process that has ended, as the watchdog does in production.

        The other brokers are notified at once, and a restart needn't wait until the old session expires.
        """
        super()._ended()
        if not self._is_going:
            self.close_session()

    def restart(self) -> None:
        """Start the broker again, with its port and its data. If it runs, it is stopped first."""
        if self.is_running:
            self.stop()
        self.start()

    def close_session(self) -> bool:
        """Close the broker's ZooKeeper session from outside; return whether it was open."""
        session, self.session = self.session, None
        if session is None:
            return False
        for address in session.addresses():
            try:
                return close_session(session, address, SESSION_SECONDS)
            except OSError:
                continue  # an embedded ZooKeeper may have ended with its broker
        return False

    def expire_session(self) -> None:
        """Expire the broker's session: it registers again and, if it was the controller, takes part in a new
        election."""
        self.take_news()
        if not self.close_session():
            raise ClusterError(f"{self.name} has no ZooKeeper session that could expire")

    def answer_with(self, api: str, error: str, times: int | None = 1) -> None:
        """Answer the next `times` client requests for this API (`"PRODUCE"`) with an error
        (`"NOT_LEADER_OR_FOLLOWER"`).

        The requests change nothing. `times` None: all requests until `heal`.
        """
        self.order("answer_with", api=api, error=error, times=times)

    def delay(self, seconds: float, api: str | None = None, times: int | None = None) -> None:
        """Delay the answers to clients by this time on the broker's clock: for one API or all, `times` times or until
        `heal`."""
        self.order("delay", api=api, ms=round(seconds * 1000), times=times)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Reset existing and new client connections in the `with` block. Connections of other brokers stay."""
        self.cut_off()
        try:
            yield
        finally:
            self.restore_connections()

    def cut_off(self) -> int:
        """Reset all client connections until `restore_connections`; return how many were open."""
        count: int = self.order("cut")
        return count

    def restore_connections(self) -> None:
        self.order("restore_connections")

    def fill_disk(self) -> None:
        """Simulate a full disk. The broker ends with the next write, as any broker does whose only log directory
        fails."""
        self.order("fill_disk")

    def empty_disk(self) -> None:
        """End the simulated full disk. A broker that has ended is not started."""
        if self.is_running:
            self.order("empty_disk")

    def heal(self) -> None:
        """Undo all faults; start the broker if it does not run."""
        self.resume()
        if not self.is_running:
            self.start()
            return
        numbers = [
            self.send(order) for order in ("answer_as_usual", "restore_connections", "empty_disk", "back_to_present")
        ]
        for number in numbers:
            self.answer(number)


def properties_of(config: Mapping[str, object]) -> dict[str, str]:
    """Convert Python names and values (`log_retention_ms=1000`, `auto_create_topics_enable=False`) to Kafka's
    properties."""
    properties = {}
    for name, value in config.items():
        key = name if "." in name else name.replace("_", ".")
        if key in _OURS:
            raise ValueError(f"the config {key} is the cluster's own; leave it out")
        properties[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return properties
