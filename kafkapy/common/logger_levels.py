"""Log levels by the names Kafka's tools know (KIP-412; Kafka's `Log4jController`).

The logger `kafkapy.server.KafkaApis` is `kafka.server.KafkaApis` to the outside, the root logger is `root`. Levels have
log4j's names.
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
    """Every logger there is and its level; one without a level of its own has its parent's."""
    existing = logging.root.manager.loggerDict.copy()
    levels = {ROOT: level_name(logging.root.level)}
    for name, logger in existing.items():
        if isinstance(logger, logging.Logger):
            levels[_outside(name)] = level_name(logger.getEffectiveLevel())
    return levels


def exists(name: str) -> bool:
    return name == ROOT or isinstance(logging.root.manager.loggerDict.get(_inside(name)), logging.Logger)


def set_level(name: str, level: str) -> None:
    """`level` is one of `LEVELS`."""
    logging.getLogger(_inside(name)).setLevel(LEVELS[level])


def unset_level(name: str) -> None:
    """The logger takes its parent's level again."""
    logging.getLogger(_inside(name)).setLevel(logging.NOTSET)


def level_name(number: int) -> str:
    """log4j's name of the level, or of the next one below."""
    return _NAMES.get(number) or next((n for v, n in sorted(_NAMES.items(), reverse=True) if v <= number), "TRACE")


def _outside(name: str) -> str:
    return "kafka" + name.removeprefix("kafkapy") if name == "kafkapy" or name.startswith("kafkapy.") else name


def _inside(name: str) -> str:
    if name == ROOT:
        return ""
    return "kafkapy" + name.removeprefix("kafka") if name == "kafka" or name.startswith("kafka.") else name
