"""Which topics, groups and configs are chosen."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.mirror import DefaultConfigPropertyFilter, DefaultGroupFilter, DefaultTopicFilter


def topics(**configs: str) -> DefaultTopicFilter:
    found = DefaultTopicFilter()
    found.configure({name.replace("_", "."): value for name, value in configs.items()})
    return found


def test_topics_by_default() -> None:
    chosen = topics()
    assert chosen.should_replicate_topic("orders")
    for name in ("a.internal", "a-internal", "orders.replica", "__consumer_offsets"):
        assert not chosen.should_replicate_topic(name)


def test_topics_by_pattern_match_whole_names() -> None:
    chosen = topics(topics="orders, clicks.*")
    assert [chosen.should_replicate_topic(name) for name in ("orders", "orders2", "clicks-eu")] == [True, False, True]


def test_an_empty_list_is_nothing() -> None:
    assert not topics(topics="").should_replicate_topic("orders")
    assert topics(topics_exclude="").should_replicate_topic("__x")


def test_old_names() -> None:
    assert not topics(topics_blacklist="orders").should_replicate_topic("orders")
    assert topics(topics_blacklist="orders", topics_exclude="x").should_replicate_topic("orders")


def test_a_wrong_pattern_is_a_config_error() -> None:
    with pytest.raises(ConfigException, match=r"topics.*Invalid regex"):
        topics(topics="(")


def test_groups() -> None:
    chosen = DefaultGroupFilter()
    chosen.configure({"groups": "g.*", "groups.blacklist": "g2"})
    assert [chosen.should_replicate_group(name) for name in ("g1", "g2", "h")] == [True, False, False]


def test_configs() -> None:
    chosen = DefaultConfigPropertyFilter()
    assert chosen.should_replicate_config_property("retention.ms")
    assert not chosen.should_replicate_config_property("message.timestamp.type")
    assert not chosen.should_replicate_source_default("retention.ms")
    chosen.configure({"config.properties.exclude": "retention.*", "use.defaults.from": "source"})
    assert not chosen.should_replicate_config_property("retention.ms")
    assert chosen.should_replicate_config_property("message.timestamp.type")
    assert chosen.should_replicate_source_default("retention.ms")
