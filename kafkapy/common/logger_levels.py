"""Log levels by the names of Kafka's tools (KIP-412; Kafka's `Log4jController`).

The logger `kafkapy.server.KafkaApis` is shown to clients as `kafka.server.KafkaApis`, the root logger as `root`. Levels
have log4j's names.
"""

from __future__ import annotations

import logging
from typing import Final

ROOT: Final = "root"
LEVELS: Final = {
    "DEBUG": logging.DEBUG,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
    "TRACE": 5,
    "WARN": logging.WARNING,
}
_NAMES: Final = {number: name for name, number in LEVELS.items()}


def loggers() -> dict[str, str]:
    """Return the level of every logger; a logger without a level of its own has its parent's."""
    existing = logging.root.manager.loggerDict.copy()
    levels = {ROOT: level_name(logging.root.level)}
    for name, logger in existing.items():
        if isinstance(logger, logging.Logger):
            levels[_outside(name)] = level_name(logger.getEffectiveLevel())
    return levels


def exists(name: str) -> bool:
    return name == ROOT or isinstance(logging.root.manager.loggerDict.get(_inside(name)), logging.Logger)


def set_level(name: str, level: str) -> None:
    """Set a logger's level. `level`: one of `LEVELS`."""
    logging.getLogger(_inside(name)).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """Make the logger use its parent's level again."""
    logging.getLogger(_inside(name)).setLevel(logging.NOTSET)


def level_name(number: int) -> str:
    """Return log4j's name of the level, or of the next one below."""
    return _NAMES.get(number) or next((n for v, n in sorted(_NAMES.items(), reverse=True) if v <= number), "TRACE")


def _outside(name: str) -> str:
    return "kafka" + name.removeprefix("kafkapy") if name == "kafkapy" or name.startswith("kafkapy.") else name


def _inside(name: str) -> str:
    if name == ROOT:
        return ""
    return "kafkapy" + name.removeprefix("kafka") if name == "kafka" or name.startswith("kafka.") else name
