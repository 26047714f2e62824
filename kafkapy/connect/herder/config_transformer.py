"""Replaces variables in configs by values of config providers (Kafka's `ConfigTransformer`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kafkapy.connect.herder.config_providers import ConfigData, ConfigProvider, make_providers
from kafkapy.connect.herder.config_reload import ConfigReloads
from kafkapy.connect.herder.task_configs import VARIABLE


def resolve_worker_configs(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a worker's configs, with the variables in them replaced by values of its own `config.providers`.

    Args:
        properties: The worker's.

    Raises:
        ConfigException: A provider is wrong, or cannot read its values.

    Example:
        >>> import os
        >>> os.environ["DOC_SERVERS"] = "a:9092"
        >>> provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        >>> configs = {"config.providers": "env", "config.providers.env.class": provider}
        >>> resolve_worker_configs({**configs, "bootstrap.servers": "${env::DOC_SERVERS}"})["bootstrap.servers"]
        'a:9092'
    """
    transformer = ProviderTransformer(make_providers(properties))
    try:
        return {name: value for name, value in transformer(None, properties).items() if value is not None}
    finally:
        transformer.close()


class ProviderTransformer:
    """Replaces `${provider:[path:]key}`; variables without a value remain unchanged.

    Example:
        >>> import os
        >>> from kafkapy.connect.herder.config_providers import EnvVarConfigProvider
        >>> os.environ["DOC_SECRET"] = "s"
        >>> ProviderTransformer({"env": EnvVarConfigProvider()})(None, {"password": "${env::DOC_SECRET}", "x": "${env::NO}"})
        {'password': 's', 'x': '${env::NO}'}
    """

    def __init__(self, providers: Mapping[str, ConfigProvider], reloads: ConfigReloads | None = None) -> None:
        """
        Args:
            providers: Name in `config.providers` -> provider.
            reloads: Restarts connectors whose values expire. Default: its own.
        """
        self.reloads = reloads or ConfigReloads()
        self._providers = providers

    def __call__(self, connector: str | None, config: Mapping[str, str | None]) -> dict[str, str | None]:
        """Return the config with variables replaced.

        Args:
            connector: The connector that is restarted when values expire. None: there is none.
            config: The config.

        Raises:
            ConfigException: A provider cannot read its values.
        """
        wanted: dict[tuple[str, str], set[str]] = {}
        for value in config.values():
            for match in VARIABLE.finditer(value or ""):
                if match[1] in self._providers:
                    wanted.setdefault((match[1], match[3] or ""), set()).add(match[4])
        if not wanted:
            return dict(config)
        found = {
            (provider, path): self._providers[provider].get(path, sorted(keys))
            for (provider, path), keys in wanted.items()
        }

        if connector is not None:
            ttls = [data.ttl_ms for data in found.values() if isinstance(data, ConfigData) and data.ttl_ms is not None]
            self.reloads.plan(connector, config, min(ttls, default=None))

        def value_of(match: re.Match[str]) -> str:
            provider, path, key = match[1], match[3] or "", match[4]
            return found.get((provider, path), {}).get(key, match[0])

        return {name: None if value is None else VARIABLE.sub(value_of, value) for name, value in config.items()}

    def close(self) -> None:
        self.reloads.close()
        for provider in self._providers.values():
            provider.close()
