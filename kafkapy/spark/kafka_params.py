"""Options named `kafka.…`: configs of Kafka's clients, by their Java names.

There are three kinds: those with an effect, those that Spark's source refuses, too, and Kafka's configs without effect
in this connector (no group, no JMX), which cause a warning. Any other name is an error. TLS and SASL are converted as
for all clients (`clients/java_properties.py`); unsupported settings are errors.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafkapy.clients import java_properties
from kafkapy.errors import KafkaConfigurationError
from kafkapy.spark.errors import OptionError, did_you_mean

PREFIX = "kafka."


class Param(NamedTuple):
    """A config: its parser, and its default."""

    parse: Callable[[str, str], Any]
    default: Any = None


def _text(name: str, text: str) -> str:
    return text


def _integer(minimum: int) -> Callable[[str, str], int]:
    def parse(name: str, text: str) -> int:
        try:
            value = int(text.strip())
        except ValueError:
            raise OptionError(f"Invalid value {text} for configuration {name}: Not a number of type INT") from None
        if value < minimum:
            raise OptionError(f"Invalid value {text} for configuration {name}: Value must be at least {minimum}")
        return value

    return parse


def _boolean(name: str, text: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false"):
        raise OptionError(f"Invalid value {text} for configuration {name}: Expected value to be either true or false")
    return value == "true"


def _one_of(*allowed: str) -> Callable[[str, str], str]:
    def parse(name: str, text: str) -> str:
        value = text.strip().lower()
        if value not in allowed:
            raise OptionError(
                f"Invalid value {text} for configuration {name}: String must be one of: {', '.join(allowed)}"
            )
        return value

    return parse


def _acks(name: str, text: str) -> int | str:
    value = text.strip().lower()
    if value not in ("all", "-1", "0", "1"):
        raise OptionError(f"Invalid value {text} for configuration {name}: String must be one of: all, -1, 0, 1")
    return "all" if value in ("all", "-1") else int(value)


COMMON = {
    "bootstrap.servers": Param(_text),
    "client.id": Param(_text),
    "request.timeout.ms": Param(_integer(0), 30_000),
    "retry.backoff.ms": Param(_integer(0), 100),
    "retry.backoff.max.ms": Param(_integer(0), 1_000),
    "socket.connection.setup.timeout.ms": Param(_integer(1), 10_000),
}

CONSUMER = COMMON | {
    "group.id": Param(_text),
    "isolation.level": Param(_one_of("read_uncommitted", "read_committed"), "read_uncommitted"),
    "default.api.timeout.ms": Param(_integer(0), 60_000),
    "fetch.min.bytes": Param(_integer(0), 1),
    "fetch.max.wait.ms": Param(_integer(0), 500),
    "fetch.max.bytes": Param(_integer(1), 50 << 20),
    "max.partition.fetch.bytes": Param(_integer(1), 1 << 20),
    "check.crcs": Param(_boolean, True),
}

PRODUCER = COMMON | {
    "acks": Param(_acks),
    "batch.size": Param(_integer(0)),
    "buffer.memory": Param(_integer(0)),
    "compression.type": Param(_one_of("none", "gzip", "snappy", "lz4", "zstd")),
    "delivery.timeout.ms": Param(_integer(0)),
    "enable.idempotence": Param(_boolean),
    "linger.ms": Param(_integer(0)),
    "max.block.ms": Param(_integer(0)),
    "max.in.flight.requests.per.connection": Param(_integer(1)),
    "max.request.size": Param(_integer(0)),
    "metadata.max.idle.ms": Param(_integer(5_000)),
    "retries": Param(_integer(0)),
    "transaction.timeout.ms": Param(_integer(1)),
}

_WITHOUT_EFFECT = """
    allow.auto.create.topics auto.commit.interval.ms auto.include.jmx.reporter client.dns.lookup client.rack
    compression.gzip.level compression.lz4.level compression.zstd.level config.providers connections.max.idle.ms
    enable.metrics.push exclude.internal.topics group.instance.id group.protocol group.remote.assignor
    heartbeat.interval.ms max.poll.interval.ms max.poll.records metadata.max.age.ms
    metadata.recovery.strategy metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms
    partition.assignment.strategy partitioner.adaptive.partitioning.enable partitioner.availability.timeout.ms
    partitioner.class partitioner.ignore.keys receive.buffer.bytes reconnect.backoff.max.ms reconnect.backoff.ms
    send.buffer.bytes session.timeout.ms socket.connection.setup.timeout.max.ms
"""
WITHOUT_EFFECT = frozenset(_WITHOUT_EFFECT.split())
SECURITY = "security"
"""Key of the params for TLS and SASL, as arguments of this package's clients."""
_SECURITY_CONFIGS = {
    name: known
    for name, known in java_properties.COMMON.items()
    if name == "security.protocol" or name.startswith(("ssl.", "sasl."))
}

_REFUSED_BY_SOURCE = {
    "auto.offset.reset": (
        "Kafka option 'auto.offset.reset' is not supported.\n"
        "Instead set the source option 'startingoffsets' to 'earliest' or 'latest'\n"
        "to specify where to start. Structured Streaming manages which offsets are consumed\n"
        "internally, rather than relying on the kafkaConsumer to do it. This will ensure that no\n"
        "data is missed when new topics/partitions are dynamically subscribed. Note that\n"
        "'startingoffsets' only applies when a new Streaming query is started, and\n"
        "that resuming will always pick up from where the query left off. See the docs for more\n"
        "details."
    ),
    "key.deserializer": (
        "Kafka option 'key.deserializer' is not supported as keys are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the keys."
    ),
    "value.deserializer": (
        "Kafka option 'value.deserializer' is not supported as values are deserialized as byte arrays with "
        "ByteArrayDeserializer. Use DataFrame operations to explicitly deserialize the values."
    ),
    "enable.auto.commit": "Kafka option 'enable.auto.commit' is not supported",
    "interceptor.classes": "Kafka option 'interceptor.classes' is not supported",
}

_REFUSED_BY_SINK = {
    "key.serializer": (
        "Kafka option 'key.serializer' is not supported as keys are serialized with ByteArraySerializer."
    ),
    "value.serializer": (
        "Kafka option 'value.serializer' is not supported as value are serialized with ByteArraySerializer."
    ),
    "interceptor.classes": "Kafka option 'interceptor.classes' is not supported",
    "transactional.id": (
        "Kafka option 'transactional.id' is not supported: with the option delivery=exactly-once the sink makes "
        "transactional ids itself, one for each task."
    ),
}

KafkaParams = dict[str, Any]
"""Config name -> value, with defaults; None: the client's default. `SECURITY` -> a dict."""

GROUP_ID_WARNING = (
    "Kafka option 'kafka.group.id' has been set on this query, it is not recommended to set this option. This option "
    "is unsafe to use since multiple concurrent queries or sources using the same group id will interfere with each "
    "other as they are part of the same consumer group. Restarted queries may also suffer interference from the "
    "previous run having the same group id. The user should have only one query per group id, and/or set the option "
    "'kafka.session.timeout.ms' to be very small so that the Kafka consumers from the previous query are marked dead "
    "by the Kafka group coordinator before the restarted query starts running."
)


def consumer_params(options: Mapping[str, str], warnings: list[str]) -> KafkaParams:
    """Return the params of a reader; `options`: config names without `kafka.`. Raises `OptionError`; adds to
    `warnings`."""
    return _params(options, CONSUMER, PRODUCER, _REFUSED_BY_SOURCE, "consumer", warnings)


def producer_params(options: Mapping[str, str], warnings: list[str]) -> KafkaParams:
    return _params(options, PRODUCER, CONSUMER, _REFUSED_BY_SINK, "producer", warnings)


def producer_configs(params: KafkaParams) -> dict[str, Any]:
    """Convert Kafka's configs to arguments of `KafkaProducer`; missing ones have its defaults."""
    given = {name: value for name, value in params.items() if value is not None and name != SECURITY}
    configs: dict[str, Any] = {name.replace(".", "_"): value for name, value in given.items()} | params[SECURITY]
    if configs.get("acks") in (0, 1):
        configs.setdefault("enable_idempotence", False)  # conflicting configs disable idempotence (KIP-679)
    return configs


def with_group(params: KafkaParams, prefix: str) -> KafkaParams:
    """Add a group name for logs and quotas: no reader joins the group, but its client id contains the name."""
    group = params["group.id"] or f"{prefix}-{uuid.uuid4()}-executor"
    return {**params, "group.id": group, "client.id": params["client.id"] or f"consumer-{group}"}


def _params(
    options: Mapping[str, str],
    acting: Mapping[str, Param],
    of_the_other_side: Mapping[str, Param],
    refused: Mapping[str, str],
    kind: str,
    warnings: list[str],
) -> KafkaParams:
    for name in refused:
        if name in options:
            raise OptionError(refused[name])
    if "bootstrap.servers" not in options:
        raise OptionError(f"Option 'kafka.bootstrap.servers' must be specified for configuring Kafka {kind}")
    params: KafkaParams = {name: param.default for name, param in acting.items()}
    params[SECURITY] = _security({name: text for name, text in options.items() if name in _SECURITY_CONFIGS}, warnings)
    for name, text in options.items():
        if name in acting:
            params[name] = acting[name].parse(name, text)
        elif name in _SECURITY_CONFIGS:
            continue
        elif name == "security.providers":
            raise OptionError("Kafka option 'kafka.security.providers' is not supported: it names Java classes")
        elif name in WITHOUT_EFFECT or name in of_the_other_side:
            warnings.append(f"Kafka option 'kafka.{name}' has no effect on this {kind}")
        else:
            hint = did_you_mean(PREFIX + name, [PREFIX + known for known in acting])
            raise OptionError(f"Unknown option 'kafka.{name}': Kafka's {kind} has no config of this name{hint}")
    return params


def _security(options: Mapping[str, str], warnings: list[str]) -> dict[str, Any]:
    try:
        arguments, told = java_properties.arguments_of(_SECURITY_CONFIGS, options)
    except KafkaConfigurationError as error:
        raise OptionError(f"Kafka options of TLS and SASL: {error.message}") from None
    warnings += told
    return arguments
