"""Definitions of the transforms and predicates that a connector's config lists by aliases (Kafka's `ConnectorConfig.enrich`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import NO_DEFAULT, ConfigDef, Width, parse_value
from kafkapy.connect.config.plugin_checks import ensure_concrete_subclass, shown_name
from kafkapy.connect.config.validators import Described
from kafkapy.connect.errors import ConnectException

TRANSFORMS, PREDICATES = "Transforms", "Predicates"

Configs = Mapping[str, "str | None"]


class PluginClasses(Protocol):
    """Finds a worker's plugin classes."""

    def find_class(self, name: str) -> Any:
        """Return the class of a name or alias. Raises LookupError."""
        ...

    def classes(self, kind: str) -> Sequence[type]:
        """Return the classes of a kind: `transformation`, `predicate`, …"""
        ...


def enrich(plugins: PluginClasses, base: ConfigDef, configs: Configs, require_all: bool = False) -> ConfigDef:
    """Add the definitions of the transforms and predicates that configs name.

    Args:
        plugins: Finds their classes.
        base: The definitions so far.
        configs: The connector's.
        require_all: True: raise ConfigException for a class that is missing or wrong; False: omit its definitions.
    """
    from kafkapy.connect.transforms.transformation import Predicate, Transformation

    definitions = ConfigDef(base)
    _Aliases(plugins, "Transformation", "transforms", TRANSFORMS, Transformation, configs, require_all).add_to(
        definitions
    )
    _Aliases(plugins, "Predicate", "predicates", PREDICATES, Predicate, configs, require_all).add_to(definitions)
    return definitions


class _Aliases:
    """Definitions of the plugins that one config lists by aliases."""

    def __init__(
        self,
        plugins: PluginClasses,
        kind: str,
        config: str,
        group: str,
        base: type,
        configs: Configs,
        require_all: bool,
    ) -> None:
        self._plugins = plugins
        self._kind = kind
        self._config = config
        self._group = group
        self._base = base
        self._configs = configs
        self._require_all = require_all

    def add_to(self, definitions: ConfigDef) -> None:
        aliases = parse_value(self._config, self._configs.get(self._config), ConfigType.LIST)
        for alias in dict.fromkeys(aliases or ()):
            prefix, group = f"{self._config}.{alias}.", f"{self._group}: {alias}"
            name = f"{prefix}type"
            definitions.define(
                name,
                ConfigType.CLASS,
                NO_DEFAULT,
                validator=Described(self._type_check(prefix, name), f"valid configs for {alias} {self._kind.lower()}"),
                importance=Importance.HIGH,
                doc=f"Class for the '{alias}' {self._kind.lower()}.",
                group=group,
                order_in_group=0,
                width=Width.LONG,
                display_name=f"{self._base.__name__} type for {alias}",
                recommender=_ClassRecommender(lambda: self._plugins.classes(self._kind.lower())),
            )
            inner = self._inner_definitions(name)
            if inner is not None:
                definitions.embed(prefix, group, 1, inner)

    def _type_check(self, prefix: str, name: str) -> Callable[[str, Any], None]:
        def check(_: str, value: Any) -> None:
            if self._kind == "Transformation":
                negate, predicate = f"{prefix}negate", f"{prefix}predicate"
                if negate in self._configs and predicate not in self._configs:
                    raise ConfigException(
                        f"Config '{negate}' was provided but there is no config '{predicate}' defining a predicate to be "
                        "negated."
                    )
            if value is not None:
                self._definitions_of(name, value)

        return check

    def _inner_definitions(self, name: str) -> ConfigDef | None:
        inner = ConfigDef(find_class=self._plugins.find_class)
        if self._kind == "Transformation":
            medium = Importance.MEDIUM
            inner.define("predicate", ConfigType.STRING, None, importance=medium, doc="Alias of the predicate, if any.")
            inner.define("negate", ConfigType.BOOLEAN, False, importance=medium, doc="Is the predicate negated?")
        try:
            found = parse_value(name, self._configs.get(name), ConfigType.CLASS, self._plugins.find_class)
            for key in self._definitions_of(name, found).keys.values():
                if key.name not in inner:
                    inner.define_key(key)
        except ConfigException:
            if self._require_all:
                raise
            return None
        return inner

    def _definitions_of(self, name: str, found: Any) -> ConfigDef:
        if found is None:
            raise ConfigException.invalid(name, None, f"Not a {self._base.__name__}")
        ensure_concrete_subclass(self._base, found)
        try:
            plugin = found()
        except Exception as error:
            text = f"Error getting config definition from {self._base.__name__}: {error}"
            raise ConfigException.invalid(name, shown_name(found), text) from None
        definitions = plugin.config()
        if definitions is None:
            raise ConnectException(f"{shown_name(found)}.config() must return a ConfigDef that is not null.")
        assert isinstance(definitions, ConfigDef)
        return definitions


class _ClassRecommender:
    def __init__(self, classes: Callable[[], Sequence[type]]) -> None:
        self._classes = classes

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self._classes())

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True
