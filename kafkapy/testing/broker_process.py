"""One broker of a test's cluster: its process, its ports, and the faults that befall it."""

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
"""Configs that the cluster decides."""


class BrokerProcess(ServerProcess):
    """Invariant: `session` is the ZooKeeper session that the broker was last heard to have."""

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
        """`config`: what the cluster leaves to its maker; names with dots, or with underscores in their place. `security`: what
        closes it, with the protocols of both listeners.

        `ValueError` for what it doesn't."""
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
        """Its cluster ends with it."""
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
        """Where other brokers reach it."""
        return self._internal.address

    def end(self, *, in_order: bool) -> None:
        """For good: its ports are for others again."""
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
        """Whatever has ended it, its session is closed, as the watchdog of a broker in production does it: the others hear of
        it at once, and it need not wait for itself when it starts again."""
        super()._ended()
        if not self._is_going:
            self.close_session()

    def restart(self) -> None:
        """Killed or not; with its port and its data."""
        if self.is_running:
            self.stop()
        self.start()

    def close_session(self) -> bool:
        """Close the ZooKeeper session behind the broker's back: True if it was open."""
        session, self.session = self.session, None
        if session is None:
            return False
        for address in session.addresses():
            try:
                return close_session(session, address, SESSION_SECONDS)
            except OSError:
                continue  # with the broker its embedded ZooKeeper may have gone
        return False

    def expire_session(self) -> None:
        """The broker hears that its session is over, registers again and, if it was the controller, has to run for it."""
        self.take_news()
        if not self.close_session():
            raise ClusterError(f"{self.name} has no ZooKeeper session that could expire")

    def answer_with(self, api: str, error: str, times: int | None = 1) -> None:
        """The next `times` requests of clients for this API (`"PRODUCE"`) get an error (`"NOT_LEADER_OR_FOLLOWER"`) and change
        nothing; None: all, until `heal`."""
        self.order("answer_with", api=api, error=error, times=times)

    def delay(self, seconds: float, api: str | None = None, times: int | None = None) -> None:
        """Requests of clients are answered so much later, on the broker's clock: of one API or all, `times` times or until
        `heal`."""
        self.order("delay", api=api, ms=round(seconds * 1000), times=times)

    @contextmanager
    def cut(self) -> Iterator[None]:
        """Meanwhile clients have no connection to it: theirs are reset, and so are new ones. Other brokers still do."""
        self.cut_off()
        try:
            yield
        finally:
            self.restore_connections()

    def cut_off(self) -> int:
        """Cut all connections until `restore_connections`; return how many there were."""
        count: int = self.order("cut")
        return count

    def restore_connections(self) -> None:
        self.order("restore_connections")

    def fill_disk(self) -> None:
        """No room is left for its data. It ends with the next write, as a broker does that has no other disk."""
        self.order("fill_disk")

    def empty_disk(self) -> None:
        """There is room again; one that has ended is to be started again."""
        if self.is_running:
            self.order("empty_disk")

    def heal(self) -> None:
        """Undo all that was ordered; a broker that does not run is started."""
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
    """Kafka's names and texts for what a program has in mind: `log_retention_ms=1000`, `auto_create_topics_enable=False`."""
    properties = {}
    for name, value in config.items():
        key = name if "." in name else name.replace("_", ".")
        if key in _OURS:
            raise ValueError(f"the config {key} is the cluster's own; leave it out")
        properties[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return properties
