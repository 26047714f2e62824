"""Restarts connectors when values of config providers expire (Kafka's `WorkerConfigTransformer`, KIP-297)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

log = logging.getLogger("kafkapy.connect.herder")

RELOAD: Final = "config.action.reload"


class Alarm(Protocol):
    """A call in the future, as `threading.Timer`."""

    def start(self) -> None: ...
    def cancel(self) -> None: ...


def _timer(seconds: float, action: Callable[[], None]) -> Alarm:
    made = threading.Timer(seconds, action)
    made.daemon = True
    return made


class ConfigReloads:
    """Plans a restart for each connector whose values expire.

    Invariant: `_alarms` has at most one alarm for each connector, the one of its last config; it changes under `_lock`.

    Args:
        make_alarm: Makes an alarm of seconds and an action. Default: a thread for each.

    Example:
        >>> reloads = ConfigReloads()
        >>> reloads.restart = print
        >>> reloads.plan("orders", {"config.action.reload": "none"}, 1000)
        >>> reloads.close()
    """

    def __init__(self, make_alarm: Callable[[float, Callable[[], None]], Alarm] = _timer) -> None:
        self.restart: Callable[[str], None] | None = None
        """Restarts a connector by its name; None: there is no herder yet."""
        self._make_alarm = make_alarm
        self._lock = threading.Lock()
        self._alarms: dict[str, Alarm] = {}

    def plan(self, connector: str, config: Mapping[str, str | None], ttl_ms: int | None) -> None:
        """Replace the plan of a connector.

        Args:
            connector: Its name.
            config: Its config; with `config.action.reload=none` it is not restarted.
            ttl_ms: The time after which the first of its values expires. None: none does.
        """
        wanted = ttl_ms is not None and (config.get(RELOAD) or "restart").strip().lower() == "restart"
        with self._lock:
            earlier = self._alarms.pop(connector, None)
            if earlier is not None:
                earlier.cancel()
            if wanted and ttl_ms is not None:
                alarm = self._alarms[connector] = self._make_alarm(ttl_ms / 1000, lambda: self._expired(connector))
                alarm.start()

    def close(self) -> None:
        """Cancel all plans."""
        with self._lock:
            alarms, self._alarms = self._alarms, {}
        for alarm in alarms.values():
            alarm.cancel()

    def _expired(self, connector: str) -> None:
        with self._lock:
            self._alarms.pop(connector, None)
        if self.restart is not None:
            log.info(
                "Values of config providers in the config of connector %s have expired: it is restarted", connector
            )
            self.restart(connector)


def restarter(restart_connector: Callable[[str, Callable[..., None]], Any]) -> Callable[[str], None]:
    """Return a function that restarts a connector, and logs why that fails. `restart_connector`: the herder's."""

    def restart(connector: str) -> None:
        def told(error: BaseException | None, _: Any) -> None:
            if error is not None:
                log.info("Connector %s is not restarted by this worker: %s", connector, error)

        restart_connector(connector, told)

    return restart
