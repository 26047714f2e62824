"""Checks of a sink's config that involve several keys (Kafka's `SinkConnectorConfig.validate`)."""

from __future__ import annotations

from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import PatternError, java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigValue, parse_value
from kafkapy.connect.herder.infos import Config

_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_GROUP_OVERRIDE = "consumer.override.group.id"


def has_dead_letters(config: Config) -> bool:
    return bool((config.get(_DEAD_LETTERS) or "").strip())


def check_sink(config: Config, values: dict[str, ConfigValue]) -> None:
    """Add errors of the topics and the dead-letter topic to `values`."""
    topics, regex = config.get("topics"), config.get("topics.regex")
    has_topics, has_regex = bool((topics or "").strip()), bool((regex or "").strip())
    if has_topics == has_regex:
        text = (
            "topics and topics.regex are mutually exclusive options, but both are set."
            if has_topics
            else "Must configure one of topics or topics.regex"
        )
        _add(values, "topics", topics, text)
        _add(values, "topics.regex", regex, text)
    dead_letters = (config.get(_DEAD_LETTERS) or "").strip()
    if not dead_letters:
        return
    listed = [topic for topic in parse_value("topics", topics, ConfigType.LIST) or [] if topic] if has_topics else []
    if dead_letters in listed:
        shown = ", ".join(dict.fromkeys(listed))
        text = (
            f"The DLQ topic '{dead_letters}' may not be included in the list of topics ('topics=[{shown}]') consumed by "
            "the connector"
        )
        _add(values, "topics", topics, text)
    if has_regex and regex is not None and _matches(regex, dead_letters):
        text = (
            f"The DLQ topic '{dead_letters}' may not be matched by the regex for the topics ('topics.regex={regex}') "
            "consumed by the connector"
        )
        _add(values, "topics.regex", regex, text)


def refuse_wrong_topics(config: Config) -> None:
    """Raises ConfigException for the first thing that `check_sink` finds."""
    values: dict[str, ConfigValue] = {}
    check_sink(config, values)
    for about in values.values():
        for text in about.errors:
            raise ConfigException.invalid(about.name, about.value, text)


def _matches(regex: str, topic: str) -> bool:
    try:
        return java(regex).fullmatch(topic)
    except PatternError as error:
        raise ConfigException(str(error)) from None


def check_sink_group(config: Config, values: dict[str, ConfigValue], worker_group: str) -> None:
    """Add an error if a sink's consumer group is the group of the workers."""
    if _GROUP_OVERRIDE in config:
        group = config[_GROUP_OVERRIDE]
        about = values.setdefault(_GROUP_OVERRIDE, ConfigValue(_GROUP_OVERRIDE, group))
        if group == worker_group:
            about.errors.append(f"Consumer group {group} conflicts with Connect worker group {worker_group}")
        return
    name = values["name"].value
    if worker_group == f"connect-{name}":
        values["name"].errors.append(
            f"Consumer group for sink connector named {name} conflicts with Connect worker group {worker_group}"
        )


def _add(values: dict[str, ConfigValue], name: str, value: str | None, text: str) -> None:
    values.setdefault(name, ConfigValue(name, value)).errors.append(text)
