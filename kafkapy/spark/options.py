"""The options of source and sink: one table, and their validation.

As in Spark's `KafkaSourceProvider`, names are case-insensitive. Options that Spark's source ignores cause a warning,
and those that it refuses are refused with the same message; an unknown option is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from kafkapy.common.patterns import TranslatedPattern, java
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.delivery import OF_DELIVERY, ExactlyOnce, delivery, exactly_once_options, sink_name
from kafkapy.spark.errors import OptionError, did_you_mean
from kafkapy.spark.kafka_params import (
    CONSUMER,
    GROUP_ID_WARNING,
    PREFIX,
    PRODUCER,
    KafkaParams,
    consumer_params,
    producer_params,
)
from kafkapy.spark.offset_limits import (
    EarliestOffsets,
    GlobalTimestamp,
    LatestOffsets,
    OffsetRangeLimit,
    SpecificOffsets,
    SpecificTimestamps,
    check_batch_limits,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
)


class Mode(Enum):
    """The kind of a query; the value is its name in messages."""

    BATCH = "batch queries"
    STREAM = "streaming queries"
    WRITE = "writes"


class Option(NamedTuple):
    """One option. `parse(name, text)` raises `OptionError`; `refused`: modes in which it is an error, and the
    message."""

    name: str
    parse: Callable[[str, str], Any]
    default: Any
    modes: frozenset[Mode]
    refused: Mapping[Mode, str] = {}


# --- parsers


def _text(name: str, text: str) -> str:
    return text.strip()


def _raw(name: str, text: str) -> str:
    return text


def _boolean(name: str, text: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false"):
        raise OptionError(f'For input string: "{text}" (option {name} is true or false)')
    return value == "true"


def _number(name: str, text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise OptionError(f'For input string: "{text}" (option {name} is a number)') from None


def _positive(name: str, text: str) -> int:
    value = _number(name, text)
    if value <= 0:
        raise OptionError(f"{name} must be positive")
    return value


def _at_least_0(name: str, text: str) -> int:
    value = _number(name, text)
    if value < 0:
        raise OptionError(f"{name} must not be negative")
    return value


def _timestamp(name: str, text: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        raise OptionError(f"Expected a single long value, got {text.strip()}") from None


def _no_match(name: str, text: str) -> str:
    value = text.strip().lower()
    if value not in ("error", "latest"):
        raise OptionError(f"No value found for '{text.strip().upper()}' (option {name} is error or latest)")
    return value


_DURATION = re.compile(r"(-?[0-9]+)\s*([a-z]+)?")
_MILLIS = {"us": 0.001, "ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _duration_ms(name: str, text: str) -> int:
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or (match[2] or "ms") not in _MILLIS:
        raise OptionError(
            "Time must be specified as seconds (s), milliseconds (ms), microseconds (us), minutes (m or min), "
            f"hour (h), or day (d). E.g. 50s, 100ms, or 250us. Failed to parse time string: {text} (option {name})"
        )
    return int(int(match[1]) * _MILLIS[match[2] or "ms"])


_READS = frozenset({Mode.BATCH, Mode.STREAM})
_BATCH = frozenset({Mode.BATCH})
_STREAM = frozenset({Mode.STREAM})
_WRITE = frozenset({Mode.WRITE})
_NO_ENDING_OFFSET = {Mode.STREAM: "ending offset not valid in streaming queries"}
_NO_ENDING_TIMESTAMP = {Mode.STREAM: "ending timestamp not valid in streaming queries"}

OPTIONS = (
    Option("assign", _raw, None, _READS),
    Option("subscribe", _raw, None, _READS),
    Option("subscribePattern", _raw, None, _READS),
    Option("startingTimestamp", _timestamp, None, _READS),
    Option("startingOffsetsByTimestamp", _text, None, _READS),
    Option("startingOffsets", _text, None, _READS),
    Option("endingTimestamp", _timestamp, None, _BATCH, _NO_ENDING_TIMESTAMP),
    Option("endingOffsetsByTimestamp", _text, None, _BATCH, _NO_ENDING_TIMESTAMP),
    Option("endingOffsets", _text, None, _BATCH, _NO_ENDING_OFFSET),
    Option("startingOffsetsByTimestampStrategy", _no_match, "error", _READS),
    Option("failOnDataLoss", _boolean, True, _READS | _WRITE),
    Option("minPartitions", _positive, None, _READS),
    Option("maxRecordsPerPartition", _positive, None, _READS),
    Option("maxOffsetsPerTrigger", _number, None, _STREAM),
    Option("minOffsetsPerTrigger", _number, None, _STREAM),
    Option("maxTriggerDelay", _duration_ms, 15 * 60_000, _STREAM),
    Option("groupIdPrefix", _raw, None, _READS),
    Option("includeHeaders", _boolean, False, _READS),
    Option("kafkaConsumer.pollTimeoutMs", _at_least_0, 120_000, _READS),
    Option("fetchOffset.numRetries", _positive, 3, _READS),
    Option("fetchOffset.retryIntervalMs", _at_least_0, 1_000, _READS),
    # Not in Spark's source: a group that a stream commits its progress to, so that lag tools see it (SPARK-27549).
    Option("commitOffsetsToGroup", _text, None, _STREAM),
    Option("topic", _text, None, _WRITE),
    # Not in Spark's sink (docs/spark.md, "Exactly once").
    Option("delivery", delivery, "at-least-once", _WRITE),
    Option("sinkName", sink_name, None, _WRITE),
    Option("batchId", _at_least_0, None, _WRITE),
    Option("decisionTopic", _text, "kafkapy-spark-decisions", _WRITE),
)
_BY_NAME = {option.name.lower(): option for option in OPTIONS}

SPARKS_OWN = frozenset({"checkpointlocation", "queryname"})
"""Options that `DataStreamWriter` adds to those of a sink."""

STRATEGIES = ("subscribe", "subscribePattern", "assign")


# --- what they come to


@dataclass(frozen=True)
class Assign:
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True)
class Subscribe:
    topics: tuple[str, ...]


@dataclass(frozen=True)
class SubscribePattern:
    """A pattern that is searched for anywhere in a topic's name; internal topics are excluded."""

    pattern: TranslatedPattern


Strategy = Assign | Subscribe | SubscribePattern


@dataclass(frozen=True)
class SourceOptions:
    strategy: Strategy
    start: OffsetRangeLimit
    end: OffsetRangeLimit
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records_per_partition: int | None
    max_offsets_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    group_id_prefix: str
    include_headers: bool
    poll_timeout_ms: int
    fetch_offset_attempts: int
    fetch_offset_retry_interval_ms: int
    commit_offsets_to_group: str | None
    kafka: KafkaParams = field(repr=False)
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class SinkOptions:
    topic: str | None
    exactly_once: ExactlyOnce | None
    kafka: KafkaParams = field(repr=False)
    warnings: tuple[str, ...]


def include_headers(options: Mapping[str, str]) -> bool:
    text = _lower(options).get("includeheaders")
    return False if text is None else _boolean("includeHeaders", text)


def source_options(options: Mapping[str, str], mode: Mode) -> SourceOptions:
    """Check all options of a query. Raises `OptionError`; `warnings` has what Spark would only warn about."""
    warnings: list[str] = []
    values, kafka = _read(options, mode, warnings)
    start, end = _limits(values, mode)
    if mode is Mode.BATCH:
        check_batch_limits(start, end)
    strategy = _strategy(_lower(options))
    least, most = values["minOffsetsPerTrigger"], values["maxOffsetsPerTrigger"]
    if least is not None and most is not None and least > most:
        raise OptionError(f"The value of minOffsetPerTrigger({least}) is higher than the maxOffsetsPerTrigger({most}).")
    if "group.id" in kafka:
        warnings.append(GROUP_ID_WARNING)
        if values["groupIdPrefix"] is not None:
            warnings.append("Option groupIdPrefix will be ignored as option kafka.group.id has been set.")
    params = consumer_params(kafka, warnings)
    return SourceOptions(
        strategy,
        start,
        end,
        fail_on_data_loss=values["failOnDataLoss"],
        min_partitions=values["minPartitions"],
        max_records_per_partition=values["maxRecordsPerPartition"],
        max_offsets_per_trigger=most,
        min_offsets_per_trigger=least,
        max_trigger_delay_ms=values["maxTriggerDelay"],
        group_id_prefix=values["groupIdPrefix"] or _GROUP_PREFIXES[mode],
        include_headers=values["includeHeaders"],
        poll_timeout_ms=values["kafkaConsumer.pollTimeoutMs"],
        fetch_offset_attempts=values["fetchOffset.numRetries"],
        fetch_offset_retry_interval_ms=values["fetchOffset.retryIntervalMs"],
        commit_offsets_to_group=values["commitOffsetsToGroup"],
        kafka=params,
        warnings=tuple(warnings),
    )


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """Checks the options of a write. Raises `OptionError`."""
    warnings: list[str] = []
    given = _lower(options)
    values, kafka = _read(options, Mode.WRITE, warnings)
    params = producer_params(kafka, warnings)
    exactly_once = exactly_once_options(values, params) if values["delivery"] == "exactly-once" else None
    if exactly_once is None:
        if params["transaction.timeout.ms"] is not None:
            raise OptionError("Kafka option 'transaction.timeout.ms' goes with the option delivery=exactly-once alone")
        warnings += [f"{name} option ignored without delivery=exactly-once" for name in OF_DELIVERY if name in given]
    return SinkOptions(values["topic"], exactly_once, params, tuple(warnings))


def check_read(options: Mapping[str, str]) -> None:
    """Check the options of a read before it is known whether it is a batch query or a stream. Raises `OptionError`."""
    try:
        source_options(options, Mode.BATCH)
    except OptionError as error:
        try:
            source_options(options, Mode.STREAM)
        except OptionError:
            raise error from None


_GROUP_PREFIXES = {Mode.BATCH: "spark-kafka-relation", Mode.STREAM: "spark-kafka-source"}


def _lower(options: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): text for name, text in options.items()}


def _read(options: Mapping[str, str], mode: Mode, warnings: list[str]) -> tuple[dict[str, Any], dict[str, str]]:
    """Values of all options in the table, and the `kafka.` ones."""
    values = {option.name: option.default for option in OPTIONS}
    kafka = {}
    for name, text in _lower(options).items():
        option = _BY_NAME.get(name)
        if option is not None:
            if mode in option.modes:
                values[option.name] = option.parse(option.name, text)
            elif mode in option.refused:
                raise OptionError(option.refused[mode])
            else:
                warnings.append(f"{option.name} option ignored in {mode.value}")
        elif name.startswith(PREFIX):
            kafka[name.removeprefix(PREFIX)] = text
        elif not (mode is Mode.WRITE and name in SPARKS_OWN):
            raise OptionError(f"Unknown option '{name}'{_nearest(name, mode)}. {_known(mode)}")
    return values, kafka


def _nearest(name: str, mode: Mode) -> str:
    """Suggest the nearest option; a client's config is often written without its prefix."""
    configs = PRODUCER if mode is Mode.WRITE else CONSUMER
    if name in configs:
        return f" (did you mean '{PREFIX}{name}'?)"
    return did_you_mean(name, [option.name for option in OPTIONS if mode in option.modes])


def _known(mode: Mode) -> str:
    known = ", ".join(sorted(option.name for option in OPTIONS if mode in option.modes))
    return f"Options of the kafkapy data source in {mode.value}: {known}, and kafka.* for configs of Kafka's clients."


def _strategy(options: Mapping[str, str]) -> Strategy:
    given = [name for name in STRATEGIES if name.lower() in options]
    keys = ", ".join(name.lower() for name in STRATEGIES)
    if not given:
        raise OptionError(
            f"One of the following options must be specified for Kafka source: {keys}. See the docs for more details."
        )
    if len(given) > 1:
        raise OptionError(
            f"Only one of the following options can be specified for Kafka source: {keys}. "
            "See the docs for more details."
        )
    text = options[given[0].lower()]
    if given[0] == "assign":
        if not text.strip().startswith("{"):
            raise OptionError(f"No topicpartitions to assign as specified value for option 'assign' is '{text}'")
        return Assign(parse_partitions(text))
    if given[0] == "subscribe":
        topics = tuple(dict.fromkeys(topic.strip() for topic in text.split(",") if topic.strip()))
        if not topics:
            raise OptionError(f"No topics to subscribe to as specified value for option 'subscribe' is '{text}'")
        return Subscribe(topics)
    if not text.strip():
        raise OptionError(f"Pattern to subscribe is empty as specified value for option 'subscribePattern' is '{text}'")
    try:
        return SubscribePattern(java(text.strip()))
    except ValueError as error:
        raise OptionError(f"Option 'subscribePattern' is '{text}', which cannot be used: {error}") from None


def _limits(values: Mapping[str, Any], mode: Mode) -> tuple[OffsetRangeLimit, OffsetRangeLimit]:
    latest_if_none = values["startingOffsetsByTimestampStrategy"] == "latest"
    default: OffsetRangeLimit = EarliestOffsets() if mode is Mode.BATCH else LatestOffsets()
    return _limit(values, "starting", default, latest_if_none), _limit(values, "ending", LatestOffsets(), True)


def _limit(values: Mapping[str, Any], which: str, default: OffsetRangeLimit, latest_if_none: bool) -> OffsetRangeLimit:
    """Return the limit: a global timestamp overrides timestamps by partition, and those override offsets."""
    timestamp, timestamps, offsets = (
        values[f"{which}{kind}"] for kind in ("Timestamp", "OffsetsByTimestamp", "Offsets")
    )
    if timestamp is not None:
        return GlobalTimestamp(timestamp, latest_if_none)
    if timestamps is not None:
        return SpecificTimestamps(parse_timestamps(timestamps), latest_if_none)
    if offsets is None:
        return default
    if offsets.lower() == "latest":
        return LatestOffsets()
    if offsets.lower() == "earliest":
        return EarliestOffsets()
    return SpecificOffsets(parse_offsets(offsets))
