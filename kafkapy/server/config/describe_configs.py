"""DescribeConfigs: values, their sources, and synonyms (Kafka's `ConfigHelper`)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafkapy.common import logger_levels
from kafkapy.common.config_def import ConfigKey, to_text
from kafkapy.common.topic_names import reason_invalid
from kafkapy.common.wire_enums import ConfigResourceType, ConfigSourceType, ConfigType
from kafkapy.log import schema_configs
from kafkapy.log.log_config import LogConfig
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse
from kafkapy.server.api_error import ApiError
from kafkapy.server.config.config_resource import require_this_broker, resource_type_of
from kafkapy.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafkapy.server.config.dynamic_config_rules import DYNAMIC_CONFIGS, broker_config_key, broker_config_synonyms

log = logging.getLogger("kafkapy.server.KafkaApis")

Resource = DescribeConfigsRequest.DescribeConfigsResource
Result = DescribeConfigsResponse.DescribeConfigsResult
Entry = DescribeConfigsResponse.DescribeConfigsResourceResult
Synonym = DescribeConfigsResponse.DescribeConfigsSynonym


class ConfigHelper:
    """Describes configs from the broker's memory; the caller supplies a topic's own configs."""

    def __init__(
        self, dynamic_config: DynamicBrokerConfig, include_synonyms: bool = False, include_documentation: bool = False
    ) -> None:
        self._dynamic_config = dynamic_config
        self._config = dynamic_config.config
        self._include_synonyms = include_synonyms
        self._include_documentation = include_documentation
        self._of_topics: dict[Any, list[Entry]] = {}
        """Entries by topic configs, because most topics have the same. Shared by results, so they must not be changed.
        """

    def describe(self, resource: Resource, topic_configs: Mapping[str, str] | None) -> Result:
        """`topic_configs`: the overrides of the topic, None if there is no such topic."""
        try:
            entries = self._entries(resource, topic_configs)
        except Exception as exception:
            known = isinstance(exception, KafkaError)
            log.log(
                logging.INFO if known else logging.ERROR,
                "Error processing describe configs request for resource %r",
                resource,
                exc_info=None if known else exception,
            )
            error = ApiError.from_exception(exception)
            return _result(resource, error=error)
        return _result(resource, entries)

    def _entries(self, resource: Resource, topic_configs: Mapping[str, str] | None) -> list[Entry]:
        name = resource.resource_name
        match resource_type_of(resource.resource_type):
            case ConfigResourceType.TOPIC:
                if reason := reason_invalid(name):
                    raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, reason)
                if topic_configs is None:
                    raise KafkaError(Errors.UNKNOWN_TOPIC_OR_PARTITION, "")
                key = frozenset(topic_configs.items()), frozenset(resource.configuration_keys or ())
                if key not in self._of_topics:
                    values = self._topic_values(topic_configs)
                    self._of_topics[key] = _selected(
                        resource, values, lambda n, v: self._topic_entry(n, v, topic_configs)
                    )
                return self._of_topics[key]
            case ConfigResourceType.BROKER if not name:
                defaults = self._dynamic_config.dynamic_default
                return _selected(resource, defaults, lambda n, v: self._broker_entry(n, v, per_broker=False))
            case ConfigResourceType.BROKER:
                require_this_broker(
                    name,
                    self._config.broker_id,
                    "Unexpected broker id, expected {id} or empty string, but received {name}",
                    "Broker id must be an integer, but it is: {name}",
                )
                return _selected(
                    resource, self._broker_values(), lambda n, v: self._broker_entry(n, v, per_broker=True)
                )
            case ConfigResourceType.BROKER_LOGGER:
                if not name:
                    raise KafkaError(Errors.INVALID_REQUEST, "Broker id must not be empty")
                require_this_broker(
                    name,
                    self._config.broker_id,
                    "Unexpected broker id, expected {id} but received {name}",
                    "Broker id must be an integer, but it is: {name}",
                )
                return _selected(resource, logger_levels.loggers(), _logger_entry)
            case ConfigResourceType.CLIENT_METRICS:
                if not name:
                    raise KafkaError(Errors.INVALID_REQUEST, "Client metrics subscription name must not be empty")
                raise KafkaError(
                    Errors.INVALID_REQUEST, "Config type client-metrics is only supported on KRaft clusters"
                )
            case other:
                raise KafkaError(Errors.INVALID_REQUEST, f"Unsupported resource type: {other.name}")

    def _topic_values(self, topic_configs: Mapping[str, str]) -> dict[str, Any]:
        """Return the topic's effective values, including set ones with unknown names."""
        log_config = LogConfig.from_overrides(self._config.log_config_defaults(), topic_configs)
        return {**topic_configs, **log_config.values()}

    def _broker_values(self) -> dict[str, Any]:
        """Return the broker's effective values: all set ones, and defaults except Kafka's internal ones."""
        shown = {name: self._config.get(name) for name, key in self._config.definition.items() if not key.internal}
        return {**self._config.originals, **shown}

    def _topic_entry(self, name: str, value: object, topic_configs: Mapping[str, str]) -> Entry:
        key = LogConfig.definition.get(name) or schema_configs.CONFIGS.get(name)
        text = _text(value, key)
        synonyms: list[Synonym] = []
        if name in topic_configs:
            synonyms.append(Synonym(name=name, value=text, source=ConfigSourceType.DYNAMIC_TOPIC_CONFIG))
        if key is not None and key.synonyms:
            first = key.synonyms[0]
            names = broker_config_synonyms(first, match_listener_override=True)
            synonyms += self._synonyms(first, names, hidden=_is_sensitive(key))
        return self._entry(name, text, key, synonyms, read_only=False)

    def _broker_entry(self, name: str, value: object, per_broker: bool) -> Entry:
        key = broker_config_key(name)
        names = broker_config_synonyms(name, match_listener_override=True)
        synonyms = [
            synonym
            for synonym in self._synonyms(name, names, hidden=_is_sensitive(key))
            if per_broker or synonym.source == ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG
        ]
        return self._entry(name, _text(value, key), key, synonyms, read_only=name not in DYNAMIC_CONFIGS)

    def _synonyms(self, name: str, names: Iterable[str], hidden: bool) -> list[Synonym]:
        """Return the possible sources of the value, the effective one first, without listeners' forms of `name` itself."""
        levels = (
            (self._dynamic_config.dynamic_broker, ConfigSourceType.DYNAMIC_BROKER_CONFIG),
            (self._dynamic_config.dynamic_default, ConfigSourceType.DYNAMIC_DEFAULT_BROKER_CONFIG),
            (self._dynamic_config.static, ConfigSourceType.STATIC_BROKER_CONFIG),
            (self._dynamic_config.static_defaults, ConfigSourceType.DEFAULT_CONFIG),
        )
        found = [
            Synonym(name=synonym, value=None if hidden else values[synonym], source=source)
            for values, source in levels
            for synonym in names
            if synonym in values
        ]
        start = next((index for index, synonym in enumerate(found) if synonym.name == name), len(found))
        return found[start:]

    def _entry(
        self, name: str, text: str | None, key: ConfigKey | None, synonyms: list[Synonym], read_only: bool
    ) -> Entry:
        return Entry(
            name=name,
            value=text,
            read_only=read_only,
            config_source=synonyms[0].source if synonyms else ConfigSourceType.DEFAULT_CONFIG,
            is_sensitive=_is_sensitive(key),
            synonyms=synonyms if self._include_synonyms else [],
            config_type=key.type if key else ConfigType.UNKNOWN,
            documentation=key.doc if key and self._include_documentation else None,
        )


def _selected(resource: Resource, values: Mapping[str, Any], entry: Callable[[str, Any], Entry]) -> list[Entry]:
    """Return entries of the requested names, or of all if none are given."""
    wanted = resource.configuration_keys
    return [entry(name, value) for name, value in values.items() if not wanted or name in wanted]


def _logger_entry(name: str, level: str) -> Entry:
    return Entry(name=name, value=level, config_source=ConfigSourceType.DYNAMIC_BROKER_LOGGER_CONFIG)


def _is_sensitive(key: ConfigKey | None) -> bool:
    """An unknown name may be a plug-in's secret."""
    return key is None or key.type is ConfigType.PASSWORD


def _text(value: object, key: ConfigKey | None) -> str | None:
    return None if value is None or _is_sensitive(key) else to_text(value)


def _result(resource: Resource, entries: list[Entry] | None = None, error: ApiError | None = None) -> Result:
    return Result(
        error_code=error.code if error else 0,
        error_message=error.message if error else "",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=entries or [],
    )
