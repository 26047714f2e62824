"""Configures logging: to stderr, and to files with Kafka's names (server.log, controller.log ...).

A line reads `[2026-11-21 07:00:00,123] INFO started (kafkapy.server.KafkaServer)`. `config/logging.properties` sets the
files of loggers, and their levels; without that file `DEFAULTS` are used.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sys
import time
from collections.abc import Mapping
from logging.handlers import BaseRotatingHandler
from pathlib import Path
from typing import Final

from kafkapy.common import logger_levels
from kafkapy.common.properties import load_file

DEFAULTS: Final = {
    "level": "INFO",
    "stderr": "true",
    "rotate": "hour",
    "MaxFileSize": "50MB",
    "MaxBackupIndex": "168",
    "TotalSizeCap": "250MB",
    "file.server.log": "root",
    "file.controller.log": "kafkapy.controller",
    "file.log-cleaner.log": "kafkapy.log.LogCleaner",
    "file.state-change.log": "kafkapy.state.change",
    "file.kafka-request.log": "kafkapy.request",
    "file.kafka-authorizer.log": "kafkapy.authorizer",
    "level.kafkapy.request": "WARN",
    "level.kazoo": "WARN",
}
_BOUNDS: Final = ("MaxFileSize", "MaxBackupIndex", "TotalSizeCap")
_NUMBER: Final = re.compile(r"([0-9]{1,15})(KB|MB|GB)?", re.ASCII)
_UNITS: Final = {"": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
_CLONE: Final = Path(__file__).resolve().parents[2]


class LoggingConfigError(ValueError):
    """An invalid logging.properties; the message says why."""


def setup_logging(config_file: str | Path | None = None, log_dir: str | Path | None = None) -> None:
    """Set the handlers and levels of all loggers, replacing earlier ones.

    Files default to `default_config_file` and `default_log_dir`. If the log directory cannot be written, logging
    continues without files, as in log4j, and a message on stderr says so.

    Raises:
        LoggingConfigError: the file has an unknown key or an invalid value.
    """
    config_file = config_file or default_config_file()
    settings = DEFAULTS if config_file is None else load_file(config_file)
    _check(settings, config_file)
    for number, name in ((5, "TRACE"), (logging.WARNING, "WARN"), (logging.CRITICAL, "FATAL")):
        logging.addLevelName(number, name)
    logging.raiseExceptions = False  # a full disk must not fill stderr, nor stop the broker
    # Don't compute attributes that no line shows: a change of leaders logs thousands of lines at once.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.root.setLevel(_level(settings.get("level", "INFO")))
    for handler in logging.root.handlers[:]:
        logging.root.removeHandler(handler)
    if settings.get("stderr", "true").lower() == "true":
        _attach(logging.root, logging.StreamHandler(sys.stderr))
    _open_files(settings, Path(log_dir) if log_dir is not None else default_log_dir())
    for key, level in settings.items():
        if key.startswith("level."):
            logging.getLogger(key.removeprefix("level.")).setLevel(_level(level))


def to_files_only() -> None:
    """Stop logging to stderr once a daemon has started, because its stderr file is never rotated.

    Without log files nothing changes.
    """
    if any(isinstance(handler, _RotatingFile) for handler in logging.root.handlers):
        for handler in logging.root.handlers[:]:
            if type(handler) is logging.StreamHandler:
                logging.root.removeHandler(handler)


def default_config_file() -> Path | None:
    """Return $KAFKAPY_LOGGING_CONFIG, else a clone's `config/logging.properties`, else None."""
    if os.environ.get("KAFKAPY_LOGGING_CONFIG"):
        return Path(os.environ["KAFKAPY_LOGGING_CONFIG"])
    file = _CLONE / "config" / "logging.properties"
    return file if file.is_file() else None


def default_log_dir() -> Path:
    """Return $LOG_DIR as in Kafka's scripts, else `logs` beside a clone's `bin`, else `logs` in the working directory."""
    if os.environ.get("LOG_DIR"):
        return Path(os.environ["LOG_DIR"])
    return (_CLONE if (_CLONE / "bin").is_dir() else Path.cwd()) / "logs"


def _open_files(settings: Mapping[str, str], log_dir: Path) -> None:
    files = {k.removeprefix("file."): names for k, names in settings.items() if k.startswith("file.")}
    if not files:
        return
    values = {**DEFAULTS, **settings}
    try:
        log_dir.mkdir(parents=True, exist_ok=True)
        for file, names in files.items():
            handler = _RotatingFile(log_dir / file, values["rotate"], *(_number(values[key]) for key in _BOUNDS))
            for name in (part.strip() for part in names.split(",")):
                _attach(logging.getLogger("" if name == logger_levels.ROOT else name), handler)
    except OSError as error:
        print(f"No log files in {log_dir}: {error}", file=sys.stderr)


def _attach(logger: logging.Logger, handler: logging.Handler) -> None:
    """Add a handler.

    A logger with its own file does not log to server.log and stderr, as with Kafka's `additivity=false`.
    """
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
        elif key in _BOUNDS:
            if not _NUMBER.fullmatch(value) or (key == "MaxBackupIndex" and not value.isdigit()):
                expected = "a number of files" if key == "MaxBackupIndex" else "a size like 50MB"
                raise LoggingConfigError(f"{file}: {key}={value}: {expected} is expected")
        elif key != "stderr" and not key.startswith("file."):
            raise LoggingConfigError(f"{file}: unknown key {key}")


def _number(text: str) -> int:
    """Return a size like `50MB` in bytes, with log4j's units."""
    match = _NUMBER.fullmatch(text)
    assert match is not None, text  # `_check` has validated it
    return int(match[1]) * _UNITS[match[2] or ""]


def _level(name: str) -> int:
    return logger_levels.LEVELS[name.upper()]


class _Formatter(logging.Formatter):
    """Formats lines as Kafka does.

    The formatted second is cached, because a change of leaders logs thousands of lines at once.
    """

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


class _RotatingFile(BaseRotatingHandler):
    """A log file that is renamed to `<name>.<yyyy-MM-dd-HH>` at the end of its hour (or day).

    It is opened when the first line is written. A file that reaches `max_bytes` earlier is renamed, too; further files
    of the same hour get `.1`, `.2`. Of renamed files the newest are kept: at most `most_files`, with at most
    `most_bytes` together.
    """

    def __init__(self, path: Path, rotate: str, max_bytes: int, most_files: int, most_bytes: int) -> None:
        super().__init__(path, "a", encoding="utf-8", delay=True)
        self._path = path
        self._rotate = rotate
        self._period = "%Y-%m-%d-%H" if rotate == "hour" else "%Y-%m-%d"
        self._old_name = re.compile(re.escape(path.name) + r"\.(\d{4}-\d\d-\d\d(?:-\d\d)?)(?:\.(\d+))?")
        self._max_bytes, self._max_files, self._max_total_bytes = max_bytes, most_files, most_bytes
        self._began = self._ends = 0.0

    def shouldRollover(self, record: logging.LogRecord) -> bool:
        if self.stream is None:
            self.stream = self._open()
            status = os.fstat(self.stream.fileno())
            self._begin(status.st_mtime if status.st_size else record.created)
            self._delete_old()
        return record.created >= self._ends or os.fstat(self.stream.fileno()).st_size >= self._max_bytes

    def doRollover(self) -> None:
        assert self.stream is not None  # `shouldRollover` has opened it
        self.stream.close()
        self.stream = None  # reopened even if the file cannot be renamed
        period = time.strftime(self._period, time.localtime(self._began))
        number = 1 + max((n for file_period, n, _ in self._old_files() if file_period == period), default=-1)
        self._path.rename(f"{self._path}.{period}" + (f".{number}" if number else ""))
        self._delete_old()
        self.stream = self._open()
        self._begin(time.time())

    def _begin(self, now: float) -> None:
        """Start the period (hour or day) that contains `now`."""
        local = time.localtime(now)
        into_hour = local.tm_min * 60 + local.tm_sec
        begins = {"hour": into_hour, "day": local.tm_hour * 3600 + into_hour}.get(self._rotate)
        length = {"hour": 3600, "day": 86400}.get(self._rotate, 0)
        self._began = now
        self._ends = math.inf if begins is None else int(now) - begins + length

    def _old_files(self) -> list[tuple[str, int, Path]]:
        """Return (period, number in it, path) of renamed files, the oldest first."""
        found = [(self._old_name.fullmatch(path.name), path) for path in self._path.parent.iterdir()]
        return sorted((match[1], int(match[2] or 0), path) for match, path in found if match)

    def _delete_old(self) -> None:
        kept = 0
        for number, (_, _, path) in enumerate(reversed(self._old_files()), 1):
            kept += path.stat().st_size
            if number > self._max_files or kept > self._max_total_bytes:
                path.unlink()
