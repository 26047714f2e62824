"""Compares task configs, and removes the values of config providers from them (Kafka's `AbstractHerder`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kafkapy.common.java_hash_order import hash_map_copy_order
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId

VARIABLE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
"""`${provider:[path:]key}`: the pattern of Kafka's `ConfigTransformer`."""


def reverse_transform(
    connector: str, state: ClusterConfigState, configs: Sequence[Config]
) -> list[dict[str, str | None]]:
    """Put the connector's variables back into its tasks' configs, so that no secret gets into the topic.

    Args:
        connector: Its name.
        state: The configs.
        configs: The tasks' configs from the connector.
    """
    raw = state.raw_connector_config(connector) or {}
    variables = {key: value for key, value in raw.items() if value is not None and VARIABLE.search(value)}
    return [{key: variables.get(key, config[key]) for key in hash_map_copy_order(config)} for config in configs]


def task_configs_changed(state: ClusterConfigState, connector: str, configs: Sequence[Config]) -> bool:
    """Return whether the tasks' configs differ from the stored ones, or the connector's config has changed since they
    were stored."""
    if len(configs) != state.task_count(connector):
        return True
    for number, config in enumerate(configs):
        if dict(config) != dict(state.raw_task_config(ConnectorTaskId(connector, number)) or {}):
            return True
    return state.applied_connector_config(connector) != state.connector_config(connector)
