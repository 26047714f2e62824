"""Definitions of configs with groups, widths, dependents and recommended values (Kafka's `ConfigDef`).

The broker's configs need fewer attributes and are in tables (`kafkapy.common.config_def`); both share types, error
messages and validators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Protocol, Self

from kafkapy.common.config_def import ConfigException, Importance, Password, Validator, to_text
from kafkapy.common.config_def import parse_type as parse_text
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.data.java_names import java_class_name

_Class = type
ClassFinder = Callable[[str], object]
"""Returns the class of a name; raises LookupError if there is none."""


class _NoDefault(Enum):
    NO_DEFAULT = "no default"


NO_DEFAULT: Final = _NoDefault.NO_DEFAULT
"""Default of a config that must be set."""


class Width(Enum):
    """Width of an entry field for the config in a user interface."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class Recommender(Protocol):
    """Suggests values of a config, depending on those of others (`ConfigDef.Recommender`)."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        """Return the recommended values; empty: any value."""
        ...

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Return whether the config is relevant with these values."""
        ...


@dataclass
class ConfigValue:
    """The result of the validation of a config.

    Args:
        name: The config's.
        value: Parsed; None if it is wrong or missing.
        recommended_values: Those of its recommender. errors: Error messages. visible: Whether the config is relevant.
    """

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


@dataclass(frozen=True)
class ConfigKey:
    """Definition of a config; see `ConfigDef.define` for the attributes."""

    name: str
    type: ConfigType
    default: Any
    validator: Validator | None
    importance: Importance
    doc: str
    group: str | None
    order_in_group: int
    width: Width
    display_name: str
    dependents: tuple[str, ...]
    recommender: Recommender | None
    internal: bool = False
    alternative: str | None = None

    @property
    def has_default(self) -> bool:
        return self.default is not NO_DEFAULT


class ConfigDef:
    """Definitions of configs by name.

    Invariant: each name is defined once; `groups` has each group once, in the order of first use.

    Args:
        base: Its definitions are copied. Default: none. find_class: Finds the class of a config of type CLASS.
            Default: None, the value remains a string.

    Example:
        >>> configs = ConfigDef().define("file", ConfigType.STRING, doc="Name of the file.", importance=Importance.HIGH)
        >>> configs.parse({"file": " a.txt "})
        {'file': 'a.txt'}
        >>> configs.validate({})[0].errors
        ['Missing required configuration "file" which has no default value.']
    """

    def __init__(self, base: ConfigDef | None = None, find_class: ClassFinder | None = None) -> None:
        self.keys: dict[str, ConfigKey] = dict(base.keys) if base else {}
        self.groups: list[str] = list(base.groups) if base else []
        self.find_class: ClassFinder | None = find_class or (base.find_class if base else None)

    def define(
        self,
        name: str,
        type: ConfigType = ConfigType.STRING,
        default: Any = NO_DEFAULT,
        *,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        doc: str = "",
        group: str | None = None,
        order_in_group: int = -1,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
        internal: bool = False,
        alternative: str | None = None,
    ) -> Self:
        """Add a config; returns this object, so that calls can be chained.

        Args:
            name: Unique.
            type: Default: STRING.
            default: Text or typed value. Default: the config is required.
            validator: Called with name and value; raises `ConfigException`. Default: any value of the type.
            importance: Default: MEDIUM.
            doc: One sentence or more.
            group: Heading under which an interface shows it. Default: none.
            order_in_group: Place under the heading.
            width: Of the entry field.
            display_name: Label. Default: `name`.
            dependents: Names of configs whose recommended values or visibility depend on this one.
            recommender: Suggests values.
            internal: Not shown in documentation.
            alternative: Shown instead of the default in documentation.

        Raises:
            ConfigException: The name is defined already, or the default is not allowed.
        """
        if default is not NO_DEFAULT:
            default = self.parse_type(name, default, type)
            if validator is not None:
                validator(name, default)
        shown = name if display_name is None else display_name
        layout = (group, order_in_group, width, shown, tuple(dependents), recommender, internal, alternative)
        return self.define_key(ConfigKey(name, type, default, validator, importance, doc, *layout))

    def define_key(self, key: ConfigKey) -> Self:
        """Add a definition. Raises ConfigException if its name is defined already."""
        if key.name in self.keys:
            raise ConfigException(f"Configuration {key.name} is defined twice.")
        if key.group is not None and key.group not in self.groups:
            self.groups.append(key.group)
        self.keys[key.name] = key
        return self

    def __contains__(self, name: object) -> bool:
        return name in self.keys

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, name: str) -> ConfigKey:
        return self.keys[name]

    def names(self) -> set[str]:
        return set(self.keys)

    def default_values(self) -> dict[str, Any]:
        return {name: key.default for name, key in self.keys.items() if key.has_default}

    def parse(self, properties: Mapping[str, object]) -> dict[str, Any]:
        """Return the typed value of each config. Unknown names are ignored.

        Raises:
            ConfigException: A value is not allowed, or a required config is missing.
        """
        if undefined := self._undefined_dependents():
            raise ConfigException(
                f"Some configurations in are referred in the dependents, but not defined: {','.join(undefined)}"
            )
        return {name: self._parsed(key, properties) for name, key in self.keys.items()}

    def _parsed(self, key: ConfigKey, properties: Mapping[str, object]) -> Any:
        if key.name in properties:
            value = self.parse_type(key.name, properties[key.name], key.type)
        elif key.has_default:
            value = key.default
        else:
            raise ConfigException(_missing(key.name))
        if key.validator is not None:
            key.validator(key.name, value)
        return value

    def validate(self, properties: Mapping[str, str | None]) -> list[ConfigValue]:
        """Return the result for each config, in the order of definition. Wrong values are reported in the results, not
        raised."""
        return list(self.validate_all(properties).values())

    def validate_all(self, properties: Mapping[str, str | None]) -> dict[str, ConfigValue]:
        """The same as `validate`, with the results by name."""
        found = {name: ConfigValue(name) for name in self.keys}
        for name in self._undefined_dependents():
            error = f"{name} is referred in the dependents, but not defined."
            found[name] = ConfigValue(name, errors=[error], visible=False)
        parsed: dict[str, Any] = {}
        dependents = {name for key in self.keys.values() for name in key.dependents}
        roots = [name for name in self.keys if name not in dependents]
        for name in roots:
            self._parse_for_validation(name, properties, parsed, found)
        for name in roots:
            self._recommend(name, parsed, found)
        return found

    def _undefined_dependents(self) -> list[str]:
        names = (name for key in self.keys.values() for name in key.dependents)
        return [name for name in dict.fromkeys(names) if name not in self.keys]

    def _parse_for_validation(
        self,
        name: str,
        properties: Mapping[str, str | None],
        parsed: dict[str, Any],
        found: dict[str, ConfigValue],
    ) -> None:
        key = self.keys.get(name)
        if key is None:
            return
        about = found[name]
        value = None
        if name in properties:
            try:
                value = self.parse_type(name, properties[name], key.type)
            except ConfigException as error:
                about.errors.append(str(error))
        elif key.has_default:
            value = key.default
        else:
            about.errors.append(_missing(name))
        if key.validator is not None:
            try:
                key.validator(name, value)
            except ConfigException as error:
                about.errors.append(str(error))
        about.value = parsed[name] = value
        for dependent in key.dependents:
            self._parse_for_validation(dependent, properties, parsed, found)

    def _recommend(self, name: str, parsed: Mapping[str, Any], found: dict[str, ConfigValue]) -> None:
        key = self.keys.get(name)
        if key is None:
            return
        about = found[name]
        if key.recommender is not None:
            try:
                values = list(key.recommender.valid_values(name, parsed))
                if about.recommended_values:
                    values = [value for value in values if value in about.recommended_values]
                about.recommended_values = values
                about.visible = key.recommender.visible(name, parsed)
            except ConfigException as error:
                about.errors.append(str(error))
        for dependent in key.dependents:
            self._recommend(dependent, parsed, found)

    def embed(self, prefix: str, group_prefix: str, starting_order: int, child: ConfigDef) -> None:
        """Add the definitions of `child`, with prefixed names, in groups `group_prefix: group`."""
        for order, key in enumerate(child.sorted_keys(), starting_order):
            self.define_key(
                replace(
                    key,
                    name=prefix + key.name,
                    validator=key.validator and _EmbeddedValidator(prefix, key.validator),
                    group=group_prefix + ("" if key.group is None else f": {key.group}"),
                    order_in_group=order,
                    dependents=tuple(prefix + name for name in key.dependents),
                    recommender=key.recommender and _EmbeddedRecommender(prefix, key.recommender),
                )
            )

    def sorted_keys(self) -> list[ConfigKey]:
        """Return the definitions in documentation order: group, order in it, required first, importance, name."""
        importances = list(Importance)

        def place(key: ConfigKey) -> tuple[Any, ...]:
            group = -1 if key.group is None else self.groups.index(key.group)
            return group, key.order_in_group, key.has_default, importances.index(key.importance), key.name

        return sorted(self.keys.values(), key=place)

    def parse_type(self, name: str, value: object, type: ConfigType) -> Any:
        """Convert a value to the config's type; see `parse_value`."""
        return parse_value(name, value, type, self.find_class)


class _EmbeddedValidator:
    def __init__(self, prefix: str, base: Validator) -> None:
        self.prefix, self.base = prefix, base

    def __call__(self, name: str, value: Any) -> None:
        self.base(name[len(self.prefix) :], value)

    def __str__(self) -> str:
        return str(self.base)


class _EmbeddedRecommender:
    def __init__(self, prefix: str, base: Recommender) -> None:
        self.prefix, self.base = prefix, base

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return self.base.valid_values(name[len(self.prefix) :], self._own(parsed))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.base.visible(name[len(self.prefix) :], self._own(parsed))

    def _own(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        size = len(self.prefix)
        return {name[size:]: value for name, value in parsed.items() if name.startswith(self.prefix)}


def _missing(name: str) -> str:
    return f'Missing required configuration "{name}" which has no default value.'


_INTEGERS = {
    ConfigType.INT: "32-bit integer",
    ConfigType.SHORT: "16-bit integer (short)",
    ConfigType.LONG: "64-bit integer (long)",
}


def parse_value(name: str, value: object, type: ConfigType, find_class: ClassFinder | None = None) -> Any:
    """Convert a value to the config's type (`ConfigDef.parseType`).

    Args:
        name: For the message.
        value: Text, a typed value, or None.
        type: The config's.
        find_class: Finds the class of a CLASS. Default: a name remains a string.

    Raises:
        ConfigException: The value can't be converted.

    Example:
        >>> parse_value("n", " 5 ", ConfigType.INT), parse_value("l", "a , b", ConfigType.LIST)
        (5, ['a', 'b'])
    """
    if value is None:
        return None
    if isinstance(value, str):
        parsed = parse_text(name, value, type)
        if type is ConfigType.CLASS and find_class is not None:
            try:
                return find_class(parsed)
            except LookupError:
                raise ConfigException.invalid(name, value, f"Class {value} could not be found.") from None
        return parsed
    if wanted := _refusal(value, type):
        raise ConfigException.invalid(name, value, wanted)
    return float(value) if type is ConfigType.DOUBLE and isinstance(value, int) else value


def _refusal(value: object, type: ConfigType) -> str:
    """Return why a value that is no string has the wrong type; "" if it is right."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    but = f"but it was a {java_class_name(value)}"
    match type:
        case ConfigType.BOOLEAN if not isinstance(value, bool):
            return "Expected value to be either true or false"
        case ConfigType.PASSWORD if not isinstance(value, Password):
            return f"Expected value to be a string, {but}"
        case ConfigType.STRING:
            return f"Expected value to be a string, {but}"
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG if not is_number:
            return f"Expected value to be a {_INTEGERS[type]}, {but}"
        case ConfigType.DOUBLE if not is_number and not isinstance(value, float):
            return f"Expected value to be a double, {but}"
        case ConfigType.LIST if not isinstance(value, Sequence):
            return "Expected a comma separated list."
    return ""


def convert_to_string(value: object, type: ConfigType | None = None) -> str | None:
    """Return a parsed value as text (`ConfigDef.convertToString`); a secret is `[hidden]`, None stays None.

    Example:
        >>> convert_to_string(["a", "b"], ConfigType.LIST), convert_to_string(True)
        ('a,b', 'true')
    """
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, _Class):
        java = getattr(value, "java_class", None)
        return java if isinstance(java, str) else f"{value.__module__}:{value.__qualname__}"
    return to_text(value)
