"""The JAAS file of a process, located as by a JVM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_options import system_properties
from kafkapy.security.jaas import JaasConfigError, LoginModule, parse_jaas_file

JAAS_FILE: Final = "java.security.auth.login.config"
"""The system property with its path."""


def java_properties() -> dict[str, str]:
    """Return Java's system properties from `KAFKA_OPTS`. Raises ConfigException if that cannot be parsed."""
    try:
        return system_properties()
    except ValueError as error:
        raise ConfigException(str(error)) from None


def load_jaas_file(system: Mapping[str, str] | None = None) -> dict[str, tuple[LoginModule, ...]]:
    """Return the sections of the file in `java.security.auth.login.config`; none without it.

    Args:
        system: Java's system properties; None: those of `KAFKA_OPTS`.

    Raises:
        ConfigException: The file cannot be read or is malformed.

    Example:
        >>> load_jaas_file({})
        {}
    """
    system = java_properties() if system is None else system
    path = system.get(JAAS_FILE)
    if path is None:
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            return parse_jaas_file(file.read(), path, system)
    except JaasConfigError as problem:
        raise ConfigException(str(problem)) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigException(f"The JAAS file {path} cannot be read: {problem}") from None
