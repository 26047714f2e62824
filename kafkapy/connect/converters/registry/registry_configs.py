"""Settings of converters that use a schema registry, and the client that they describe."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from kafkapy.clients.java_security import tls_arguments
from kafkapy.common.config_def import ConfigException, Importance, Password
from kafkapy.common.config_validators import OneOf
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.converters.converter import TYPE_CONFIG, converter_config_def
from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.subject_names import (
    SubjectNameStrategy,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)

log = logging.getLogger("kafkapy.connect.registry")

_STRATEGIES: Final[dict[str, SubjectNameStrategy]] = {
    "io.confluent.kafka.serializers.subject.TopicNameStrategy": topic_subject_name_strategy,
    "io.confluent.kafka.serializers.subject.RecordNameStrategy": record_subject_name_strategy,
    "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy": topic_record_subject_name_strategy,
}
_TOPIC_STRATEGY: Final = next(iter(_STRATEGIES))
_TLS: Final = "schema.registry.ssl."
_TLS_NAMES: Final = (
    "truststore.location",
    "truststore.password",
    "truststore.type",
    "truststore.certificates",
    "keystore.location",
    "keystore.password",
    "keystore.type",
    "keystore.key",
    "keystore.certificate.chain",
    "key.password",
    "endpoint.identification.algorithm",
)
_SECRET: Final = ("password", ".key")

Row = tuple[str, ConfigType, Any, str]
"""Name, type, default, and what it means."""

_BOOLEAN, _INT, _LONG = ConfigType.BOOLEAN, ConfigType.INT, ConfigType.LONG
_ROWS: Final[tuple[Row, ...]] = (
    ("auto.register.schemas", _BOOLEAN, True, "Whether schemas are registered; else they must exist."),
    ("normalize.schemas", _BOOLEAN, False, "Whether the registry compares schemas in their normal form."),
    ("use.latest.version", _BOOLEAN, False, "Whether values are written with the subject's latest schema."),
    ("use.schema.id", _INT, -1, "Id of the schema that values are written with; -1: none."),
    ("latest.cache.ttl.sec", _LONG, -1, "How long the latest schema is kept, in seconds; -1: for ever."),
    ("max.schemas.per.subject", _INT, 1000, "How many schemas the client keeps."),
    ("schemas.cache.config", _INT, 1000, "How many schemas of Connect are kept, in each direction."),
    ("http.connect.timeout.ms", _INT, 60000, "Limit for connecting to the registry, and for each read, in ms."),
    ("max.retries", _INT, 3, "How often failed requests to the registry are repeated."),
    ("retries.wait.ms", _INT, 1000, "Pause before the first repetition, in ms; it doubles."),
    ("retries.max.wait.ms", _INT, 20000, "The longest pause, in ms."),
)


def registry_config_def(rows: tuple[Row, ...]) -> ConfigDef:
    """Return the definitions of a converter's settings.

    Args:
        rows: Those that only this converter has.
    """
    definitions = converter_config_def().define(
        "schema.registry.url",
        ConfigType.LIST,
        importance=Importance.HIGH,
        doc="URLs of the schema registry, with commas between.",
    )
    for name, kind, default, doc in (*_ROWS, *rows):
        definitions.define(name, kind, default, importance=Importance.MEDIUM, doc=doc)
    for side in ("key", "value"):
        definitions.define(
            f"{side}.subject.name.strategy",
            default=_TOPIC_STRATEGY,
            validator=OneOf(*_STRATEGIES),
            doc=f"How the subject of a {side}'s schema is named.",
        )
    sources = (("basic.auth", ("URL", "USER_INFO")), ("bearer.auth", ("STATIC_TOKEN",)))
    for prefix, allowed in sources:
        definitions.define(
            f"{prefix}.credentials.source",
            default=allowed[0],
            validator=OneOf(*allowed),
            doc="Where the credentials for the registry come from.",
        )
    for name in ("basic.auth.user.info", "schema.registry.basic.auth.user.info", "bearer.auth.token"):
        definitions.define(name, ConfigType.PASSWORD, None, doc="Credentials for the registry.")
    for name in _TLS_NAMES:
        kind = ConfigType.PASSWORD if name.endswith(_SECRET) else ConfigType.STRING
        definitions.define(_TLS + name, kind, None, doc="TLS to the registry, as `ssl.…` of Kafka's clients.")
    return definitions


def warn_of_unknown(configs: Mapping[str, object], definitions: ConfigDef, converter: str) -> None:
    """Log the settings that have no effect.

    Args:
        configs: As given to the converter.
        definitions: Its settings.
        converter: Its name.
    """
    unknown = sorted(
        name for name in configs if name not in definitions and name not in (TYPE_CONFIG, "schemas.enable")
    )
    if unknown:
        log.warning("%s has no settings %s; they have no effect", converter, ", ".join(unknown))


def subject_strategy(parsed: Mapping[str, Any], is_key: bool) -> SubjectNameStrategy:
    """Return the function that names subjects.

    Args:
        parsed: The converter's settings.
        is_key: Whether it converts keys.
    """
    return _STRATEGIES[parsed[f"{'key' if is_key else 'value'}.subject.name.strategy"]]


def registry_client(parsed: Mapping[str, Any]) -> SchemaRegistryClient:
    """Return the client of a registry.

    Args:
        parsed: The converter's settings.

    Raises:
        ConfigException: They contradict each other, or a certificate cannot be read.
    """
    user, token = None, _secret(parsed["bearer.auth.token"])
    if parsed["basic.auth.credentials.source"] == "USER_INFO":
        given = parsed["basic.auth.user.info"] or parsed["schema.registry.basic.auth.user.info"]
        if given is None:
            raise ConfigException("basic.auth.credentials.source is USER_INFO; set basic.auth.user.info, too")
        user = _secret(given)
    ttl = parsed["latest.cache.ttl.sec"]
    try:
        return SchemaRegistryClient(
            parsed["schema.registry.url"],
            basic_auth_user_info=user,
            bearer_auth_token=token,
            timeout_ms=parsed["http.connect.timeout.ms"],
            max_retries=parsed["max.retries"],
            retries_wait_ms=parsed["retries.wait.ms"],
            retries_max_wait_ms=parsed["retries.max.wait.ms"],
            cache_capacity=parsed["max.schemas.per.subject"],
            cache_latest_ttl_s=None if ttl < 0 else float(ttl),
            **_tls(parsed),
        )
    except (KafkaConfigurationError, OSError, ValueError) as error:
        raise ConfigException(f"The schema registry cannot be used: {error}") from error


def _tls(parsed: Mapping[str, Any]) -> dict[str, Any]:
    given = {f"ssl.{name}": _secret(parsed[_TLS + name]) for name in _TLS_NAMES if parsed[_TLS + name] is not None}
    return tls_arguments(given) if given else {}


def _secret(value: Any) -> str | None:
    return value.value if isinstance(value, Password) else value
