"""Filters of the topics, groups and topic configs to copy (Kafka's `TopicFilter`, `GroupFilter`,
`ConfigPropertyFilter`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.patterns import PatternError, TranslatedPattern, java
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import parse_value

TOPICS_INCLUDE, TOPICS_INCLUDE_DEFAULT = "topics", ".*"
TOPICS_EXCLUDE, TOPICS_EXCLUDE_ALIAS = "topics.exclude", "topics.blacklist"
TOPICS_EXCLUDE_DEFAULT: Final = r".*[\-\.]internal, .*\.replica, __.*"
GROUPS_INCLUDE, GROUPS_INCLUDE_DEFAULT = "groups", ".*"
GROUPS_EXCLUDE, GROUPS_EXCLUDE_ALIAS = "groups.exclude", "groups.blacklist"
GROUPS_EXCLUDE_DEFAULT: Final = "console-consumer-.*, connect-.*, __.*"
CONFIG_PROPERTIES_EXCLUDE, CONFIG_PROPERTIES_EXCLUDE_ALIAS = "config.properties.exclude", "config.properties.blacklist"
CONFIG_PROPERTIES_EXCLUDE_DEFAULT: Final = (
    r"follower\.replication\.throttled\.replicas, leader\.replication\.throttled\.replicas, "
    r"message\.timestamp\.difference\.max\.ms, message\.timestamp\.type, unclean\.leader\.election\.enable, "
    r"min\.insync\.replicas"
)
USE_DEFAULTS_FROM, USE_DEFAULTS_FROM_DEFAULT = "use.defaults.from", "target"


class MirrorFilter:
    """Base of the filters; each is created without arguments and configured once."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure with the connector's configs. Does nothing by default."""

    def close(self) -> None:
        """Release the resources that `configure` has opened."""


class TopicFilter(MirrorFilter):
    """Chooses topics. Derive from it for a filter of your own, and name it in `topic.filter.class`."""

    def should_replicate_topic(self, topic: str) -> bool:
        """Return whether the source cluster's topic is copied."""
        raise NotImplementedError


class GroupFilter(MirrorFilter):
    """Chooses groups. Derive from it for a filter of your own, and name it in `group.filter.class`."""

    def should_replicate_group(self, group: str) -> bool:
        """Return whether the group's offsets are translated."""
        raise NotImplementedError


class ConfigPropertyFilter(MirrorFilter):
    """Chooses configs of topics. Derive from it for your own, and name it in `config.property.filter.class`."""

    def should_replicate_config_property(self, name: str) -> bool:
        """Return whether the topic config is copied to the remote topic."""
        raise NotImplementedError

    def should_replicate_source_default(self, name: str) -> bool:
        """Return whether a config that has its default value on the source is also copied (KIP-888); False by default.

        If False, the target cluster's default applies.
        """
        return False


class DefaultTopicFilter(TopicFilter):
    """`topics` and `topics.exclude`: names and regular expressions of Java that match whole names.

    Example:
        >>> topics = DefaultTopicFilter()
        >>> topics.configure({"topics": "orders, clicks-.*", "topics.exclude": ".*-old"})
        >>> [topics.should_replicate_topic(name) for name in ("orders", "orders2", "clicks-eu", "clicks-old")]
        [True, False, True, False]
    """

    java_class = "org.apache.kafka.connect.mirror.DefaultTopicFilter"

    def __init__(self) -> None:
        self._included: TranslatedPattern | None = None
        self._excluded: TranslatedPattern | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._included = _pattern_of(configs, TOPICS_INCLUDE, TOPICS_INCLUDE_DEFAULT)
        self._excluded = _pattern_of(configs, TOPICS_EXCLUDE, TOPICS_EXCLUDE_DEFAULT, TOPICS_EXCLUDE_ALIAS)

    def should_replicate_topic(self, topic: str) -> bool:
        return _matches(self._included, topic) and not _matches(self._excluded, topic)


class DefaultGroupFilter(GroupFilter):
    """`groups` and `groups.exclude`: names and regular expressions of Java that match whole names.

    Example:
        >>> groups = DefaultGroupFilter()
        >>> groups.configure({})
        >>> groups.should_replicate_group("billing"), groups.should_replicate_group("console-consumer-7")
        (True, False)
    """

    java_class = "org.apache.kafka.connect.mirror.DefaultGroupFilter"

    def __init__(self) -> None:
        self._included: TranslatedPattern | None = None
        self._excluded: TranslatedPattern | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._included = _pattern_of(configs, GROUPS_INCLUDE, GROUPS_INCLUDE_DEFAULT)
        self._excluded = _pattern_of(configs, GROUPS_EXCLUDE, GROUPS_EXCLUDE_DEFAULT, GROUPS_EXCLUDE_ALIAS)

    def should_replicate_group(self, group: str) -> bool:
        return _matches(self._included, group) and not _matches(self._excluded, group)


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """All but those of `config.properties.exclude`; defaults are those of `use.defaults.from` (source or target).

    Example:
        >>> configs = DefaultConfigPropertyFilter()
        >>> configs.should_replicate_config_property("retention.ms")
        True
        >>> configs.should_replicate_config_property("min.insync.replicas")
        False
    """

    java_class = "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter"

    def __init__(self) -> None:
        self._excluded = _pattern_of({}, CONFIG_PROPERTIES_EXCLUDE, CONFIG_PROPERTIES_EXCLUDE_DEFAULT)
        self._defaults_from = USE_DEFAULTS_FROM_DEFAULT

    def configure(self, configs: Mapping[str, Any]) -> None:
        self._excluded = _pattern_of(
            configs, CONFIG_PROPERTIES_EXCLUDE, CONFIG_PROPERTIES_EXCLUDE_DEFAULT, CONFIG_PROPERTIES_EXCLUDE_ALIAS
        )
        defaults_from = parse_value(
            USE_DEFAULTS_FROM, configs.get(USE_DEFAULTS_FROM, USE_DEFAULTS_FROM_DEFAULT), ConfigType.STRING
        )
        self._defaults_from = str(defaults_from)

    def should_replicate_config_property(self, name: str) -> bool:
        return not _matches(self._excluded, name)

    def should_replicate_source_default(self, name: str) -> bool:
        return self._defaults_from == "source"


def _pattern_of(
    configs: Mapping[str, Any], name: str, default: str, alias: str | None = None
) -> TranslatedPattern | None:
    used = alias if alias is not None and name not in configs and configs.get(alias) is not None else name
    return compile_patterns(used, parse_value(used, configs.get(used, default), ConfigType.LIST))


def compile_patterns(name: str, patterns: Sequence[str] | None) -> TranslatedPattern | None:
    """Return a pattern that matches if any of the patterns does; None: there are no patterns.

    Args:
        name: The config's name, for the message.
        patterns: Regular expressions of Java.

    Raises:
        ConfigException: A pattern is invalid.
    """
    if not patterns:
        return None
    joined = "|".join(patterns)
    try:
        return java(joined)
    except PatternError as error:
        raise ConfigException.invalid(name, joined, f"Invalid regex: {error}") from None


def _matches(pattern: TranslatedPattern | None, text: str) -> bool:
    return pattern is not None and pattern.fullmatch(text)
