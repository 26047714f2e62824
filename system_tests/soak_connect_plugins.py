"""Connectors that fail, each at another place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.converters.string_converter import StringConverter
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import SourceConnector, SourceTask


class FailingTask(SourceTask):
    """Fails at its start, or at the first poll."""

    def version(self) -> str:
        return "1.0"

    def start(self, config: Mapping[str, str]) -> None:
        self._place = config["fails.in"]
        if self._place == "start":
            raise RuntimeError("as the test wants")

    def poll(self) -> Sequence[SourceRecord] | None:
        raise RuntimeError("as the test wants")

    def stop(self) -> None:
        if self._place == "stop":
            raise RuntimeError("as the test wants")


class FailingSource(SourceConnector):
    """`fails.in`: connector, start, poll or stop."""

    def version(self) -> str:
        return "1.0"

    def config(self) -> ConfigDef:
        return ConfigDef().define("fails.in", doc="Where.")

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        if config["fails.in"] == "connector":
            raise RuntimeError("as the test wants")

    def task_class(self) -> type[Any]:
        return FailingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config] * max_tasks

    def stop(self) -> None: ...


class FailingConverter(StringConverter):
    """No task can be made with it."""

    def configure(self, configs: Mapping[str, object], is_key: bool = False) -> None:
        raise RuntimeError("as the test wants")
