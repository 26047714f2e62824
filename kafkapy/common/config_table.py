"""Configs written as a class body: one annotated attribute for each config, its definition on the right.

    class LogConfig(ConfigTable, slots=True):
        retention_ms: int = config(LONG, 604800000, at_least(-1), "How long a record is kept, ms.")

The attribute's name with dots for underscores is the config's name (`retention.ms`), the annotation its Python type; so
a type checker knows every value, and a config is defined in one place. On an instance the attribute is the value.
"""

from __future__ import annotations

from typing import Any, ClassVar

from kafkapy.common.config_def import ConfigDef, ConfigKey, Importance, UpdateMode, Validator
from kafkapy.common.wire_enums import ConfigType


class _Definition:
    """The arguments of `config`, stored in the class body until the class is created and the name is known."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: str | None, arguments: dict[str, Any]) -> None:
        self.name = name
        self.arguments = arguments


def config(
    type: ConfigType,
    default: object,
    validator: Validator | None,
    doc: str,
    importance: Importance = Importance.MEDIUM,
    mode: UpdateMode = UpdateMode.READ_ONLY,
    *,
    name: str | None = None,
    internal: bool = False,
    synonyms: tuple[str, ...] = (),
) -> Any:
    """Define a config in the body of a `ConfigTable`. `name`: needed only if the attribute cannot spell it."""
    return _Definition(
        name,
        {
            "type": type,
            "default": default,
            "validator": validator,
            "doc": doc,
            "importance": importance,
            "mode": mode,
            "internal": internal,
            "synonyms": synonyms,
        },
    )


class _ConfigTableType(type):
    """Collects the definitions of a class body and its bases into `definition` and `attributes`."""

    def __new__(
        mcs, class_name: str, bases: tuple[type, ...], body: dict[str, Any], *, slots: bool = False
    ) -> _ConfigTableType:
        keys: dict[str, ConfigKey] = {}
        attributes: dict[str, str] = {}
        for base in bases:
            keys.update(getattr(base, "definition", {}))
            attributes.update(getattr(base, "attributes", {}))
        own = {attribute: value for attribute, value in body.items() if isinstance(value, _Definition)}
        for attribute, value in own.items():
            name = value.name or attribute.replace("_", ".")
            keys[name] = ConfigKey(name, **value.arguments)
            attributes[name] = attribute
            del body[attribute]
        if slots:
            body["__slots__"] = (*own, *body.get("__slots__", ()))
        body["definition"] = ConfigDef(keys)
        body["attributes"] = attributes
        return super().__new__(mcs, class_name, bases, body)


class ConfigTable(metaclass=_ConfigTableType):
    """Base of classes whose body is a table of configs."""

    __slots__ = ()
    definition: ClassVar[ConfigDef]
    """Every config of the table by name."""
    attributes: ClassVar[dict[str, str]]
    """Config name -> attribute name."""

    def get(self, name: str) -> Any:
        """Return the typed value of the config called `name`.

        Raises:
            KeyError: there is none.
        """
        return getattr(self, self.attributes[name])

    def values(self) -> dict[str, Any]:
        """Return the typed values of all configs by name."""
        return {name: getattr(self, attribute) for name, attribute in self.attributes.items()}
