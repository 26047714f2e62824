"""Reads and sets the levels of loggers (KIP-495, KIP-976; Kafka's `Loggers`)."""

from __future__ import annotations

import logging
import threading
from typing import Any

from kafkapy.common.time import Time

log = logging.getLogger("kafkapy.connect.herder")

ROOT = "root"
_TRACE = 5
_OFF = 100
LEVELS = {
    "OFF": _OFF,
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": _TRACE,
    "ALL": 1,
}
"""Log4j's levels."""
_NAMES = {number: name for name, number in LEVELS.items()}


class WorkerLoggers:
    """The loggers of a worker.

    Invariant: `_modified` has the time of the last change for each logger whose level was changed here; it never has
    more entries than there are loggers. A namespace is a logger's name. Java's packages (`org.apache.kafka.connect`)
    are separate loggers here, created when their level is set.
    """

    def __init__(self, time: Time) -> None:
        self._time = time
        self._modified: dict[str, int] = {}
        self._lock = threading.Lock()

    def level(self, name: str) -> dict[str, Any] | None:
        """Return the level and the time of its change; None: there is no such logger."""
        with self._lock:
            logger = self._find(name)
            return None if logger is None else self._info(logger)

    def all_levels(self) -> dict[str, dict[str, Any]]:
        """Return the levels of all loggers with an explicit level, sorted by name."""
        with self._lock:
            found = {logger.name: self._info(logger) for logger in _loggers() if logger.level != logging.NOTSET}
            found[ROOT] = self._info(logging.getLogger())
            return dict(sorted(found.items()))

    def set_level(self, namespace: str, level: str) -> list[str]:
        """Set the level of a logger and of all loggers below it.

        Args:
            namespace: A logger's name, or `root` for all.
            level: A name of `LEVELS`, in any case.

        Returns:
            The loggers' names, sorted; none if there is no such level.
        """
        number = LEVELS.get(level.upper())
        if number is None:
            log.warning("Ignoring request to set invalid level '%s' for namespace %s", level, namespace)
            return []
        with self._lock:
            if namespace.lower() == ROOT:
                chosen = [*_loggers(), logging.getLogger()]
            else:
                chosen = [logger for logger in _loggers() if logger.name.startswith(namespace)]
                if not any(logger.name == namespace for logger in chosen):
                    chosen.append(logging.getLogger(namespace))
            for logger in chosen:
                if logger.getEffectiveLevel() != number:
                    logger.setLevel(number)
                    self._modified[logger.name] = int(self._time.milliseconds())
            return sorted(logger.name for logger in chosen)

    def _find(self, name: str) -> logging.Logger | None:
        if name.lower() == ROOT:
            return logging.getLogger()
        return next((logger for logger in _loggers() if logger.name == name), None)

    def _info(self, logger: logging.Logger) -> dict[str, Any]:
        number = logger.level if logger.level != logging.NOTSET else logger.getEffectiveLevel()
        return {"level": _level_name(number), "last_modified": self._modified.get(logger.name)}


def _loggers() -> list[logging.Logger]:
    return [each for each in list(logging.Logger.manager.loggerDict.values()) if isinstance(each, logging.Logger)]


def _level_name(number: int) -> str:
    return _NAMES.get(number) or next((name for name, at in LEVELS.items() if at <= number), "ALL")
