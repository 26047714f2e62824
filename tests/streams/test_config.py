"""Configs that depend on each other."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.streams.config import StreamsConfig

NEEDED = {"application.id": "app", "bootstrap.servers": "localhost:9092"}


def test_client_tags() -> None:
    tags = {"client.tag.zone": "a", "client.tag.cluster": "1"}
    config = StreamsConfig({**NEEDED, **tags, "rack.aware.assignment.tags": "zone,cluster"})
    assert config.client_tags == {"zone": "a", "cluster": "1"}
    assert config.rack_aware_assignment_tags == ["zone", "cluster"]
    assert StreamsConfig(NEEDED).client_tags == {}


def test_costs_of_racks() -> None:
    costs = {"rack.aware.assignment.traffic_cost": "7", "rack.aware.assignment.non_overlap_cost": "3"}
    config = StreamsConfig({**NEEDED, **costs})
    assert config.rack_aware_assignment_traffic_cost == 7
    assert config.rack_aware_assignment_non_overlap_cost == 3


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"rack.aware.assignment.tags": "zone"}, "corresponding tag"),
        ({f"client.tag.{number}": "a" for number in range(6)}, "At most 5 client tags"),
        ({"client.tag." + "k" * 21: "a"}, "Tag key exceeds maximum length of 20"),
        ({"client.tag.zone": "v" * 31}, "Tag value exceeds maximum length of 30"),
        ({"rack.aware.assignment.strategy": "near"}, "rack.aware.assignment.strategy"),
        ({"kafkapy.coroutines.max.in.flight": "0"}, "kafkapy.coroutines.max.in.flight"),
    ],
)
def test_configs_that_are_refused(configs: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigException, match=message):
        StreamsConfig({**NEEDED, **configs})
