"""A Connect worker finds MirrorMaker's classes by Kafka's names."""

from __future__ import annotations

from configparser import ConfigParser
from pathlib import Path

import pytest

from kafkapy.connect.plugins import class_name_of
from kafkapy.mirror.flow_worker import MIRROR_CONNECTORS, MirrorPlugins
from kafkapy.mirror.mirror_classes import KAFKA, find_class

SETUP = Path(__file__).parents[2] / "setup.cfg"


def entry_points() -> dict[str, str]:
    parser = ConfigParser(delimiters=("=",), interpolation=None)
    parser.read(SETUP)
    lines = parser["options.entry_points"]["kafkapy.connect"].strip().splitlines()
    return {name.strip(): place.strip() for name, _, place in (line.partition(" = ") for line in lines)}


def test_entry_points_name_the_classes() -> None:
    found = entry_points()
    assert len(found) == 6
    for name, place in found.items():
        assert name.startswith(KAFKA) and class_name_of(find_class(place)) == name


def test_plugins_of_the_dedicated_mode() -> None:
    plugins = MirrorPlugins((), MIRROR_CONNECTORS)
    for name, place in entry_points().items():
        assert plugins.find_class(name) is find_class(place)
    assert [plugins.new_connector(each.java_class).version() for each in MIRROR_CONNECTORS] == ["3.9.1"] * 3
    assert plugins.find_class("org.apache.kafka.connect.json.JsonConverter").__name__ == "JsonConverter"
    with pytest.raises(LookupError):
        plugins.find_class(f"{KAFKA}Nothing")
