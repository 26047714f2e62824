"""Configs of the HTTP source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.config.validators import Described
from kafkapy.connect.connectors.http.client_config import check_client_configs, define_client_configs, parse_headers
from kafkapy.connect.connectors.http.json_pointers import check_pointer
from kafkapy.connect.connectors.http.pages import CHAINING, CURSOR, MODES

_STRING, _LONG = ConfigType.STRING, ConfigType.LONG
_POINTER: Final = Described(check_pointer, "JSON pointer")
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    (
        "entity.names",
        ConfigType.LIST,
        [""],
        None,
        "Parts of the source, filled in for ${entityName}; each has offsets.",
    ),
    ("http.request.method", _STRING, "GET", OneOf("GET", "POST", case_insensitive=True), "Method of requests."),
    ("http.request.headers", _STRING, "", None, "name:value, separated."),
    ("http.request.headers.separator", _STRING, "|", NonEmptyString(), "Between headers."),
    ("http.request.parameters", _STRING, "", None, "name=value, separated; ${offset} and ${entityName} are filled in."),
    ("http.request.parameters.separator", _STRING, "&", NonEmptyString(), "Between parameters."),
    ("http.request.body", _STRING, "", None, "Of POST; ${offset} and ${entityName} are filled in."),
    ("http.offset.mode", _STRING, "SIMPLE_INCREMENTING", OneOf(*MODES), "How requests follow each other."),
    ("http.initial.offset", _STRING, "", None, "Of the first request."),
    ("http.offset.json.pointer", _STRING, "", _POINTER, "To the offset in a record (CHAINING)."),
    ("http.next.page.json.pointer", _STRING, "", _POINTER, "To the next offset in an answer (CURSOR_PAGINATION)."),
    ("http.response.data.json.pointer", _STRING, "", _POINTER, "To the records in an answer."),
    ("http.record.key.json.pointer", _STRING, "", _POINTER, "To the key in a record. Default: no keys."),
    ("request.interval.ms", _LONG, 15_000, Range(0, None), "Pause before a request when all was read."),
    ("http.page.interval.ms", _LONG, 0, Range(0, None), "Pause before a request when there is more to read."),
)


def source_definitions() -> ConfigDef:
    """Return the definitions."""
    doc = "Of requests; ${offset} and ${entityName} are filled in."
    definitions = ConfigDef().define("url", validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)
    doc = "Topic of the records; ${entityName} is filled in."
    definitions.define("topic.name.pattern", validator=NonEmptyString(), importance=Importance.HIGH, doc=doc)
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return define_client_configs(definitions)


def check_source(config: Mapping[str, Any]) -> None:
    """Raise ConfigException if configs do not fit each other."""
    check_client_configs(config)
    if urlsplit(config["url"]).scheme not in ("http", "https"):
        raise ConfigException.invalid("url", config["url"], "Expected http:// or https://.")
    parse_headers(config["http.request.headers"], config["http.request.headers.separator"])
    mode = config["http.offset.mode"]
    for needing, name in ((CHAINING, "http.offset.json.pointer"), (CURSOR, "http.next.page.json.pointer")):
        if mode == needing and not config[name]:
            raise ConfigException.invalid(name, "", f"http.offset.mode={mode} needs it.")
    if mode == "SIMPLE_INCREMENTING":
        initial = config["http.initial.offset"] or "0"
        if not initial.lstrip("-").isdigit():
            raise ConfigException.invalid("http.initial.offset", initial, f"http.offset.mode={mode} needs a number.")
