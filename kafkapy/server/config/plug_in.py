"""Creates operators' own objects, which configs name by import path."""

from __future__ import annotations

from typing import TypeVar

from kafkapy.common.config_def import ConfigException
from kafkapy.security.import_path import ImportPathError, import_object

T = TypeVar("T")


def make_plug_in(path: str, config: str, base: type[T]) -> T:
    """Return an object of the class named `package.module:Class` or `package.module.Class`, created without arguments.

    Args:
        path: The import path.
        config: The config's name, for errors.
        base: The required base class.

    Raises:
        ConfigException: There is no such class, it is not derived from the base, or it cannot be created.

    Example:
        >>> make_plug_in("collections:Counter", "a.config", dict)
        Counter()
    """
    try:
        found = import_object(path.strip(), config)
    except ImportPathError as problem:
        raise ConfigException.invalid(config, path, f"Class {path} could not be found: {problem}") from problem
    if not (isinstance(found, type) and issubclass(found, base)):
        raise ConfigException.invalid(
            config, path, f"{path} is not a class derived from {base.__module__}.{base.__name__}"
        )
    try:
        return found()
    except Exception as problem:
        raise ConfigException.invalid(config, path, f"Could not make it: {problem!r}") from problem
