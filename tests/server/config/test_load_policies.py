"""Policies by import path."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.load_policies import load_policies
from kafkapy.server.policies import CreateTopicPolicy, Policies


class Closing(CreateTopicPolicy):
    def configure(self, configs: Mapping[str, str]) -> None:
        if configs.get("my.limit") == "wrong":
            raise ValueError("my.limit must be a number")
        self.closed = False

    def close(self) -> None:
        self.closed = True


def policies(**properties: str) -> Policies:
    renamed = {name.replace("_", "."): value for name, value in properties.items()}
    return load_policies(KafkaConfig.from_properties({"zookeeper.connect": "z:1", **renamed}))


def test_without_configs_there_are_none() -> None:
    assert policies() == (None, None)
    policies().close()


def test_they_are_configured_and_closed() -> None:
    loaded = policies(create_topic_policy_class_name=f"{__name__}:Closing")
    assert isinstance(loaded.create_topic, Closing)
    assert loaded.alter_config is None
    loaded.close()
    assert loaded.create_topic.closed


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        (
            {"create_topic_policy_class_name": "com.example.Policy"},
            "Invalid value com.example.Policy for configuration create.topic.policy.class.name: Class com.example.Policy could",
        ),
        (
            {"alter_config_policy_class_name": f"{__name__}.Closing"},
            "Closing is not a class derived from kafkapy.server.policies.AlterConfigPolicy",
        ),
        (
            {"create_topic_policy_class_name": f"{__name__}.Closing", "my_limit": "wrong"},
            r"Could not configure it: ValueError\('my.limit must be a number'\)",
        ),
    ],
)
def test_what_cannot_be_used(properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigException, match=sentence):
        policies(**properties)
