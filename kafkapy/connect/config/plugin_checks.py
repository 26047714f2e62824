"""Checks of classes that configs name."""

from __future__ import annotations

from typing import Any

from kafkapy.common.config_def import ConfigException


class ConcreteSubclass:
    """Accepts a subclass of a base that can be instantiated."""

    def __init__(self, base: type) -> None:
        self.base = base

    def __call__(self, name: str, value: Any) -> None:
        if value is not None:
            ensure_concrete_subclass(self.base, value)

    def __str__(self) -> str:
        return f"A concrete subclass of {shown_name(self.base)}"


class Instantiable:
    """Accepts a class that can be instantiated without arguments."""

    def __call__(self, name: str, value: Any) -> None:
        if value is None:
            return
        try:
            made = value()
        except Exception as error:
            why = f": {error}" if str(error) else ""
            raise ConfigException.invalid(name, shown_name(value), f"Could not instantiate class{why}") from None
        close = getattr(made, "close", None)
        if close is not None:
            close()

    def __str__(self) -> str:
        return "A class with a public, no-argument constructor"


def ensure_concrete_subclass(base: type, found: Any) -> None:
    """Raise ConfigException unless a class is a subclass of `base` and can be instantiated."""
    name = shown_name(found)
    if not (isinstance(found, type) and issubclass(found, base)):
        inherits = "implement" if base.__name__ != "Task" else "extend"
        kind = "interface" if inherits == "implement" else "class"
        raise ConfigException(f"Class class {name} does not {inherits} the {base.__name__} {kind}")
    if getattr(found, "__abstractmethods__", None) or getattr(found, "java_sides", None):
        raise ConfigException(_abstract_text(found, name))


def _abstract_text(found: type, name: str) -> str:
    sides = [f"{name}${side}" for side in ("Value", "Key")] if getattr(found, "java_sides", None) else []
    text = "This class is abstract and cannot be created."
    return f"{text} Did you mean {', '.join(sides)}?" if sides else text


def shown_name(found: Any) -> str:
    """Return the name of a class as Java has it, or its import path."""
    java = getattr(found, "java_class", None)
    if isinstance(java, str):
        return java
    return f"{found.__module__}.{found.__qualname__}" if isinstance(found, type) else str(found)
