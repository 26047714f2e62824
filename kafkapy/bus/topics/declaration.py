"""Topics as they are declared: one TOML file for each.

    owner = "team-shop"
    meaning = "A guest has booked a room."
    partitions = 12
    replicas = 3                        # default: the brokers' own
    retention = "7d"                    # 90m, 12h, 7d, forever; default: the brokers' own
    router = "user_id"                  # a field, module:function, or none
    time = "created_at"                 # the field with an event's time; default: when it is sent
    accepts = ["shop.BookingCreated"]   # the events that belong there
    validate = true                     # the broker refuses other records

    [configs]                           # further configs of the topic
    "cleanup.policy" = "compact"

The topic is called as the file (`bookings.toml`), unless `name` says otherwise. `absent = true` says that the topic is to be
gone.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from kafkapy.bus.errors import BusError
from kafkapy.bus.routers import router_of
from kafkapy.bus.schemas.python_classes import Routing

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_RETENTION = re.compile(r"([1-9]\d*)(ms|s|m|h|d)")
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
VALIDATION = "kafkapy.value.schema.validation"
VALIDATION_SUBJECTS = "kafkapy.value.schema.subjects"
_KNOWN = {
    "name": str,
    "owner": str,
    "meaning": str,
    "partitions": int,
    "replicas": int,
    "retention": str,
    "router": str,
    "time": str,
    "accepts": list,
    "validate": bool,
    "configs": dict,
    "absent": bool,
}


class DeclarationError(BusError):
    """A file of the topic repository is wrong; the message names it."""


class TopicDeclaration(NamedTuple):
    """A declared topic. `partitions` and `replicas` -1: the brokers' defaults. `configs`: all that the declaration
    sets, retention and validation included."""

    name: str
    owner: str
    meaning: str
    partitions: int
    replicas: int
    configs: dict[str, str]
    router: str | None
    time: str | None
    accepts: tuple[str, ...]
    validate: bool
    absent: bool
    path: Path


def load(directory: Path) -> dict[str, TopicDeclaration]:
    """All topics by name. Raises DeclarationError."""
    if not directory.is_dir():
        raise DeclarationError(
            f"{directory} is no folder: a topic repository is a folder with a TOML file for each topic"
        )
    found: dict[str, TopicDeclaration] = {}
    for path in sorted(directory.glob("*.toml")):
        topic = _load_one(path)
        if topic.name in found:
            raise DeclarationError(f"{path} and {found[topic.name].path} both declare {topic.name}")
        found[topic.name] = topic
    if not found:
        raise DeclarationError(f"{directory} has no .toml files: make one for each topic")
    return found


def routing_of(topics: dict[str, TopicDeclaration]) -> dict[str, Routing]:
    """Event -> its topic. Raises DeclarationError if two topics accept an event, since a class has one topic."""
    found: dict[str, Routing] = {}
    for topic in topics.values():
        for event in topic.accepts if not topic.absent else ():
            if event in found:
                raise DeclarationError(f"{found[event].topic} and {topic.name} both accept {event}; only one may")
            found[event] = Routing(topic.name, topic.router, topic.time)
    return found


def retention_ms(text: str) -> int:
    """Convert a duration such as `7d` to milliseconds; `forever` is -1. Raises ValueError."""
    if text == "forever":
        return -1
    matched = _RETENTION.fullmatch(text)
    if matched is None:
        raise ValueError(f"{text!r} is no time to keep events: it must be such as 90m, 12h or 7d, or forever")
    return int(matched[1]) * _UNITS[matched[2]]


def _load_one(path: Path) -> TopicDeclaration:
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DeclarationError(f"{path} is no TOML: {error}") from None
    for name, value in given.items():
        kind = _KNOWN.get(name)
        if kind is None:
            raise DeclarationError(f"{path}: {name} is unknown; there are {', '.join(_KNOWN)}")
        if type(value) is not kind:
            raise DeclarationError(f"{path}: {name} must be of type {kind.__name__}; it is {value!r}")
    try:
        return _declared(path, given)
    except ValueError as error:
        raise DeclarationError(f"{path}: {error}") from None


def _declared(path: Path, given: dict[str, Any]) -> TopicDeclaration:
    name = given.get("name", path.stem)
    absent = given.get("absent", False)
    if not _TOPIC.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a topic's name")
    for needed in ("owner", "meaning") if not absent else ():
        if not given.get(needed, "").strip():
            raise ValueError(f"{needed} is missing: say who owns the topic, and what its events mean")
    for count in ("partitions", "replicas"):
        if given.get(count, 1) < 1:
            raise ValueError(f"{count} must be at least 1")
    accepts = tuple(given.get("accepts", ()))
    if not all(isinstance(event, str) for event in accepts):
        raise ValueError("accepts must be a list of events' names")
    router_of(given.get("router"))
    configs = {key: _text(value) for key, value in given.get("configs", {}).items()}
    if "retention" in given:
        configs["retention.ms"] = str(retention_ms(given["retention"]))
    validate = given.get("validate", False)
    if validate and not accepts:
        raise ValueError("validate needs accepts: without it every record would be refused")
    if validate:
        configs[VALIDATION] = "true"
        configs[VALIDATION_SUBJECTS] = ",".join(f"{event}-v*" for event in sorted(accepts))
    counts = given.get("partitions", -1), given.get("replicas", -1)
    about = given.get("owner", ""), given.get("meaning", "")
    routing = given.get("router"), given.get("time")
    return TopicDeclaration(name, *about, *counts, configs, *routing, accepts, validate, absent, path)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, dict):
        raise ValueError('names of configs with dots are written in quotes: "cleanup.policy" = "compact"')
    return str(value)
