"""The sources of a broker's configs: a properties file, environment variables (`--env`), `--override`s. The last
takes precedence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.common import logger_levels
from kafkapy.common.properties import load_file

USAGE: Final = (
    "USAGE: kafka-server-start.sh [-daemon] server.properties [--env] [--override property=value]*\n"
    "       kafka-server-start.sh [-daemon] --env [--override property=value]*\n"
    "--env: variables of the environment are configs, too, and hold before the file's: KAFKA_LOG_RETENTION_HOURS is\n"
    "log.retention.hours"
)

PREFIX: Final = "KAFKA_"
_ROOT_LEVEL, _LEVELS = "KAFKA_LOG4J_ROOT_LOGLEVEL", "KAFKA_LOG4J_LOGGERS"
_OF_IMAGES: Final = frozenset({"KAFKA_VERSION", "KAFKA_HOME", "KAFKA_DEBUG", "KAFKA_TOOLS_LOG4J_LOGLEVEL"})
FOR_A_JVM: Final = frozenset(
    {
        *("KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "KAFKA_GC_LOG_OPTS"),
        *("KAFKA_JMX_OPTS", "KAFKA_JMX_PORT", "KAFKA_JMX_HOSTNAME"),
    }
)
_SEPARATORS: Final = {"_": ".", "__": "_", "___": "-"}


class ServerArguments(NamedTuple):
    """A parsed command line. `file` is None with `--env` alone."""

    file: str | None
    with_environment: bool
    overrides: dict[str, str]

    @classmethod
    def parse(cls, arguments: Sequence[str]) -> ServerArguments:
        """Parse the arguments. Raises ValueError with the problem."""
        file, with_environment = None, False
        overrides: dict[str, str] = {}
        words = list(arguments)
        while words:
            word = words.pop(0)
            if word == "--env":
                with_environment = True
            elif word == "--override" and words:
                overrides.update([_override(words.pop(0))])
            elif word.startswith("--override="):
                overrides.update([_override(word.removeprefix("--override="))])
            elif file is None and not word.startswith("-"):
                file = word
            else:
                raise ValueError(f"Found non argument parameters: {word}\n{USAGE}")
        if file is None and not with_environment:
            raise ValueError(USAGE)
        return cls(file, with_environment, overrides)

    def properties(self, environment: Mapping[str, str], directory: Path = Path()) -> dict[str, str]:
        """All configs as text; a relative path of the file is resolved in `directory`.

        Raises OSError or ValueError if the file cannot be read.
        """
        properties = {} if self.file is None else load_file(directory / self.file)
        if self.with_environment:
            properties.update({name: environment[key] for name, key in configs_of(environment).items()})
        return {**properties, **self.overrides}


def configs_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Config -> value, from environment variables named as in the images of Apache and Confluent: `_` is a dot, `__`
    is `_`, and `___` is `-`."""
    return {
        re.sub("___|__|_", lambda match: _SEPARATORS[match[0]], key.removeprefix(PREFIX).lower()): key
        for key in sorted(environment)
        if key.startswith(PREFIX) and key not in FOR_A_JVM | _OF_IMAGES | {_ROOT_LEVEL, _LEVELS}
    }


def log_levels(environment: Mapping[str, str]) -> dict[str, str]:
    """Logger -> level, from `KAFKA_LOG4J_ROOT_LOGLEVEL=WARN` and `KAFKA_LOG4J_LOGGERS=kafka.controller=INFO,...`.

    Raises ValueError for an invalid level.
    """
    levels = {}
    if environment.get(_ROOT_LEVEL):
        levels[logger_levels.ROOT] = environment[_ROOT_LEVEL]
    for part in environment.get(_LEVELS, "").split(","):
        if part.strip():
            name, _, level = part.partition("=")
            levels[name.strip()] = level.strip()
    for name, level in levels.items():
        if level.upper() not in logger_levels.LEVELS:
            variable = _ROOT_LEVEL if name == logger_levels.ROOT else _LEVELS
            raise ValueError(
                f"Invalid level {level} of {name} in {variable}: it is one of {', '.join(logger_levels.LEVELS)}"
            )
    return {name: level.upper() for name, level in levels.items()}


def _override(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise ValueError(f"--override {text}: property=value is expected")
    return name.strip(), value.strip()
