"""Loads the policies of `create.topic.policy.class.name` and `alter.config.policy.class.name`."""

from __future__ import annotations

from typing import TypeVar

from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.plug_in import make_plug_in
from kafkapy.server.policies import AlterConfigPolicy, CreateTopicPolicy, Policies

Policy = TypeVar("Policy", CreateTopicPolicy, AlterConfigPolicy)


def load_policies(config: KafkaConfig) -> Policies:
    """Return the configured policies.

    Raises:
        ConfigException: A class is unusable.
    """
    return Policies(
        _load(config, "create.topic.policy.class.name", CreateTopicPolicy),
        _load(config, "alter.config.policy.class.name", AlterConfigPolicy),
    )


def _load(config: KafkaConfig, name: str, base: type[Policy]) -> Policy | None:
    path = config.get(name)
    if not path:
        return None
    policy = make_plug_in(path, name, base)
    try:
        policy.configure(config.originals)
    except ConfigException:
        raise
    except Exception as problem:
        raise ConfigException.invalid(name, path, f"Could not configure it: {problem!r}") from problem
    return policy
