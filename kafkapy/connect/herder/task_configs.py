"""Are the configs of tasks others than before? What config providers say stays out of them (Kafka's `AbstractHerder`)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kafkapy.common.java_hash_order import hash_map_copy_order
from kafkapy.connect.herder.infos import Config
from kafkapy.connect.storage import ClusterConfigState, ConnectorTaskId

VARIABLE = re.compile(r"\$\{([^}]*?):(([^}]*?):)?([^}]*?)\}")
"""`${provider:[path:]key}`, as Kafka's `ConfigTransformer` finds it."""


def reverse_transform(
    connector: str, state: ClusterConfigState, configs: Sequence[Config]
) -> list[dict[str, str | None]]:
    """Put the connector's variables back into its tasks' configs, so that no secret gets into the topic.

    Args:
        connector: Its name.
        state: The configs.
        configs: The tasks' configs as the connector has made them.
    """
    raw = state.raw_connector_config(connector) or {}
    variables = {key: value for key, value in raw.items() if value is not None and VARIABLE.search(value)}
    return [{key: variables.get(key, config[key]) for key in hash_map_copy_order(config)} for config in configs]


def task_configs_changed(state: ClusterConfigState, connector: str, configs: Sequence[Config]) -> bool:
    """Do the tasks need other configs than they have, or was the connector's own changed since?"""
    if len(configs) != state.task_count(connector):
        return True
    for number, config in enumerate(configs):
        if dict(config) != dict(state.raw_task_config(ConnectorTaskId(connector, number)) or {}):
            return True
    return state.applied_connector_config(connector) != state.connector_config(connector)
