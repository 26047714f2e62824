from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.common import logger_levels
from kafkapy.common.logging_setup import DEFAULTS, LoggingConfigError, _RotatingFile, setup_logging
from kafkapy.common.properties import load_file

SHIPPED = Path(__file__).parents[2] / "config" / "logging.properties"


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    """Every logger as it was before."""
    root = logging.root
    before = root.handlers[:], root.level, logging.raiseExceptions
    names = {n: logging.getLevelName(n) for n in (logging.WARNING, logging.CRITICAL)}
    yield
    for logger in [root, *(x for x in root.manager.loggerDict.values() if isinstance(x, logging.Logger))]:
        if logger is root or logger.name.startswith("kafkapy"):
            for handler in logger.handlers[:]:
                if handler not in before[0]:
                    logger.removeHandler(handler)
                    handler.close()
            if logger is not root:
                logger.propagate, logger.level = True, logging.NOTSET
    root.handlers[:], logging.raiseExceptions = before[0], before[2]
    root.setLevel(before[1])
    for number, name in names.items():
        logging.addLevelName(number, name)


def test_lines_read_as_kafkas_and_go_to_the_files_of_their_loggers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    setup_logging(SHIPPED, tmp_path)
    logging.getLogger("kafkapy.server.KafkaServer").warning("careful")
    logging.getLogger("kafkapy.controller.Election").info("elected")
    logging.getLogger("kafkapy.server.KafkaServer").debug("not shown")
    server, controller = (tmp_path / "server.log").read_text(), (tmp_path / "controller.log").read_text()
    assert server.endswith("] WARN careful (kafkapy.server.KafkaServer)\n")
    assert time.strptime(server[1:20], "%Y-%m-%d %H:%M:%S")
    assert controller.endswith("] INFO elected (kafkapy.controller.Election)\n")
    assert "elected" not in server
    assert "careful" in capsys.readouterr().err


def test_the_shipped_file_says_what_holds_without_it() -> None:
    assert load_file(SHIPPED) == DEFAULTS


@pytest.mark.parametrize("line", ["level=LOUD", "level.x=1", "rotate=minute", "colour=red"])
def test_a_wrong_setting_is_refused_with_a_sentence(tmp_path: Path, line: str) -> None:
    file = tmp_path / "logging.properties"
    file.write_text(line)
    with pytest.raises(LoggingConfigError, match=r"logging\.properties"):
        setup_logging(file, tmp_path)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    setup_logging(SHIPPED, tmp_path / "file" / "logs")
    assert "No log files in" in capsys.readouterr().err


@pytest.mark.parametrize(("rotate", "seconds"), [("hour", 3600), ("day", 86400)])
def test_files_begin_anew_on_the_hour_or_day(tmp_path: Path, rotate: str, seconds: int) -> None:
    handler = _RotatingFile(tmp_path / "x.log", rotate)
    now = 1_700_001_234
    rollover = time.localtime(handler.computeRollover(now))
    assert rollover.tm_min == rollover.tm_sec == 0
    assert 0 < time.mktime(rollover) - now <= seconds + 3600
    handler.close()


def test_loggers_have_kafkas_names_and_log4js_levels() -> None:
    logging.getLogger("kafkapy.server.KafkaApis")
    assert logger_levels.exists("kafka.server.KafkaApis")
    assert logger_levels.exists("root")
    assert not logger_levels.exists("no.such.logger")
    logger_levels.set_level("kafka.server.KafkaApis", "TRACE")
    assert logger_levels.loggers()["kafka.server.KafkaApis"] == "TRACE"
    assert logging.getLogger("kafkapy.server.KafkaApis").isEnabledFor(5)
    logger_levels.unset_level("kafka.server.KafkaApis")
    assert logger_levels.loggers()["kafka.server.KafkaApis"] == logger_levels.loggers()["root"]


def test_levels_between_log4js_have_the_name_below() -> None:
    assert [logger_levels.level_name(n) for n in (1, 5, 10, 25, 30, 45, 99)] == (
        ["TRACE", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]
    )
