"""Configs of topics, brokers and loggers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from kafkapy.admin.cluster_client import ClusterClient, Results, error_of
from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.alter_configs import AlterConfigsRequest
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkapy.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest


class ConfigResourceType(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16


class ConfigResource(NamedTuple):
    """What a config belongs to; the broker with the empty name is the default of all brokers."""

    type: ConfigResourceType
    name: str


class ConfigSource(IntEnum):
    """Where a value comes from (Kafka's `ConfigEntry.ConfigSource`)."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7

    @classmethod
    def _missing_(cls, value: object) -> ConfigSource:
        return cls.UNKNOWN


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    """One config; the value is None if it is sensitive."""

    name: str
    value: str | None
    source: ConfigSource = ConfigSource.UNKNOWN
    is_sensitive: bool = False
    is_read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None

    @property
    def is_default(self) -> bool:
        return self.source is ConfigSource.DEFAULT_CONFIG


class AlterConfigOpType(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class AlterConfigOp(NamedTuple):
    """One change of an incremental update (KIP-339)."""

    name: str
    value: str | None
    type: AlterConfigOpType = AlterConfigOpType.SET


class ConfigOperations(ClusterClient):
    def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, list[ConfigEntry]]:
        def ask(client: BlockingClient, wanted: list[ConfigResource]) -> Results[ConfigResource, list[ConfigEntry]]:
            struct = DescribeConfigsRequest.DescribeConfigsResource
            request = DescribeConfigsRequest(
                resources=[struct(resource_type=r.type, resource_name=r.name, configuration_keys=None) for r in wanted],
                include_synonyms=include_synonyms,
                include_documentation=include_documentation,
            )
            response = self.call(client, request)
            return {
                _resource(result): error_of(result.error_code, result.error_message)
                or [_entry(config, result.resource_type) for config in result.configs]
                for result in response.results
            }

        return self._on_responsible("describeConfigs", resources, ask, timeout_ms)

    def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str | None]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        """Replace all dynamic configs of each resource by those given."""

        def ask(client: BlockingClient, wanted: list[ConfigResource]) -> Results[ConfigResource, None]:
            request = AlterConfigsRequest(validate_only=validate_only)
            for resource in wanted:
                alterable = AlterConfigsRequest.AlterableConfig
                request.resources.append(
                    AlterConfigsRequest.AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=[alterable(name=name, value=value) for name, value in configs[resource].items()],
                    )
                )
            return _altered(self.call(client, request))

        return self._on_responsible("alterConfigs", configs, ask, timeout_ms)

    def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Sequence[AlterConfigOp]],
        validate_only: bool = False,
        timeout_ms: int | None = None,
    ) -> Results[ConfigResource, None]:
        def ask(client: BlockingClient, wanted: list[ConfigResource]) -> Results[ConfigResource, None]:
            request = IncrementalAlterConfigsRequest(validate_only=validate_only)
            for resource in wanted:
                alterable = IncrementalAlterConfigsRequest.AlterableConfig
                request.resources.append(
                    IncrementalAlterConfigsRequest.AlterConfigsResource(
                        resource_type=resource.type,
                        resource_name=resource.name,
                        configs=[
                            alterable(name=op.name, config_operation=op.type, value=op.value)
                            for op in changes[resource]
                        ],
                    )
                )
            return _altered(self.call(client, request))

        return self._on_responsible("incrementalAlterConfigs", changes, ask, timeout_ms)

    def _on_responsible(
        self, name: str, keys: Iterable[ConfigResource], ask: Any, timeout_ms: int | None
    ) -> dict[ConfigResource, Any]:
        """A broker answers for itself and its loggers, any broker for everything else."""

        def attempt(left: list[ConfigResource]) -> Results[ConfigResource, Any]:
            by_broker: dict[int | None, list[ConfigResource]] = {}
            for resource in left:
                by_broker.setdefault(_responsible_broker(resource), []).append(resource)
            results: Results[ConfigResource, Any] = {}
            missing = KafkaError(Errors.UNKNOWN_SERVER_ERROR, "The broker's response lacks a result for this resource")
            for broker, wanted in by_broker.items():
                answer = ask(self.any_node() if broker is None else self.node(broker), wanted)
                results.update({resource: answer.get(resource, missing) for resource in wanted})
            return results

        return self.retry_each(name, keys, attempt, timeout_ms, lambda error: False)


def _responsible_broker(resource: ConfigResource) -> int | None:
    if resource.type not in (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER) or not resource.name:
        return None
    return int(resource.name)


def _resource(result: Any) -> ConfigResource:
    return ConfigResource(ConfigResourceType(result.resource_type), result.resource_name)


def _altered(response: Any) -> Results[ConfigResource, None]:
    return {_resource(result): error_of(result.error_code, result.error_message) for result in response.responses}


def _entry(config: DescribeConfigsResponse.DescribeConfigsResourceResult, resource_type: int) -> ConfigEntry:
    source = ConfigSource(config.config_source)
    if config.config_source == -1:
        source = _source_before_kip_226(config, resource_type)
    return ConfigEntry(
        config.name,
        config.value,
        source,
        config.is_sensitive,
        config.read_only,
        tuple(ConfigSynonym(s.name, s.value, ConfigSource(s.source)) for s in config.synonyms),
        config.documentation,
    )


def _source_before_kip_226(config: Any, resource_type: int) -> ConfigSource:
    """Version 0 of the response only says whether a value is the default."""
    if config.is_default:
        return ConfigSource.DEFAULT_CONFIG
    if resource_type == ConfigResourceType.TOPIC:
        return ConfigSource.DYNAMIC_TOPIC_CONFIG
    return ConfigSource.STATIC_BROKER_CONFIG
