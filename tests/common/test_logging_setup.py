from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest

from kafkapy.common import logger_levels
from kafkapy.common.logging_setup import DEFAULTS, LoggingConfigError, _RotatingFile, setup_logging, to_files_only
from kafkapy.common.properties import load_file

SHIPPED = Path(__file__).parents[2] / "config" / "logging.properties"


pytestmark = pytest.mark.usefixtures("logging_restored")


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


def test_nothing_is_found_out_for_a_line_that_it_does_not_show(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A change of leaders is thousands of lines in a moment."""
    setup_logging(SHIPPED, tmp_path)
    logging.root.addHandler(caplog.handler)
    logging.getLogger("kafkapy.server.KafkaServer").warning("careful")
    (record,) = caplog.records
    assert (record.lineno, record.threadName, record.processName, record.process) == (0, None, None, None)


def test_the_shipped_file_says_what_holds_without_it() -> None:
    assert load_file(SHIPPED) == DEFAULTS


@pytest.mark.parametrize(
    "line", ["level=LOUD", "level.x=1", "rotate=minute", "colour=red", "MaxFileSize=big", "MaxBackupIndex=3MB"]
)
def test_a_wrong_setting_is_refused_with_a_sentence(tmp_path: Path, line: str) -> None:
    file = tmp_path / "logging.properties"
    file.write_text(line)
    with pytest.raises(LoggingConfigError, match=r"logging\.properties"):
        setup_logging(file, tmp_path)


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    setup_logging(SHIPPED, tmp_path / "file" / "logs")
    assert "No log files in" in capsys.readouterr().err


HOUR = 1_700_002_800.0
"""The beginning of an hour in any zone whose offset is whole hours."""


class Log:
    """A file and the lines that come to it, each at its time."""

    def __init__(
        self, directory: Path, rotate: str = "hour", size: int = 10**6, files: int = 99, together: int = 10**9
    ) -> None:
        self.directory = directory
        self.handler = _RotatingFile(directory / "x.log", rotate, size, files, together)

    def write(self, at: float, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(time, "time", lambda: at)
        record = logging.LogRecord("x", logging.INFO, "", 0, text, None, None)
        record.created = at
        self.handler.emit(record)

    def files(self) -> dict[str, str]:
        """Suffix -> content without line ends."""
        paths = sorted(self.directory.glob("x.log*"))
        return {path.name.removeprefix("x.log"): path.read_text().replace("\n", "") for path in paths}


def suffix(at: float, pattern: str = ".%Y-%m-%d-%H") -> str:
    return time.strftime(pattern, time.localtime(at))


@pytest.mark.parametrize(("rotate", "pattern"), [("hour", ".%Y-%m-%d-%H"), ("day", ".%Y-%m-%d")])
def test_files_begin_anew_on_the_hour_or_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rotate: str, pattern: str
) -> None:
    log, later = Log(tmp_path, rotate), HOUR + 86400
    for at, text in [(HOUR, "a"), (HOUR + 1, "b"), (later, "c")]:
        log.write(at, text, monkeypatch)
    assert log.files() == {"": "c", suffix(HOUR, pattern): "ab"}
    log.handler.close()


def test_a_file_that_is_not_rotated_has_one_bound_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, "never", size=3)
    for at, text in [(HOUR, "a"), (HOUR + 10**6, "bc"), (HOUR + 10**6, "d")]:
        log.write(at, text, monkeypatch)
    assert log.files() == {"": "d", suffix(HOUR, ".%Y-%m-%d"): "abc"}
    log.handler.close()


def test_what_an_earlier_process_left_belongs_to_its_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.log").write_text("old\n")
    os.utime(tmp_path / "x.log", (HOUR, HOUR))
    log = Log(tmp_path)
    log.write(HOUR + 3600, "new", monkeypatch)
    assert log.files() == {"": "new", suffix(HOUR): "old"}
    log.handler.close()


def test_a_large_file_begins_anew_within_the_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, size=3)
    for text in ("one", "two", "three", "four"):
        log.write(HOUR, text, monkeypatch)
    hour = suffix(HOUR)
    assert log.files() == {"": "four", hour: "one", f"{hour}.1": "two", f"{hour}.2": "three"}
    log.handler.close()


def test_the_oldest_go_when_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.log.2001-01-01-01").write_text("ancient")
    (tmp_path / "x.log.keep").write_text("not ours")
    log = Log(tmp_path, size=1, files=11)
    for number in range(14):  # the tenth is newer than the second, whatever their names' order
        log.write(HOUR, str(number), monkeypatch)
    hour = suffix(HOUR)
    assert log.files() == {
        "": "13",
        ".keep": "not ours",
        **{f"{hour}.{number}": str(number) for number in range(2, 13)},
    }
    log.handler.close()


def test_the_oldest_go_when_they_are_too_large_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, size=1, together=9)
    for text in ("aa", "bb", "cc", "dd", "ee"):  # each with its line's end
        log.write(HOUR, text, monkeypatch)
    hour = suffix(HOUR)
    assert log.files() == {"": "ee", f"{hour}.1": "bb", f"{hour}.2": "cc", f"{hour}.3": "dd"}
    log.handler.close()


def test_a_daemon_that_has_started_says_no_more_on_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setup_logging(SHIPPED, tmp_path)
    to_files_only()
    logging.getLogger("kafkapy.x").info("quiet")
    assert (tmp_path / "server.log").read_text().endswith("quiet (kafkapy.x)\n")
    (tmp_path / "file").write_text("")
    setup_logging(SHIPPED, tmp_path / "file" / "logs")
    to_files_only()
    logging.getLogger("kafkapy.x").info("loud")
    said = capsys.readouterr().err
    assert "loud" in said
    assert "quiet" not in said


def test_bounds_are_read_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "logging.properties"
    file.write_text("file.x.log=kafkapy.x\nrotate=never\nMaxFileSize=1KB\nMaxBackupIndex=3\nstderr=false\n")
    setup_logging(file, tmp_path / "logs")
    for _ in range(100):
        logging.getLogger("kafkapy.x").warning("%s", "x" * 200)
    sizes = [path.stat().st_size for path in (tmp_path / "logs").glob("x.log*")]
    assert len(sizes) == 4
    assert max(sizes) < 1024 + 300


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
