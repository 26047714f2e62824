"""Configs of topics, brokers and loggers: describe, alter, reset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from kafkapy.admin.core.router import Answer, Router, error_text, raise_code
from kafkapy.admin.core.structs import as_dict
from kafkapy.admin.core.types import (
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
    ConfigType,
)
from kafkapy.clients.requests import VersionedRequest
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest

Described = dict[str, dict[str, Any]]

_OF_RESOURCE = {
    ConfigResourceType.TOPIC: ConfigSourceType.DYNAMIC_TOPIC_CONFIG,
    ConfigResourceType.BROKER: ConfigSourceType.DYNAMIC_BROKER_CONFIG,
    ConfigResourceType.BROKER_LOGGER: ConfigSourceType.DYNAMIC_BROKER_LOGGER_CONFIG,
    ConfigResourceType.CLIENT_METRICS: ConfigSourceType.DYNAMIC_CLIENT_METRICS_CONFIG,
    ConfigResourceType.GROUP: ConfigSourceType.DYNAMIC_GROUP_CONFIG,
}


class ConfigOperations(Router):
    async def describe_configs(
        self,
        config_resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        config_filter: ConfigFilterType | str = "modified",
    ) -> dict[str, Described]:
        """Resource type -> name -> key -> what is known of it. A resource's `configs` name the keys; None: all.

        `config_filter`: modified (set for the resource), dynamic (may be altered), default, static or all.
        """
        wanted = ConfigFilterType.build_from(config_filter)
        described: dict[str, Described] = defaultdict(dict)
        for answer in await self._describe(list(config_resources), include_synonyms):
            for result in answer.response.results:
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

    async def _describe(self, resources: list[ConfigResource], include_synonyms: bool) -> list[Answer[Any]]:
        answers = []
        for node_id, some in _by_broker(resources).items():
            request = DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=resource.resource_type,
                        resource_name=resource.name,
                        configuration_keys=None if resource.configs is None else list(resource.configs),
                    )
                    for resource in some
                ],
                include_synonyms=include_synonyms,
            )
            answers.append(await self._to_owner(node_id, request, min_version=1 if include_synonyms else 0))
        return answers

    async def _to_owner(self, node_id: int | None, request: Any, **versions: int) -> Answer[Any]:
        """A broker's own configs are its own business; all others are anybody's."""
        if node_id is None:
            return await self._any(request, **versions)
        return await self._node(node_id, request, **versions)

    async def alter_configs(
        self,
        config_resources: Iterable[ConfigResource],
        validate_only: bool = False,
        raise_on_unknown: bool = True,
        incremental: bool | None = None,
    ) -> dict[str, dict[str, str]]:
        """Set configs; a value may be `(op, value)` with an `AlterConfigOp`. Resource type -> name -> "OK" or an error.

        `incremental` None: where the broker can (from 2.3 on), else all is written anew with what was set before.
        Raises ValueError for keys that are not known, unless `raise_on_unknown` is False.
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
        """Back to the defaults: the keys that a resource's `configs` name; all that were set if there are none."""
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
        """For each resource what is set and not among its `configs`."""
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
        altered: dict[str, dict[str, str]] = defaultdict(dict)
        make = _incremental_request if incremental else _whole_request
        for node_id, some in _by_broker(resources).items():
            answer = await self._to_owner(node_id, make(some, validate_only))
            for response in answer.response.responses:
                kind = ConfigResourceType(response.resource_type).name.lower()
                altered[kind][response.resource_name] = error_text(response.error_code, response.error_message)
        return dict(altered)

    async def list_config_resources(
        self, resource_types: Iterable[ConfigResourceType | str] | None = None
    ) -> dict[str, list[str]]:
        """Resource type -> names of the resources that have configs (KIP-1142). Needs a broker from 4.1 on (3.7 for
        CLIENT_METRICS)."""
        from kafkapy.admin.core.kraft import ListConfigResourcesRequest

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
    """The key of a described config, and the rest with names in the place of codes."""
    source = _source(config, resource_type)
    name = config.pop("name")
    config["config_source"] = source.name
    for synonym in config.get("synonyms", ()):
        synonym["source"] = ConfigSourceType(synonym["source"]).name
    if "config_type" in config:
        config["config_type"] = ConfigType(config["config_type"]).name
    return name, config


def _source(config: dict[str, Any], resource_type: ConfigResourceType) -> ConfigSourceType:
    """Before version 1 the broker only says whether a value is a default."""
    if "config_source" in config:
        return ConfigSourceType.build_from(config["config_source"])
    if config["read_only"] and resource_type is ConfigResourceType.BROKER:
        return ConfigSourceType.STATIC_BROKER_CONFIG
    if config.get("is_default", False):
        return ConfigSourceType.DEFAULT_CONFIG
    return _OF_RESOURCE.get(resource_type, ConfigSourceType.UNKNOWN)


def _by_broker(resources: Iterable[ConfigResource]) -> dict[int | None, list[ConfigResource]]:
    grouped: dict[int | None, list[ConfigResource]] = defaultdict(list)
    for resource in resources:
        node_id = None
        if resource.resource_type in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) and resource.name:
            try:
                node_id = int(resource.name)
            except ValueError:
                raise ValueError(f"The name of a broker resource is a number, not {resource.name!r}") from None
        grouped[node_id].append(resource)
    return grouped


def _copy(resource: ConfigResource) -> ConfigResource:
    return ConfigResource(resource.resource_type, resource.name, resource.configs)


def _dict_of(resource: ConfigResource) -> Mapping[str, Any]:
    if not resource.configs:
        return {}
    if not isinstance(resource.configs, Mapping):
        raise TypeError("The configs to alter are a dict of {key: value} or {key: (op, value)}")
    return resource.configs


def _operations(resource: ConfigResource) -> list[tuple[str, AlterConfigOp, str | None]]:
    found = []
    for key, given in _dict_of(resource).items():
        op, value = given if isinstance(given, tuple) else (AlterConfigOp.SET, given)
        operation = AlterConfigOp.build_from(op)
        if operation is AlterConfigOp.DELETE:
            value = None
        found.append((key, operation, None if value is None else str(value)))
    return found


def _incremental_request(resources: list[ConfigResource], validate_only: bool) -> IncrementalAlterConfigsRequest:
    request = IncrementalAlterConfigsRequest
    return request(
        resources=[
            request.AlterConfigsResource(
                resource_type=resource.resource_type,
                resource_name=resource.name,
                configs=[
                    request.AlterableConfig(name=key, config_operation=op, value=value)
                    for key, op, value in _operations(resource)
                ],
            )
            for resource in resources
        ],
        validate_only=validate_only,
    )


def _whole_request(resources: list[ConfigResource], validate_only: bool) -> AlterConfigsRequest:
    request = AlterConfigsRequest
    for resource in resources:
        for key, op, _ in _operations(resource):
            if op is not AlterConfigOp.SET:
                raise ValueError(f"{op.name} of {key} needs a broker from 2.3 on and incremental alteration")
    return request(
        resources=[
            request.AlterConfigsResource(
                resource_type=resource.resource_type,
                resource_name=resource.name,
                configs=[request.AlterableConfig(name=key, value=value) for key, _, value in _operations(resource)],
            )
            for resource in resources
        ],
        validate_only=validate_only,
    )
