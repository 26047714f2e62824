"""Options that have no effect are named."""

from __future__ import annotations

import logging

import pytest

from kafkapy.connect.connectors.postgresql.source_connector import PostgresConnector

NEEDED = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "shop"}
OF_THE_WORKER = {"name": "n", "tasks.max": "1", "key.converter": "x", "topic.creation.default.partitions": "1"}


def test_options_without_effect_are_named(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        PostgresConnector().start({**NEEDED, **OF_THE_WORKER, "plugin.name": "pgoutput"})
    assert caplog.messages == []
    with caplog.at_level(logging.WARNING):
        PostgresConnector().start({**NEEDED, "name": "n", "max.queue.size": "5", "cdc.typo": "1"})
    assert [text.split()[2] for text in caplog.messages] == ["max.queue.size", "cdc.typo"]
