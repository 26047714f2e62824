"""Definitions of the configs that every connector has besides its own.

Source: Kafka's `ConnectorConfig`, `SourceConnectorConfig`, `SinkConnectorConfig`, `TopicCreationConfig`.
"""

from __future__ import annotations

from typing import Any

from kafkapy.common.config_def import ConfigException, Importance, Validator
from kafkapy.common.config_validators import NonEmptyString, NonNull, OneOf, at_least
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import NO_DEFAULT, ConfigDef, Width
from kafkapy.connect.config.plugin_aliases import PREDICATES, TRANSFORMS, PluginClasses
from kafkapy.connect.config.plugin_checks import ConcreteSubclass, Instantiable
from kafkapy.connect.config.validators import All, Described, NonEmptyStringWithoutControlChars, RegexPattern

COMMON, ERRORS = "Common", "Error Handling"
TOPIC_CREATION, EXACTLY_ONCE, OFFSETS_TOPIC = "Topic Creation", "Exactly Once Support", "offsets.topic"


def connector_config_def(plugins: PluginClasses) -> ConfigDef:
    """Return the definitions that sources and sinks share.

    Args:
        plugins: Finds the classes that configs name.
    """
    from kafkapy.connect.converters.converter import Converter, HeaderConverter

    converter = All(ConcreteSubclass(Converter), Instantiable())
    header_converter = All(ConcreteSubclass(HeaderConverter), Instantiable())
    low, high = Importance.LOW, Importance.HIGH
    definitions = ConfigDef(find_class=plugins.find_class)
    common = _Group(definitions, COMMON)
    common.add(
        "name", ConfigType.STRING, NO_DEFAULT, high, Width.MEDIUM, "Connector name", NonEmptyStringWithoutControlChars()
    )
    common.add("connector.class", ConfigType.STRING, NO_DEFAULT, high, Width.LONG, "Connector class")
    common.add("tasks.max", ConfigType.INT, 1, high, Width.SHORT, "Tasks max", at_least(1))
    common.add("tasks.max.enforce", ConfigType.BOOLEAN, True, low, Width.SHORT, "Enforce tasks max")
    common.add("key.converter", ConfigType.CLASS, None, low, Width.SHORT, "Key converter class", converter)
    common.add("value.converter", ConfigType.CLASS, None, low, Width.SHORT, "Value converter class", converter)
    common.add("header.converter", ConfigType.CLASS, None, low, Width.SHORT, "Header converter class", header_converter)
    for name, group, display in (("transforms", TRANSFORMS, "Transforms"), ("predicates", PREDICATES, "Predicates")):
        aliases = All(NonNull(), _unique(f"unique {name.removesuffix('s')} aliases"))
        common.add(name, ConfigType.LIST, [], low, Width.LONG, display, aliases, group=group)
    reload = OneOf("none", "restart")
    common.add("config.action.reload", ConfigType.STRING, "restart", low, Width.MEDIUM, "Reload Action", reload)
    _add_error_configs(_Group(definitions, ERRORS))
    return definitions


def _add_error_configs(errors: _Group) -> None:
    medium = Importance.MEDIUM
    errors.add("errors.retry.timeout", ConfigType.LONG, 0, medium, Width.MEDIUM, "Retry Timeout for Errors")
    errors.add(
        "errors.retry.delay.max.ms",
        ConfigType.LONG,
        60_000,
        medium,
        Width.MEDIUM,
        "Maximum Delay Between Retries for Errors",
    )
    tolerance = OneOf("none", "all")
    errors.add("errors.tolerance", ConfigType.STRING, "none", medium, Width.SHORT, "Error Tolerance", tolerance)
    errors.add("errors.log.enable", ConfigType.BOOLEAN, False, medium, Width.SHORT, "Log Errors")
    errors.add("errors.log.include.messages", ConfigType.BOOLEAN, False, medium, Width.SHORT, "Log Error Details")


def source_config_def(plugins: PluginClasses) -> ConfigDef:
    """Return the definitions of every source."""
    low, medium = Importance.LOW, Importance.MEDIUM
    definitions = connector_config_def(plugins)
    group = _Group(definitions, TOPIC_CREATION)
    unique = All(NonNull(), _unique("unique topic creation groups"))
    group.add("topic.creation.groups", ConfigType.LIST, [], low, Width.LONG, "Topic Creation Groups", unique)
    group.name = EXACTLY_ONCE
    support = OneOf("REQUIRED", "REQUESTED", case_insensitive=True)
    group.add(
        "exactly.once.support", ConfigType.STRING, "requested", medium, Width.SHORT, "Exactly once support", support
    )
    boundary = OneOf("INTERVAL", "POLL", "CONNECTOR", case_insensitive=True)
    group.add("transaction.boundary", ConfigType.STRING, "poll", medium, Width.SHORT, "Transaction Boundary", boundary)
    interval = Described(lambda name, value: None if value is None else at_least(0)(name, value), "[0,...]")
    group.add(
        "transaction.boundary.interval.ms",
        ConfigType.LONG,
        None,
        low,
        Width.SHORT,
        "Transaction boundary interval",
        interval,
    )
    offsets = _Group(definitions, OFFSETS_TOPIC)
    offsets.add("offsets.storage.topic", ConfigType.STRING, None, low, Width.LONG, "Offsets topic", NonEmptyString())
    return definitions


def sink_config_def(plugins: PluginClasses) -> ConfigDef:
    """Return the definitions of every sink."""
    medium, high = Importance.MEDIUM, Importance.HIGH
    definitions = connector_config_def(plugins)
    common = _Group(definitions, COMMON)
    common.add("topics", ConfigType.LIST, "", high, Width.LONG, "Topics", order=4)
    common.add("topics.regex", ConfigType.STRING, "", high, Width.LONG, "Topics regex", RegexPattern(), order=4)
    errors = _Group(definitions, ERRORS, 5)
    queue = "errors.deadletterqueue."
    errors.add(f"{queue}topic.name", ConfigType.STRING, "", medium, Width.MEDIUM, "Dead Letter Queue Topic Name")
    errors.add(
        f"{queue}topic.replication.factor",
        ConfigType.SHORT,
        3,
        medium,
        Width.MEDIUM,
        "Dead Letter Queue Topic Replication Factor",
    )
    errors.add(
        f"{queue}context.headers.enable",
        ConfigType.BOOLEAN,
        False,
        medium,
        Width.MEDIUM,
        "Enable Error Context Headers",
    )
    return definitions


def topic_creation_def(group: str, replication_factor: Any = NO_DEFAULT, partitions: Any = NO_DEFAULT) -> ConfigDef:
    """Return the configs of one topic creation group (KIP-158), without their prefix.

    Args:
        group: Name of the group.
        replication_factor: Default value of the config, from the default group. Default: it must be set. partitions:
            Default value of the config, from the default group. Default: it must be set.
    """
    low = Importance.LOW
    is_default = replication_factor is NO_DEFAULT
    patterns: Validator = NonNull() if is_default else Described(_check_patterns, "regular expressions")
    definitions = ConfigDef()
    topics = _Group(definitions, group)
    include = ".*" if is_default else []
    topics.add("include", ConfigType.LIST, include, low, Width.LONG, f"Inclusion Topic Pattern for {group}", patterns)
    topics.add("exclude", ConfigType.LIST, [], low, Width.LONG, f"Exclusion Topic Pattern for {group}", patterns)
    topics.add(
        "replication.factor",
        ConfigType.SHORT,
        replication_factor,
        low,
        Width.LONG,
        f"Replication Factor for Topics in {group}",
        Described(_check_replication_factor, "a positive number, or -1"),
    )
    topics.add(
        "partitions",
        ConfigType.INT,
        partitions,
        low,
        Width.LONG,
        f"Partition Count for Topics in {group}",
        Described(_check_partitions, "a positive number, or -1"),
    )
    return definitions


class _Group:
    """Adds definitions to one group, numbered in order; the numbers continue when the group's name changes."""

    def __init__(self, definitions: ConfigDef, name: str, order: int = 0) -> None:
        self.name = name
        self._definitions = definitions
        self._order = order

    def add(
        self,
        name: str,
        type: ConfigType,
        default: Any,
        importance: Importance,
        width: Width,
        display_name: str,
        validator: Validator | None = None,
        group: str | None = None,
        order: int | None = None,
    ) -> None:
        if order is None:
            self._order += 1
        self._definitions.define(
            name,
            type,
            default,
            validator=validator,
            importance=importance,
            doc=_DOCS.get(name, f"{display_name}."),
            group=group or self.name,
            order_in_group=self._order if order is None else order,
            width=width,
            display_name=display_name,
        )


def _unique(text: str) -> Described:
    def check(name: str, value: list[str]) -> None:
        if len(value) > len(set(value)):
            raise ConfigException.invalid(name, value, "Duplicate alias provided.")

    return Described(check, text)


def _check_patterns(name: str, value: list[str]) -> None:
    from kafkapy.common.patterns import PatternError, java

    for text in value:
        try:
            java(text)
        except PatternError as error:
            raise ConfigException.invalid(
                name, value, f"Syntax error in regular expression: {error.java_text}"
            ) from None


def _check_replication_factor(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigException.invalid(
            name,
            value,
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 to "
            "use the broker's default",
        )


def _check_partitions(name: str, value: int) -> None:
    if value != -1 and value < 1:
        raise ConfigException.invalid(
            name, value, "Number of partitions must be positive, or -1 to use the broker's default"
        )


_DOCS = {
    "name": "Name of the connector, once in a cluster.",
    "connector.class": "Class of the connector: Kafka's full name or alias, or an import path `package.module:Class`.",
    "tasks.max": "The largest number of tasks.",
    "tasks.max.enforce": "Does a connector fail that makes more tasks than `tasks.max`?",
    "key.converter": "Class that changes keys to bytes and back. Default: the worker's.",
    "value.converter": "Class that changes values to bytes and back. Default: the worker's.",
    "header.converter": "Class that changes values of headers to bytes and back. Default: the worker's.",
    "transforms": "Aliases of the transforms, in their order.",
    "predicates": "Aliases of the predicates that transforms use.",
    "config.action.reload": "What is done when a value of a config provider expires: none, or restart.",
    "errors.retry.timeout": "How long, in ms, an operation that failed is tried again. 0: not at all; -1: without end.",
    "errors.retry.delay.max.ms": "The longest pause between two tries, in ms.",
    "errors.tolerance": "none: an error ends the task; all: the record is skipped.",
    "errors.log.enable": "Is each error written to the log? Default: only those that end a task.",
    "errors.log.include.messages": "Does the log name the record that failed?",
    "topics": "Topics that are read, with commas between.",
    "topics.regex": "Regular expression of Java that names of topics match; instead of `topics`.",
    "errors.deadletterqueue.topic.name": "Topic that gets the records that failed. Default: none.",
    "errors.deadletterqueue.topic.replication.factor": "Its number of replicas if it has to be made.",
    "errors.deadletterqueue.context.headers.enable": "Do headers `__connect.errors.…` say what went wrong?",
    "topic.creation.groups": "Names of groups of topics that are created with settings of their own.",
    "exactly.once.support": "required: the connector is refused if it cannot promise it; requested: it is tried.",
    "transaction.boundary": "When a transaction ends: poll, interval, or connector.",
    "transaction.boundary.interval.ms": "Length of a transaction with `interval`. Default: `offset.flush.interval.ms`.",
    "offsets.storage.topic": "A topic of its own for the connector's offsets. Default: the worker's.",
    "include": "Regular expressions of topics that belong to the group.",
    "exclude": "Regular expressions of topics that do not.",
    "replication.factor": "Replicas of new topics; -1: the broker's default.",
    "partitions": "Partitions of new topics; -1: the broker's default.",
}
