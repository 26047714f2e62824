"""Configs of topics, brokers and loggers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.admin.results import Answer, Results, outcomes, read, told
from kafkapy.admin.router import Call, Router
from kafkapy.admin.types import ConfigResource
from kafkapy.common.wire_enums import AlterConfigOp, ConfigResourceType, ConfigSourceType
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSourceType


class ConfigEntry(NamedTuple):
    """One config; the value is None if it is sensitive."""

    name: str
    value: str | None
    source: ConfigSourceType = ConfigSourceType.UNKNOWN
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSourceType.DEFAULT_CONFIG


class ConfigChange(NamedTuple):
    """One change of an incremental update (KIP-339)."""

    name: str
    value: str | None
    op: AlterConfigOp = AlterConfigOp.SET


ConfigResults = Results[ConfigResource, Answer[Any]]
Make = Callable[[list[ConfigResource]], Any]


class ConfigOperations(Router):
    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, list[ConfigEntry]]:
        call = self.call("describeConfigs", timeout_ms)
        answers = await self.configs_of(call, resources, include_synonyms, include_documentation)
        return read(answers, lambda part: [_entry(config, part.resource_type) for config in part.configs])

    async def configs_of(
        self,
        call: Call,
        resources: Iterable[ConfigResource],
        include_synonyms: bool,
        include_documentation: bool = False,
    ) -> ConfigResults:
        """Describe configs; `configs` of a resource are the requested keys, None: all."""

        def make(wanted: list[ConfigResource]) -> DescribeConfigsRequest:
            return DescribeConfigsRequest(
                resources=[
                    DescribeConfigsRequest.DescribeConfigsResource(
                        resource_type=resource.resource_type,
                        resource_name=resource.name,
                        configuration_keys=None if resource.configs is None else list(resource.configs),
                    )
                    for resource in wanted
                ],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )

        lowest = 1 if include_synonyms else 0
        return await self._on_owners(call, resources, make, lambda r: r.results, min_version=lowest)

    async def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        """Replace all dynamic configs of each resource by those given."""
        return outcomes(await self.replace_configs(self.call("alterConfigs", timeout_ms), configs, validate_only))

    async def replace_configs(
        self, call: Call, configs: Mapping[ConfigResource, Mapping[str, str | None]], validate_only: bool
    ) -> ConfigResults:
        def configs_of(resource: ConfigResource) -> list[AlterConfigsRequest.AlterableConfig]:
            return [AlterConfigsRequest.AlterableConfig(name=key, value=v) for key, v in configs[resource].items()]

        make = _alteration(AlterConfigsRequest, configs_of, validate_only)
        return await self._on_owners(call, configs, make, lambda r: r.responses)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[ConfigChange]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        call = self.call("incrementalAlterConfigs", timeout_ms)
        return outcomes(await self.change_configs(call, changes, validate_only))

    async def change_configs(
        self, call: Call, changes: Mapping[ConfigResource, Sequence[ConfigChange]], validate_only: bool
    ) -> ConfigResults:
        alterable = IncrementalAlterConfigsRequest.AlterableConfig

        def configs_of(resource: ConfigResource) -> list[IncrementalAlterConfigsRequest.AlterableConfig]:
            return [alterable(name=each.name, config_operation=each.op, value=each.value) for each in changes[resource]]

        make = _alteration(IncrementalAlterConfigsRequest, configs_of, validate_only)
        return await self._on_owners(call, changes, make, lambda r: r.responses)

    async def _on_owners(
        self, call: Call, resources: Iterable[ConfigResource], make: Make, parts: Any, **versions: int
    ) -> ConfigResults:
        """Send each resource to its destination: a broker and its loggers to that broker, everything else to any
        broker."""
        wanted = list(dict.fromkeys(resources))
        by_owner: dict[int | None, list[ConfigResource]] = {}
        for resource in wanted:
            by_owner.setdefault(_owner(resource), []).append(resource)
        results: ConfigResults = {}
        for node_id, some in by_owner.items():
            if node_id is None:
                answer = await self.on_any(call, make(some), **versions)
            else:
                answer = await self.on_node(call, node_id, make(some), **versions)
            for part in parts(answer.response):
                resource = ConfigResource(ConfigResourceType(part.resource_type), part.resource_name)
                results[resource] = Answer(part, answer.version, answer.node_id)
        return told(results, wanted, "broker", "resource")


def _alteration(message: Any, configs_of: Callable[[ConfigResource], list[Any]], validate_only: bool) -> Make:
    """Return a function that builds a request of type `message` for some resources."""

    def make(wanted: list[ConfigResource]) -> Any:
        resources = [
            message.AlterConfigsResource(
                resource_type=resource.resource_type, resource_name=resource.name, configs=configs_of(resource)
            )
            for resource in wanted
        ]
        return message(resources=resources, validate_only=validate_only)

    return make


def _owner(resource: ConfigResource) -> int | None:
    """Return the broker that a resource belongs to; None: any. Raises ValueError for a name that is no broker id."""
    if resource.resource_type not in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) or not resource.name:
        return None
    try:
        return int(resource.name)
    except ValueError:
        raise ValueError(f"The name of a broker resource is a number, not {resource.name!r}") from None


def _entry(config: Any, resource_type: int) -> ConfigEntry:
    source = ConfigSourceType(config.config_source)
    if config.config_source == -1:
        source = _source_before_kip_226(config, resource_type)
    return ConfigEntry(
        config.name,
        config.value,
        source,
        config.is_sensitive,
        config.read_only,
        tuple(ConfigSynonym(s.name, s.value, ConfigSourceType(s.source)) for s in config.synonyms),
        config.documentation,
    )


def _source_before_kip_226(config: Any, resource_type: int) -> ConfigSourceType:
    """Derive the source from version 0 of the response, which only has whether a value is the default."""
    if config.is_default:
        return ConfigSourceType.DEFAULT_CONFIG
    if resource_type == ConfigResourceType.TOPIC:
        return ConfigSourceType.DYNAMIC_TOPIC_CONFIG
    return ConfigSourceType.STATIC_BROKER_CONFIG
