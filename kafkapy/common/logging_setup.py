"""Where log lines go: stderr, and files of the names Kafka's have (server.log, controller.log ...).

A line reads `[2026-11-21 07:00:00,123] INFO started (kafkapy.server.KafkaServer)`. `config/logging.properties` says
which loggers write to which file, and their levels; where there is no such file `DEFAULTS` hold.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Mapping
from logging.handlers import TimedRotatingFileHandler
from pathlib import Path
from typing import Final

from kafkapy.common import logger_levels
from kafkapy.common.properties import load_file

DEFAULTS: Final = {
    "level": "INFO",
    "stderr": "true",
    "rotate": "hour",
    "file.server.log": "root",
    "file.controller.log": "kafkapy.controller",
    "file.log-cleaner.log": "kafkapy.log.LogCleaner",
    "file.state-change.log": "kafkapy.state.change",
    "file.kafka-request.log": "kafkapy.request",
    "file.kafka-authorizer.log": "kafkapy.authorizer",
    "level.kafkapy.request": "WARN",
    "level.kazoo": "WARN",
}
_CLONE: Final = Path(__file__).resolve().parents[2]


class LoggingConfigError(ValueError):
    """A logging.properties that cannot be followed; the text says why."""


def setup_logging(config_file: str | Path | None = None, log_dir: str | Path | None = None) -> None:
    """Give the root logger its handlers and levels; what was set up before is taken away.

    By default `default_config_file` and `default_log_dir` say what to read and where to write. `LoggingConfigError` if
    the file has a wrong key or value; a directory that cannot be written is named on stderr, and logging goes on
    without files, as with log4j.
    """
    config_file = config_file or default_config_file()
    settings = DEFAULTS if config_file is None else load_file(config_file)
    _check(settings, config_file)
    for number, name in ((5, "TRACE"), (logging.WARNING, "WARN"), (logging.CRITICAL, "FATAL")):
        logging.addLevelName(number, name)
    logging.raiseExceptions = False  # a full disk must not fill stderr, nor stop the broker
    logging.root.setLevel(_level(settings.get("level", "INFO")))
    for handler in logging.root.handlers[:]:
        logging.root.removeHandler(handler)
    if settings.get("stderr", "true").lower() == "true":
        _attach(logging.root, logging.StreamHandler(sys.stderr))
    _open_files(settings, Path(log_dir) if log_dir is not None else default_log_dir())
    for key, level in settings.items():
        if key.startswith("level."):
            logging.getLogger(key.removeprefix("level.")).setLevel(_level(level))


def default_config_file() -> Path | None:
    """$KAFKAPY_LOGGING_CONFIG, else a clone's `config/logging.properties`, else None."""
    if os.environ.get("KAFKAPY_LOGGING_CONFIG"):
        return Path(os.environ["KAFKAPY_LOGGING_CONFIG"])
    file = _CLONE / "config" / "logging.properties"
    return file if file.is_file() else None


def default_log_dir() -> Path:
    """$LOG_DIR as in Kafka's scripts, else `logs` beside a clone's `bin`, else `logs` in the working directory."""
    if os.environ.get("LOG_DIR"):
        return Path(os.environ["LOG_DIR"])
    return (_CLONE if (_CLONE / "bin").is_dir() else Path.cwd()) / "logs"


def _open_files(settings: Mapping[str, str], log_dir: Path) -> None:
    files = {k.removeprefix("file."): names for k, names in settings.items() if k.startswith("file.")}
    if not files:
        return
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        for file, names in files.items():
            handler = _RotatingFile(log_dir / file, settings.get("rotate", "hour"))
            for name in (part.strip() for part in names.split(",")):
                _attach(logging.getLogger("" if name == logger_levels.ROOT else name), handler)
    except OSError as error:
        print(f"No log files in {log_dir}: {error}", file=sys.stderr)


def _attach(logger: logging.Logger, handler: logging.Handler) -> None:
    """A logger with a file of its own keeps out of server.log and stderr, as Kafka's `additivity=false`."""
    handler.setFormatter(_Formatter())
    if logger is not logging.root:
        for old in logger.handlers[:]:
            logger.removeHandler(old)
        logger.propagate = False
    logger.addHandler(handler)


def _check(settings: Mapping[str, str], file: str | Path | None) -> None:
    for key, value in settings.items():
        if key == "level" or key.startswith("level."):
            if value.upper() not in logger_levels.LEVELS:
                raise LoggingConfigError(f"{file}: {key}={value}: a level is one of {', '.join(logger_levels.LEVELS)}")
        elif key == "rotate":
            if value not in ("hour", "day", "never"):
                raise LoggingConfigError(f"{file}: rotate={value}: it is one of hour, day, never")
        elif key != "stderr" and not key.startswith("file."):
            raise LoggingConfigError(f"{file}: unknown key {key}")


def _level(name: str) -> int:
    return logger_levels.LEVELS[name.upper()]


class _Formatter(logging.Formatter):
    """Kafka's line. A change of leaders is a thousand lines in a moment, so the second they share is written out once."""

    def __init__(self) -> None:
        super().__init__()
        self._second = (-1, "")

    def formatMessage(self, record: logging.LogRecord) -> str:
        second, text = self._second
        if int(record.created) != second:
            second = int(record.created)
            text = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(second))
            self._second = (second, text)
        return f"[{text},{int(record.msecs):03d}] {record.levelname} {record.message} ({record.name})"


class _RotatingFile(TimedRotatingFileHandler):
    """A file that is renamed to `<name>.<yyyy-MM-dd-HH>` when its hour (or day) is over; opened on its first line."""

    def __init__(self, path: Path, rotate: str) -> None:
        self._seconds = {"hour": 3600, "day": 86400, "never": 0}[rotate]
        super().__init__(path, when="H" if rotate == "hour" else "D", delay=True, encoding="utf-8")
        self.suffix = "%Y-%m-%d" if rotate == "day" else "%Y-%m-%d-%H"

    def computeRollover(self, currentTime: int) -> int:
        if not self._seconds:
            return sys.maxsize
        local = time.localtime(currentTime)
        return currentTime - (local.tm_hour * 3600 + local.tm_min * 60 + local.tm_sec) % self._seconds + self._seconds
