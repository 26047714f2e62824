"""The table of options: defaults, refusals, what is only warned of."""

from __future__ import annotations

from functools import partial

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.spark.errors import OptionError
from kafkapy.spark.kafka_params import SECURITY
from kafkapy.spark.offset_limits import (
    EarliestOffsets,
    GlobalTimestamp,
    LatestOffsets,
    SpecificOffsets,
    SpecificTimestamps,
)
from kafkapy.spark.options import (
    Assign,
    Mode,
    SourceOptions,
    Subscribe,
    SubscribePattern,
    check_read,
    sink_options,
    source_options,
)

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
BASE = {**SERVERS, "subscribe": "events"}
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


def batch(**options: str) -> SourceOptions:
    return source_options({**BASE, **options}, Mode.BATCH)


def stream(**options: str) -> SourceOptions:
    return source_options({**BASE, **options}, Mode.STREAM)


def refusal(options: dict[str, str], mode: Mode = Mode.BATCH) -> str:
    with pytest.raises(OptionError) as raised:
        sink_options(options) if mode is Mode.WRITE else source_options(options, mode)
    return str(raised.value)


def test_defaults() -> None:
    options = batch()
    assert options.strategy == Subscribe(("events",))
    assert (options.start, options.end) == (EarliestOffsets(), LatestOffsets())
    assert stream().start == LatestOffsets()
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert (options.min_partitions, options.max_records_per_partition) == (None, None)
    assert (options.max_offsets_per_trigger, options.min_offsets_per_trigger) == (None, None)
    assert options.max_trigger_delay_ms == 15 * 60 * 1000
    assert (options.group_id_prefix, stream().group_id_prefix) == ("spark-kafka-relation", "spark-kafka-source")
    assert options.poll_timeout_ms == 120_000
    assert (options.fetch_offset_attempts, options.fetch_offset_retry_interval_ms) == (3, 1000)
    assert options.warnings == ()


def test_names_ignore_case() -> None:
    options = source_options(
        {"KAFKA.Bootstrap.Servers": "a:1", "SUBSCRIBE": "x", "FAILONDATALOSS": "False", "MinPartitions": "7"},
        Mode.BATCH,
    )
    assert options.kafka["bootstrap.servers"] == "a:1"
    assert not options.fail_on_data_loss
    assert options.min_partitions == 7


def test_strategies() -> None:
    assert source_options({**SERVERS, "subscribe": " a, b ,,a"}, Mode.BATCH).strategy == Subscribe(("a", "b"))
    matched = source_options({**SERVERS, "subscribePattern": r" \p{Lower}v.* "}, Mode.BATCH).strategy
    assert isinstance(matched, SubscribePattern)
    assert [name for name in ("my-events", "even", "EV") if matched.pattern.search(name)] == ["my-events", "even"]
    assigned = source_options({**SERVERS, "assign": '{"t":[0,1]}'}, Mode.BATCH).strategy
    assert assigned == Assign(frozenset({P0, P1}))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (SERVERS, "One of the following options must be specified for Kafka source"),
        ({**BASE, "assign": '{"t":[0]}'}, "Only one of the following options can be specified for Kafka source"),
        (
            {**SERVERS, "subscribe": " , "},
            "No topics to subscribe to as specified value for option 'subscribe' is ' , '",
        ),
        ({**SERVERS, "subscribePattern": " "}, "Pattern to subscribe is empty"),
        ({**SERVERS, "subscribePattern": "("}, "cannot be used: a closing parenthesis is missing"),
        ({**SERVERS, "assign": "t"}, "No topicpartitions to assign as specified value for option 'assign' is 't'"),
        ({**SERVERS, "assign": '{"t":{"0":1}}'}, 'Expected e.g. {"topicA":[0,1],"topicB":[0,1]}, got'),
        ({"subscribe": "x"}, "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka consumer"),
        ({**BASE, "minPartitions": "0"}, "minPartitions must be positive"),
        ({**BASE, "maxRecordsPerPartition": "-1"}, "maxRecordsPerPartition must be positive"),
        ({**BASE, "minPartitions": "many"}, 'For input string: "many"'),
        ({**BASE, "failOnDataLoss": "maybe"}, 'For input string: "maybe"'),
        ({**BASE, "startingOffsets": "latest"}, "starting offset can't be latest for batch queries on Kafka"),
        ({**BASE, "endingOffsets": "Earliest"}, "ending offset can't be earliest for batch queries on Kafka"),
        ({**BASE, "startingOffsets": '{"t":{"0":-1}}'}, "startingOffsets for t-0 can't be latest"),
        ({**BASE, "endingOffsets": '{"t":{"0":-2}}'}, "ending offset for t-0 can't be earliest"),
        ({**BASE, "startingOffsets": "soon"}, 'Expected e.g. {"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}, got soon'),
        ({**BASE, "startingTimestamp": "now"}, "Expected a single long value, got now"),
        ({**BASE, "startingOffsetsByTimestamp": "[]"}, 'Expected e.g. {"topicA": {"0": 123456789'),
        ({**BASE, "startingOffsetsByTimestampStrategy": "none"}, "No value found for 'NONE'"),
        (
            {**BASE, "startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"0":4}}'},
            "The specified start offset 5 is greater than the end offset 4 for topic t partition 0.",
        ),
        (
            {**BASE, "startingOffsets": '{"t":{"0":5}}', "endingOffsets": '{"t":{"1":6}}'},
            "The specified start offset and end offset should have the same topic-partitions.",
        ),
        (
            {**BASE, "startingOffsetsByTimestamp": '{"t":{"0":5}}', "endingOffsetsByTimestamp": '{"t":{"0":4}}'},
            "The specified start timestamp 5 is greater than the end timestamp 4",
        ),
        ({**BASE, "kafka.auto.offset.reset": "latest"}, "Kafka option 'auto.offset.reset' is not supported."),
        ({**BASE, "kafka.key.deserializer": "X"}, "Kafka option 'key.deserializer' is not supported as keys are"),
        ({**BASE, "kafka.value.deserializer": "X"}, "Kafka option 'value.deserializer' is not supported as values"),
        ({**BASE, "kafka.enable.auto.commit": "true"}, "Kafka option 'enable.auto.commit' is not supported"),
        ({**BASE, "kafka.interceptor.classes": "X"}, "Kafka option 'interceptor.classes' is not supported"),
        ({**BASE, "kafka.isolation.level": "some"}, "Invalid value some for configuration isolation.level"),
        ({**BASE, "kafka.security.protocol": "TLS"}, "Invalid value TLS for configuration security.protocol"),
        ({**BASE, "kafka.fetch.max.wait.ms": "soon"}, "Invalid value soon for configuration fetch.max.wait.ms"),
    ],
)
def test_refusals(options: dict[str, str], sentence: str) -> None:
    assert sentence in refusal(options)


@pytest.mark.parametrize("mode", list(Mode))
def test_an_unknown_option_is_named(mode: Mode) -> None:
    base = SERVERS if mode is Mode.WRITE else BASE
    assert "Unknown option 'startingofset'" in refusal({**base, "startingOfset": "earliest"}, mode)
    assert "Unknown option 'kafka.fetch.bytes'" in refusal({**base, "kafka.fetch.bytes": "1"}, mode)


@pytest.mark.parametrize(
    ("mode", "name", "nearest"),
    [
        (Mode.BATCH, "startingOfset", "startingOffsets"),
        (Mode.STREAM, "bootstrap.servers", "kafka.bootstrap.servers"),
        (Mode.WRITE, "acks", "kafka.acks"),
        (Mode.WRITE, "sink_name", "sinkName"),
        (Mode.BATCH, "kafka.fetch.max.byte", "kafka.fetch.max.bytes"),
    ],
)
def test_the_nearest_option_is_named(mode: Mode, name: str, nearest: str) -> None:
    base = SERVERS if mode is Mode.WRITE else BASE
    assert f"(did you mean '{nearest}'?)" in refusal({**base, name: "1"}, mode)


def test_limits_by_preference() -> None:
    offsets = {"startingOffsets": '{"t":{"0":3,"1":-2}}', "endingOffsets": '{"t":{"0":7,"1":-1}}'}
    options = batch(**offsets)
    assert options.start == SpecificOffsets({P0: 3, P1: -2})
    assert options.end == SpecificOffsets({P0: 7, P1: -1})
    timestamps = {"startingOffsetsByTimestamp": '{"t":{"0":30}}', "endingOffsetsByTimestamp": '{"t":{"0":70}}'}
    options = batch(**offsets, **timestamps)
    assert options.start == SpecificTimestamps({P0: 30}, latest_if_none=False)
    assert options.end == SpecificTimestamps({P0: 70}, latest_if_none=True)
    options = batch(
        **offsets,
        **timestamps,
        startingTimestamp=" 300 ",
        endingTimestamp="700",
        startingOffsetsByTimestampStrategy="Latest",
    )
    assert options.start == GlobalTimestamp(300, latest_if_none=True)
    assert options.end == GlobalTimestamp(700, latest_if_none=True)


def test_a_stream_has_no_end() -> None:
    assert refusal({**BASE, "endingOffsets": "latest"}, Mode.STREAM) == "ending offset not valid in streaming queries"
    for option in ("endingOffsetsByTimestamp", "endingTimestamp"):
        assert refusal({**BASE, option: "1"}, Mode.STREAM) == "ending timestamp not valid in streaming queries"


def test_triggers() -> None:
    options = stream(minOffsetsPerTrigger="10", maxOffsetsPerTrigger="100", maxTriggerDelay="5m")
    assert (options.min_offsets_per_trigger, options.max_offsets_per_trigger) == (10, 100)
    assert options.max_trigger_delay_ms == 300_000
    assert stream(maxTriggerDelay="90").max_trigger_delay_ms == 90
    assert "Failed to parse time string: soon" in refusal({**BASE, "maxTriggerDelay": "soon"}, Mode.STREAM)
    both = {**BASE, "minOffsetsPerTrigger": "101", "maxOffsetsPerTrigger": "100"}
    assert refusal(both, Mode.STREAM) == (
        "The value of minOffsetPerTrigger(101) is higher than the maxOffsetsPerTrigger(100)."
    )


def test_what_a_batch_ignores_it_warns_of() -> None:
    options = batch(minOffsetsPerTrigger="10", maxOffsetsPerTrigger="1", maxTriggerDelay="1m", commitOffsetsToGroup="g")
    assert set(options.warnings) == {
        "minOffsetsPerTrigger option ignored in batch queries",
        "maxOffsetsPerTrigger option ignored in batch queries",
        "maxTriggerDelay option ignored in batch queries",
        "commitOffsetsToGroup option ignored in batch queries",
    }


def test_a_group_id_draws_a_warning() -> None:
    options = source_options({**BASE, "kafka.group.id": "mine", "groupIdPrefix": "p"}, Mode.STREAM)
    assert "it is not recommended to set this option" in options.warnings[0]
    assert "groupIdPrefix will be ignored" in options.warnings[1]


JAAS = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="alice" password="secret";'
SECURED = {
    "kafka.security.protocol": "sasl_ssl",
    "kafka.sasl.mechanism": "SCRAM-SHA-256",
    "kafka.sasl.jaas.config": JAAS,
    "kafka.ssl.truststore.type": "PEM",
    "kafka.ssl.truststore.location": "/ca.pem",
}


@pytest.mark.parametrize("mode", list(Mode))
def test_security_goes_to_the_clients(mode: Mode) -> None:
    base = {**SERVERS, "topic": "t"} if mode is Mode.WRITE else BASE
    make = sink_options if mode is Mode.WRITE else partial(source_options, mode=mode)
    assert make({**base, "kafka.security.protocol": "plaintext"}).kafka[SECURITY] == {"security_protocol": "PLAINTEXT"}
    options = make({**base, **SECURED})
    assert options.warnings == ()
    assert options.kafka[SECURITY] == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-256",
        "sasl_plain_username": "alice",
        "sasl_plain_password": "secret",
        "ssl_cafile": "/ca.pem",
    }


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("sasl.mechanism", "NTLM", "sasl.mechanism=NTLM is not supported"),
        ("ssl.truststore.type", "JKS", "Failed to load SSL keystore /ca.pem of type JKS"),
        ("sasl.jaas.config", "x", "sasl.jaas.config must read like"),
        ("security.providers", "x", "it names Java classes"),
    ],
)
def test_security_that_cannot_be_had_is_refused(mode: Mode, name: str, text: str, sentence: str) -> None:
    base = {**SERVERS, "topic": "t"} if mode is Mode.WRITE else BASE
    assert sentence in refusal({**base, **SECURED, f"kafka.{name}": text}, mode)


def test_configs_without_effect_draw_a_warning() -> None:
    options = source_options({**BASE, "kafka.session.timeout.ms": "1", "kafka.acks": "all"}, Mode.BATCH)
    assert len(options.warnings) == 2


def test_before_the_mode_is_known_only_what_is_always_wrong_is_refused() -> None:
    check_read({**BASE, "startingOffsets": "latest"})
    check_read({**BASE, "endingOffsets": "latest"})
    with pytest.raises(OptionError, match="minPartitions must be positive"):
        check_read({**BASE, "minPartitions": "0"})


def test_writes() -> None:
    options = sink_options({**SERVERS, "topic": " out ", "kafka.acks": "1", "checkpointLocation": "/x"})
    assert options.topic == "out"
    assert options.kafka["acks"] == 1
    assert sink_options({**SERVERS, "subscribe": "x"}).warnings == ("subscribe option ignored in writes",)


@pytest.mark.parametrize("name", ["key.serializer", "value.serializer", "interceptor.classes", "transactional.id"])
def test_refused_configs_of_a_producer(name: str) -> None:
    assert f"Kafka option '{name}' is not supported" in refusal({**SERVERS, f"kafka.{name}": "x"}, Mode.WRITE)


def test_a_sink_needs_bootstrap_servers() -> None:
    assert refusal({"topic": "x"}, Mode.WRITE) == (
        "Option 'kafka.bootstrap.servers' must be specified for configuring Kafka producer"
    )
