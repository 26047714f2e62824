"""Configs of topics, brokers and loggers: describe, alter, reset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.kafka_python.base import Face, error_text, raise_code
from kafkapy.admin.results import values_of
from kafkapy.admin.structs import as_dict
from kafkapy.admin.types import ConfigFilterType, ConfigResource
from kafkapy.clients.requests import VersionedRequest
from kafkapy.common.wire_enums import AlterConfigOp, ConfigResourceType, ConfigSourceType, ConfigType
from kafkapy.protocol.api_keys import ApiKey

Described = dict[str, dict[str, Any]]

_OF_RESOURCE = {
    ConfigResourceType.TOPIC: ConfigSourceType.DYNAMIC_TOPIC_CONFIG,
    ConfigResourceType.BROKER: ConfigSourceType.DYNAMIC_BROKER_CONFIG,
    ConfigResourceType.BROKER_LOGGER: ConfigSourceType.DYNAMIC_BROKER_LOGGER_CONFIG,
    ConfigResourceType.CLIENT_METRICS: ConfigSourceType.DYNAMIC_CLIENT_METRICS_CONFIG,
    ConfigResourceType.GROUP: ConfigSourceType.DYNAMIC_GROUP_CONFIG,
}


class ConfigMethods(Face):
    async def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> dict[str, Described]:
        """Return resource type -> name -> key -> the config as a dict. A resource's `configs` are the keys; None: all.

        `config_filter`: modified (set for the resource), dynamic (may be altered), default, static or all.

        Args:
            config_resources: The resources.
            include_synonyms: Return the configs that a value may come from, too. Default False.
            config_filter: Which configs are returned. Default "modified".
        """
        wanted = ConfigFilterType.build_from(config_filter)
        described: dict[str, Described] = defaultdict(dict)
        call = self._call("DescribeConfigs")
        for answer in values_of(await self.core.configs_of(call, config_resources, include_synonyms)).values():
            result = answer.response
            raise_code(result.error_code, result.error_message)
            resource_type = ConfigResourceType(result.resource_type)
            shown = {}
            for config in result.configs:
                plain = as_dict(config, answer.version)
                source = _source(plain, resource_type)
                read_only = wanted is ConfigFilterType.DYNAMIC and config.read_only
                if not read_only and not wanted.should_skip(source):
                    name, shown_config = plain_config(plain, resource_type)
                    shown[name] = shown_config
            described[resource_type.name.lower()][result.resource_name] = shown
        return dict(described)

    async def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Set configs; a value may be `(op, value)` with an `AlterConfigOp`. Return resource type -> name -> "OK" or
        an error.

        Without IncrementalAlterConfigs (brokers before 2.3), all configs that were set are read first, and written
        together with the changes. Raises ValueError for unknown keys, unless `raise_on_unknown` is False.

        Args:
            config_resources: Resources with their new configs.
            validate_only: Check, and change nothing. Default False.
            raise_on_unknown: Refuse unknown keys. Default True.
            incremental: Use IncrementalAlterConfigs (KIP-339). None (default): where the broker has it.
        """
        resources = [_copy(resource) for resource in config_resources]
        if raise_on_unknown:
            await self._check_known(resources)
        if incremental is None:
            incremental = await self._can_alter_incrementally()
        if not incremental:
            for resource, missing in zip(resources, await self._modified_but_not_named(resources), strict=True):
                resource.configs = {**dict(_dict_of(resource)), **missing}
        return await self._alter(resources, validate_only, incremental)

    async def reset_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Reset configs to their defaults: the keys in a resource's `configs`, or all that were set if there are none.

        Args:
            config_resources: Resources with the keys to reset.
            validate_only: Check, and change nothing. Default False.
            raise_on_unknown: Refuse unknown keys. Default True.
            incremental: Use IncrementalAlterConfigs (KIP-339). None (default): where the broker has it.
        """
        resources = [_copy(resource) for resource in config_resources]
        if raise_on_unknown:
            await self._check_known(resources)
        if incremental is None:
            incremental = await self._can_alter_incrementally()
        modified = await self._modified_but_not_named(resources)
        for resource, others in zip(resources, modified, strict=True):
            if incremental:
                keys = list(resource.configs or others)
                resource.configs = dict.fromkeys(keys, (AlterConfigOp.DELETE, None))
            else:
                resource.configs = others if resource.configs else {}
        return await self._alter(resources, validate_only, incremental)

    async def _can_alter_incrementally(self) -> bool:
        versions = await self.client.connect(await self.client.least_loaded_node())
        return versions.supports(ApiKey.INCREMENTAL_ALTER_CONFIGS)

    async def _check_known(self, resources: list[ConfigResource]) -> None:
        lookups = [ConfigResource(resource.resource_type, resource.name) for resource in resources]
        described = await self.describe_configs(lookups, config_filter="dynamic")
        for resource in resources:
            known = described[resource.resource_type.name.lower()][resource.name]
            unknown = set(resource.configs or ()) - set(known)
            if unknown:
                raise ValueError(f"Unrecognized configs: {unknown}")

    async def _modified_but_not_named(self, resources: list[ConfigResource]) -> list[dict[str, str]]:
        """Return for each resource the configs that are set and not among its `configs`."""
        lookups = [ConfigResource(resource.resource_type, resource.name) for resource in resources]
        described = await self.describe_configs(lookups, config_filter="modified")
        found = []
        for resource in resources:
            configs = described[resource.resource_type.name.lower()][resource.name]
            named = set(resource.configs or ())
            found.append(
                {
                    key: config["value"]
                    for key, config in configs.items()
                    if key not in named and config["value"] is not None
                }
            )
        return found

    async def _alter(
        self, resources: list[ConfigResource], validate_only: bool, incremental: bool
    ) -> dict[str, dict[str, str]]:
        if incremental:
            changes = {resource: _changes(resource) for resource in resources}
            answers = await self.core.change_configs(self._call("IncrementalAlterConfigs"), changes, validate_only)
        else:
            values = {resource: _values(resource) for resource in resources}
            answers = await self.core.replace_configs(self._call("AlterConfigs"), values, validate_only)
        altered: dict[str, dict[str, str]] = defaultdict(dict)
        for resource, answer in values_of(answers).items():
            altered[resource.resource_type.name.lower()][resource.name] = error_text(answer.response)
        return dict(altered)

    async def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> dict[str, list[str]]:
        """Return resource type -> names of the resources that have configs (KIP-1142).

        Needs a broker from 4.1 on (3.7 for CLIENT_METRICS).

        Args:
            resource_types: Which types. None (default): all.
        """
        from kafkapy.admin.kraft import ListConfigResourcesRequest

        kinds = [ConfigResourceType.build_from(kind).value for kind in resource_types or ()]

        def build(version: int) -> ListConfigResourcesRequest:
            return ListConfigResourcesRequest(resource_types=kinds if version >= 1 else [])

        lowest = 1 if set(kinds) - {ConfigResourceType.CLIENT_METRICS.value} else 0
        answer = await self._any(VersionedRequest(ListConfigResourcesRequest, build), min_version=lowest)
        raise_code(answer.response.error_code)
        found: dict[str, list[str]] = defaultdict(list)
        for resource in answer.response.config_resources:
            found[ConfigResourceType(resource.resource_type).name.lower()].append(resource.resource_name)
        return dict(found)


def plain_config(config: dict[str, Any], resource_type: ConfigResourceType) -> tuple[str, dict[str, Any]]:
    """Return the key of a described config, and its other fields with names in place of codes."""
    source = _source(config, resource_type)
    name = config.pop("name")
    config["config_source"] = source.name
    for synonym in config.get("synonyms", ()):
        synonym["source"] = ConfigSourceType(synonym["source"]).name
    if "config_type" in config:
        config["config_type"] = ConfigType(config["config_type"]).name
    return name, config


def _source(config: dict[str, Any], resource_type: ConfigResourceType) -> ConfigSourceType:
    """Return a config's source; before version 1 the response only has whether a value is a default."""
    if "config_source" in config:
        return ConfigSourceType.build_from(config["config_source"])
    if config["read_only"] and resource_type is ConfigResourceType.BROKER:
        return ConfigSourceType.STATIC_BROKER_CONFIG
    if config.get("is_default", False):
        return ConfigSourceType.DEFAULT_CONFIG
    return _OF_RESOURCE.get(resource_type, ConfigSourceType.UNKNOWN)


def _copy(resource: ConfigResource) -> ConfigResource:
    return ConfigResource(resource.resource_type, resource.name, resource.configs)


def _dict_of(resource: ConfigResource) -> Mapping[str, Any]:
    if not resource.configs:
        return {}
    if not isinstance(resource.configs, Mapping):
        raise TypeError("The configs to alter are a dict of {key: value} or {key: (op, value)}")
    return resource.configs


def _changes(resource: ConfigResource) -> list[ConfigChange]:
    found = []
    for key, given in _dict_of(resource).items():
        op, value = given if isinstance(given, tuple) else (AlterConfigOp.SET, given)
        operation = AlterConfigOp.build_from(op)
        if operation is AlterConfigOp.DELETE:
            value = None
        found.append(ConfigChange(key, None if value is None else str(value), operation))
    return found


def _values(resource: ConfigResource) -> dict[str, str | None]:
    changes = _changes(resource)
    for key, _, op in changes:
        if op is not AlterConfigOp.SET:
            raise ValueError(f"{op.name} of {key} needs a broker from 2.3 on and incremental alteration")
    return {change.name: change.value for change in changes}
