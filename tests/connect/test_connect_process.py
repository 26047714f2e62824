"""`kafkapy.connect.connect_process`: what is checked before a worker starts."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connect_process import check_converters
from kafkapy.connect.plugins import Plugins

JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_converters_that_are_there() -> None:
    names = {"key.converter": JSON, "value.converter": "StringConverter", "header.converter": JSON}
    check_converters(names, Plugins())


@pytest.mark.parametrize(
    ("config", "name", "message"),
    [
        ("key.converter", "no.such", "Class no.such could not be found"),
        ("value.converter", "no.such:Converter", "No module named 'no'"),
        ("value.converter", "org.apache.kafka.connect.transforms.Filter", "It is no converter"),
        ("header.converter", "ByteArrayConverter2", "could not be found"),
        ("key.converter", "org.apache.kafka.connect.storage.SimpleHeaderConverter", "It is no converter"),
    ],
)
def test_converters_that_are_not(config: str, name: str, message: str) -> None:
    with pytest.raises(ConfigException, match=f"for configuration {config}: .*{message}"):
        check_converters({config: name}, Plugins())
