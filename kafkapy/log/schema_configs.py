"""The configs of a topic whose values must have schemas that it accepts, and who knows which those are.

`kafkapy.value.schema.validation=true` in a topic's configs; `kafkapy.value.schema.subjects` says whose schemas, with `*` as a
pattern; without it, it is `<topic>-value`. They are kafkapy's own: the table of `LogConfig` is exactly Kafka's. A broker needs
`kafkapy.schema.registry.url` for it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

from kafkapy.common.config_def import ConfigDef, ConfigException, ConfigKey
from kafkapy.common.wire_enums import ConfigType
from kafkapy.protocol.errors import Errors, KafkaError

VALIDATION: Final = "kafkapy.value.schema.validation"
SUBJECTS: Final = "kafkapy.value.schema.subjects"
CONFIGS: Final = ConfigDef(
    {
        VALIDATION: ConfigKey(
            VALIDATION,
            ConfigType.BOOLEAN,
            False,
            "Whether records whose values have no schema that is accepted are refused.",
        ),
        SUBJECTS: ConfigKey(
            SUBJECTS, ConfigType.STRING, "", "The subjects whose schemas are accepted, with * as a pattern."
        ),
    }
)
REGISTRY_URL: Final = "kafkapy.schema.registry.url"

_SUBJECT: Final = re.compile(r"[^\s,]+")


class AcceptedSchemas(Protocol):
    """Of one topic."""

    def verdict(self, prefix: bytes) -> str | None:
        """Why a value that begins so is refused, "" if it isn't, None if that is not known (any more)."""

    def look_up(self, prefix: bytes) -> str:
        """The same, if need be after asking. Blocks, for a bounded time. `KafkaError` REQUEST_TIMED_OUT if nobody answers:
        producers repeat that."""


class SchemaGate(Protocol):
    """Of a broker."""

    def of(self, topic: str, subjects: tuple[str, ...]) -> AcceptedSchemas: ...


_installed: list[SchemaGate] = []


def install(gate: SchemaGate | None) -> None:
    """The process's gate, before its broker starts; there is one broker in a process. None: there is none any more."""
    _installed[:] = [] if gate is None else [gate]


def subjects_of(configs: Mapping[str, object]) -> tuple[str, ...] | None:
    """The subjects whose schemas a topic with these configs of its own accepts; None: it accepts all records. Patterns may have
    `*`. Without any, it is the topic's own subject, which `{topic}-value` stands for. `ConfigException` for values that cannot
    be."""
    wanted = CONFIGS[VALIDATION].parse(configs.get(VALIDATION, False))
    subjects = tuple(part.strip() for part in str(configs.get(SUBJECTS, "")).split(",") if part.strip())
    for subject in subjects:
        if not _SUBJECT.fullmatch(subject):
            raise ConfigException(f"Invalid value {subject} for configuration {SUBJECTS}: a subject has no spaces")
    return (subjects or ("{topic}-value",)) if wanted else None


def check(configs: Mapping[str, object]) -> None:
    """`KafkaError(INVALID_CONFIG)` if a topic is to be validated and this broker knows no registry."""
    if subjects_of(configs) is not None and not _installed:
        raise KafkaError(
            Errors.INVALID_CONFIG,
            f"{VALIDATION} needs a schema registry: set {REGISTRY_URL} in the broker's properties",
        )


def accepted_schemas(topic: str, subjects: tuple[str, ...]) -> AcceptedSchemas:
    named = tuple(subject.replace("{topic}", topic) for subject in subjects)
    return _installed[0].of(topic, named) if _installed else _NoRegistry()


def matches(subject: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(subject, pattern) for pattern in patterns)


class _NoRegistry:
    """A topic is to be validated, and the broker has lost the config of its registry."""

    def verdict(self, prefix: bytes) -> str | None:
        return None

    def look_up(self, prefix: bytes) -> str:
        raise KafkaError(
            Errors.INVALID_CONFIG, f"The topic has {VALIDATION}=true, but this broker has no {REGISTRY_URL}"
        )
