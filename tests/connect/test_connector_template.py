"""The template of a package with a connector, without a worker (tests/connect/test_connectors_page.py has one)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from examples.connector.counting import CountingConnector, CountingTask
from kafkapy.common.config_def import ConfigException
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.source import ExactlyOnceSupport


def task(offset: Any) -> CountingTask:
    made, connector = CountingTask(), CountingConnector()
    reader = SimpleNamespace(offset=lambda partition: offset)
    context: Any = SimpleNamespace(offset_storage_reader=lambda: reader)
    made.initialize(context)
    connector.start({"topic": "numbers", "to": "7"})
    made.start(connector.task_configs(3)[0])
    return made


def test_it_counts_on_from_its_offset() -> None:
    counting = task(None)
    assert [[record.value for record in counting.poll()] for _ in range(3)] == [
        ["1", "2", "3", "4", "5"],
        ["6", "7"],
        [],
    ]
    assert [record.source_offset for record in task({"number": 5}).poll()] == [{"number": 6}, {"number": 7}]


def test_its_configs_and_offsets_are_checked() -> None:
    connector = CountingConnector()
    assert connector.exactly_once_support({}) is ExactlyOnceSupport.SUPPORTED
    assert connector.alter_offsets({}, [({}, None), ({}, {"number": 3})])
    with pytest.raises(ConnectException, match="has a number"):
        connector.alter_offsets({}, [({}, {"line": 3})])
    with pytest.raises(ConfigException):
        connector.config().parse({"topic": "", "to": "5"})
