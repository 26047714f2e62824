"""Topic configs for the validation of values by schemas, and the interface to the validator.

`kafkapy.value.schema.validation=true` enables it; `kafkapy.value.schema.subjects` lists the subjects whose schemas are
accepted, with `*` as a pattern; the default is `<topic>-value`. These configs are kafkapy's own; the table of
`LogConfig` is exactly Kafka's. The broker needs `kafkapy.schema.registry.url`.
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
    """The accepted schemas of one topic."""

    def verdict(self, prefix: bytes) -> str | None:
        """Return why a value that starts with this prefix is refused; "" if it is accepted, None if that is not cached."""

    def look_up(self, prefix: bytes) -> str:
        """Return the same, after a request to the registry if needed. Blocks, for a bounded time. `KafkaError`
        REQUEST_TIMED_OUT, which producers retry, if there is no answer.
        """


class SchemaGate(Protocol):
    """The schema validation of a broker."""

    def of(self, topic: str, subjects: tuple[str, ...]) -> AcceptedSchemas: ...


_installed: list[SchemaGate] = []


def install(gate: SchemaGate | None) -> None:
    """Set the process's gate before its broker starts (there is one broker per process); None removes it."""
    _installed[:] = [] if gate is None else [gate]


def subjects_of(configs: Mapping[str, object]) -> tuple[str, ...] | None:
    """Return the subjects whose schemas a topic with these own configs accepts; None: it accepts all records.

    Patterns may contain `*`. The default is the topic's own subject, written `{topic}-value`. `ConfigException` for
    invalid values.
    """
    wanted = CONFIGS[VALIDATION].parse(configs.get(VALIDATION, False))
    subjects = tuple(part.strip() for part in str(configs.get(SUBJECTS, "")).split(",") if part.strip())
    for subject in subjects:
        if not _SUBJECT.fullmatch(subject):
            raise ConfigException(f"Invalid value {subject} for configuration {SUBJECTS}: a subject has no spaces")
    return (subjects or ("{topic}-value",)) if wanted else None


def check(configs: Mapping[str, object]) -> None:
    """Raise `KafkaError(INVALID_CONFIG)` if a topic enables validation and this broker has no registry."""
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
    """Used if a topic enables validation, and the broker has lost the config of its registry."""

    def verdict(self, prefix: bytes) -> str | None:
        return None

    def look_up(self, prefix: bytes) -> str:
        raise KafkaError(
            Errors.INVALID_CONFIG, f"The topic has {VALIDATION}=true, but this broker has no {REGISTRY_URL}"
        )
