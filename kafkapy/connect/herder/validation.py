"""Validates a connector's config (Kafka's `AbstractHerder.validateConnectorConfig`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Protocol

from kafkapy.clients.java_properties import Property
from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.connect.clients import TABLES
from kafkapy.connect.config.config_def import ConfigDef, ConfigKey, ConfigValue, Width, parse_value
from kafkapy.connect.config.connector_configs import sink_config_def, source_config_def
from kafkapy.connect.config.plugin_aliases import enrich
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import BadRequestException, ConnectException, NotFoundException
from kafkapy.connect.herder.client_importance import importance_of
from kafkapy.connect.herder.config_infos import (
    ConfigInfos,
    ConfigKeyInfo,
    generate_result,
    merged,
    prefixed_infos,
)
from kafkapy.connect.herder.infos import SINK, SOURCE, Config
from kafkapy.connect.herder.override_policies import OverrideRequest
from kafkapy.connect.herder.sink_checks import has_dead_letters
from kafkapy.connect.sink import SinkConnector
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.transforms.transformation import Predicate, Transformation

log = logging.getLogger("kafkapy.connect.herder")


class HerderRules(Protocol):
    """The checks of a validation that depend on the herder."""

    @property
    def worker(self) -> Any: ...
    @property
    def plugins(self) -> Any: ...
    @property
    def override_policy(self) -> Any: ...
    def check_source(self, connector: Any, config: Config, values: dict[str, ConfigValue]) -> None: ...
    def check_sink(self, config: Config, values: dict[str, ConfigValue]) -> None: ...
    def source_uses_own_clients(self, type: str, config: Config) -> bool: ...


def validate_config(herder: HerderRules, config: Config) -> ConfigInfos:
    """Validate a connector's config including its transforms, predicates, converters and client overrides.

    Args:
        herder: Has plugins, policy and settings.
        config: The connector's; variables of config providers are replaced first.

    Raises:
        BadRequestException: It names no class, or the class is no valid connector.
        ConnectException: The class is unknown.
    """
    transformer = herder.worker.config_transformer
    if transformer is not None:
        config = transformer(None, config)
    class_name = config.get("connector.class")
    if class_name is None:
        shown = ", ".join(f"{name}={value}" for name, value in config.items())
        raise BadRequestException(f"Connector config {{{shown}}} contains no connector type")
    plugins = herder.plugins
    connector = plugins.new_connector(class_name)
    is_source = isinstance(connector, SourceConnector)
    base = source_config_def(plugins) if is_source else sink_config_def(plugins)
    definitions = enrich(plugins, base, config)
    values = definitions.validate_all(config)
    if is_source:
        herder.check_source(connector, config, values)
    else:
        herder.check_sink(config, values)
    _refuse_nulls(config, values)
    found = list(values.values())
    keys = dict(definitions.keys)
    groups = dict.fromkeys(definitions.groups)
    own = _own_definitions(connector)
    own_values = _own_values(connector, config)
    _check(connector, config, values, own_values)
    keys.update(own.keys)
    groups.update(dict.fromkeys(own.groups))
    converters = [
        _converter(plugins, config, values.get(f"{part}.converter"), f"{part}.converter", part)
        for part in ("header", "key", "value")
    ]
    result = generate_result(class_name, keys, [*found, *own_values], list(groups))
    kind = SOURCE if is_source else SINK
    overrides = [
        _overrides(herder.override_policy, config, kind, client)
        for client in ("producer", "consumer", "admin")
        if _uses(herder, client, kind, config)
    ]
    return merged(class_name, [result, *overrides, *converters])


def _refuse_nulls(config: Config, values: dict[str, ConfigValue]) -> None:
    for name, value in config.items():
        if value is None:
            about = values.setdefault(name, ConfigValue(name))
            about.errors.append("Null value can not be supplied as the configuration value.")


def _own_definitions(connector: Any) -> ConfigDef:
    definitions = connector.config()
    if definitions is None:
        raise BadRequestException(f"{_name(connector)}.config() must return a ConfigDef that is not null.")
    assert isinstance(definitions, ConfigDef)
    return definitions


def _own_values(connector: Any, config: Config) -> list[ConfigValue]:
    validate = getattr(connector, "validate", None)
    values = connector.config().validate(config) if validate is None else validate(config)
    if values is None:
        raise BadRequestException(f"{_name(connector)}.validate() must return a Config that is not null.")
    return list(values)


def _check(connector: Any, config: Config, values: Mapping[str, ConfigValue], own_values: list[ConfigValue]) -> None:
    """Let the connector check its config as a whole, if each of its values is valid."""
    if any(value.errors for value in own_values):
        return
    try:
        connector.check(config)
    except (ConfigException, ConnectException) as error:
        shown = {**values, **{value.name: value for value in own_values}}
        about = shown.get(getattr(error, "config", None) or "", values["connector.class"])
        about.errors.append(str(error))


def _converter(plugins: Any, config: Config, about: ConfigValue | None, name: str, part: str) -> ConfigInfos | None:
    """Validate the converter's own configs, after its class was found to be valid."""
    class_name = config.get(name)
    if class_name is None or about is None or about.errors:
        return None
    kind = f"{part} converter"
    try:
        converter = plugins.find_class(class_name)()
    except Exception as error:
        about.errors.append(f"Failed to load class {class_name}: {error}")
        return None
    try:
        definitions = converter.config()
        if definitions is None:
            return None
        prefix = f"{name}."
        given = {key.removeprefix(prefix): value for key, value in config.items() if key.startswith(prefix)}
        given.setdefault("converter.type", part)
        values = {value.name: value for value in definitions.validate(given)}
        return prefixed_infos(definitions.keys, [values[key] for key in hash_map_order(values)], prefix)
    except Exception as error:
        about.errors.append(f"Failed to perform config validation for {kind}: {error}")
        return None
    finally:
        converter.close()


def _uses(herder: HerderRules, client: str, kind: str, config: Config) -> bool:
    if client == "producer":
        return kind == SOURCE or has_dead_letters(config)
    if client == "consumer":
        return kind == SINK or herder.source_uses_own_clients(kind, config)
    if kind == SINK:
        return has_dead_letters(config)
    return any(name.startswith("topic.creation.") for name in config) or herder.source_uses_own_clients(kind, config)


def _overrides(policy: Any, config: Config, kind: str, client: str) -> ConfigInfos:
    prefix = f"{client}.override."
    given = {name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix)}
    keys = {name: _client_key(client, name, row) for name, row in TABLES[client].items() if name in given}
    parsed = {
        name: parse_value(name, value, keys[name].type) if name in keys else value for name, value in given.items()
    }
    request = OverrideRequest(config.get("name"), kind, client, parsed)
    values = []
    for name in hash_map_order(parsed):
        refusal = None if policy is None else policy.refusal(request, name)
        values.append(ConfigValue(name, parsed[name], errors=[] if refusal is None else [refusal]))
    return prefixed_infos(keys, values, prefix)


def _client_key(client: str, name: str, row: Property) -> ConfigKey:
    return ConfigKey(
        name,
        row.type,
        row.default,
        None,
        importance_of(client, name),
        "A config of Kafka's clients.",
        None,
        -1,
        Width.NONE,
        name,
        (),
        None,
    )


def plugin_config(plugins: Any, name: str) -> list[ConfigKeyInfo]:
    """Return the configs of a plugin, for `GET /connector-plugins/NAME/config` (KIP-769).

    Args:
        plugins: Finds the class.
        name: Of the plugin: full, or an alias.

    Raises:
        NotFoundException: There is no such plugin.
        BadRequestException: It is of another kind.
    """
    try:
        plugin = plugins.new_plugin(name)
    except LookupError:
        raise NotFoundException(f"Unknown plugin {name}.") from None
    base: Mapping[str, ConfigKey] = {}
    if isinstance(plugin, SinkConnector):
        base = sink_config_def(plugins).keys
    elif isinstance(plugin, SourceConnector):
        base = source_config_def(plugins).keys
    elif not isinstance(plugin, (Converter, HeaderConverter, Transformation, Predicate)):
        raise BadRequestException(
            f"Invalid plugin class {name}. Valid types are sink, source, converter, header_converter, transformation, "
            "predicate."
        )
    keys = dict(plugin.config().keys)
    for key in base.values():
        keys.setdefault(key.name, key)
    return [ConfigKeyInfo(key) for key in keys.values()]


def _name(connector: Any) -> str:
    java = getattr(connector, "java_class", None)
    return java if isinstance(java, str) else type(connector).__name__
