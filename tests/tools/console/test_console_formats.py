"""How the console producer reads lines, and how the console consumer writes records."""

from __future__ import annotations

import logging
import struct

import pytest

from kafkapy.consumer import ConsumerRecord
from kafkapy.protocol.records.group_metadata import GroupMetadataKey, GroupMetadataValue
from kafkapy.protocol.records.offset_commit import OffsetCommitKey, OffsetCommitValue
from kafkapy.protocol.records.transaction_log import TransactionLogKey, TransactionLogValue
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.console.deserializers import SerializationError, deserializer
from kafkapy.tools.console.line_message_reader import LineMessageReader, LineRecord
from kafkapy.tools.console.message_formatters import DEFAULT, formatter

JAVA = "org.apache.kafka.common.serialization."
KEY, HEADERS = {"parse.key": "true"}, {"parse.headers": " TRUE "}


def read(properties: dict[str, str], *lines: str) -> list[LineRecord]:
    return list(LineMessageReader(properties).records(lines))


class TestLines:
    def test_a_line_is_a_value(self) -> None:
        assert read({}, "a\tb\n", "\n", "ü") == [
            LineRecord(b"a\tb"),
            LineRecord(b""),
            LineRecord("ü".encode()),
        ]

    def test_keys(self) -> None:
        assert read(KEY, "k\tv\tw", "\t") == [LineRecord(b"v\tw", b"k"), LineRecord(b"", b"")]
        assert read(KEY | {"key.separator": "::"}, "k::v") == [LineRecord(b"v", b"k")]

    def test_headers(self) -> None:
        assert read(HEADERS, "a:1,b:x:y\tv") == [LineRecord(b"v", None, [("a", b"1"), ("b", b"x:y")])]
        assert read(KEY | HEADERS, "a:1\tk\tv") == [LineRecord(b"v", b"k", [("a", b"1")])]
        own = {"headers.delimiter": "|", "headers.separator": "[;.]", "headers.key.separator": "="}
        assert read(HEADERS | own, "a=1;b=2.|v") == [LineRecord(b"v", None, [("a", b"1"), ("b", b"2")])]

    def test_null_marker(self) -> None:
        null = {"null.marker": "NUL"}
        assert read(null, "NUL", "NULL") == [LineRecord(None), LineRecord(b"NULL")]
        assert read(KEY | HEADERS | null, "NUL\tNUL\tNUL", "a:NUL\tk\tNUL") == [
            LineRecord(None, None),
            LineRecord(None, b"k", [("a", None)]),
        ]

    @pytest.mark.parametrize(
        ("properties", "line", "sentence"),
        [
            (KEY, "v", "No key separator found on line number 2: 'v'"),
            (HEADERS, "v", "No headers delimiter found on line number 2: 'v'"),
            (KEY | HEADERS, "a:1\tv", "No key separator found on line number 2: 'a:1\tv'"),
            (HEADERS, "a\tv", "No header key separator found in pair 'a' on line number 2"),
            (HEADERS, "\tv", "No header key separator found in pair '' on line number 2"),
            (
                HEADERS | {"null.marker": "N"},
                "N:1\tv",
                "Header keys should not be equal to the null marker 'N' as they can't be null",
            ),
        ],
    )
    def test_lines_that_cannot_be_read(self, properties: dict[str, str], line: str, sentence: str) -> None:
        with pytest.raises(ToolError) as raised:
            read(properties, "a:1\tk\tv", line)
        assert str(raised.value) == sentence

    def test_ignored_errors(self) -> None:
        ignore = {"ignore.error": "true"}
        assert read(KEY | ignore, "v") == [LineRecord(b"v")]
        assert read(HEADERS | ignore, "a,b:1\tv", "v") == [
            LineRecord(b"v", None, [("a", None), ("b", b"1")]),
            LineRecord(b"v"),
        ]


def record(
    key: bytes | None = b"k",
    value: bytes | None = b"v",
    headers: list[tuple[str, bytes | None]] | None = None,
    timestamp_type: int = 0,
) -> ConsumerRecord:
    return ConsumerRecord("t", 3, 0, 7, 1234, timestamp_type, key, value, headers or [], None, 1, 1, -1)


def shown(record: ConsumerRecord, name: str = DEFAULT, **properties: str) -> str:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    return formatter(name, given)(record).decode()


EVERYTHING = dict.fromkeys(["print_timestamp", "print_partition", "print_offset", "print_headers", "print_key"], "true")


class TestDefaultFormatter:
    def test_columns(self) -> None:
        assert shown(record()) == "v\n"
        assert shown(record(), print_key="true") == "k\tv\n"
        headers = [("a", b"1"), ("b", None)]
        assert (
            shown(record(headers=headers), **EVERYTHING) == "CreateTime:1234\tPartition:3\tOffset:7\ta:1,b:null\tk\tv\n"
        )
        assert shown(record(timestamp_type=1), print_timestamp="true") == "LogAppendTime:1234\tv\n"
        assert (
            shown(record(timestamp_type=-1), print_timestamp="true", print_headers="true")
            == "NO_TIMESTAMP\tNO_HEADERS\tv\n"
        )
        assert shown(record(), print_value="false") == ""
        assert shown(record(), print_value="false", print_offset="true") == "Offset:7\n"

    def test_separators_and_nulls(self) -> None:
        properties = {"key_separator": "|", "line_separator": ";", "headers_separator": "+", "null_literal": "-"}
        headers = [("a", None), ("b", b"")]
        assert shown(record(None, None, headers), print_key="true", print_headers="true", **properties) == "a:-+b:|-|-;"

    def test_deserializers(self) -> None:
        values = {"print_key": "true", "key_deserializer": JAVA + "LongDeserializer"}
        assert shown(record(key=struct.pack(">q", -5)), **values) == "-5\tv\n"
        with pytest.raises(SerializationError, match="Size of data received by LongDeserializer is not 8"):
            shown(record(), **values)
        latin = {
            "value.deserializer": JAVA + "StringDeserializer",
            "value.deserializer.deserializer.encoding": "latin-1",
        }
        assert formatter(DEFAULT, latin)(record(value=b"\xfc")) == "ü\n".encode()

    def test_bytes_without_deserializer_stay_as_they_are(self) -> None:
        assert formatter(DEFAULT, {})(record(value=b"\xff\x00")) == b"\xff\x00\n"


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("String", b"a\xff", "a\ufffd"),
        ("Integer", b"\xff\xff\xff\xfe", "-2"),
        ("Integer", b"null", "1853189228"),
        ("Short", b"\x00\x07", "7"),
        ("Double", struct.pack(">d", 1e10), "1.0E10"),
        ("Float", struct.pack(">f", 0.1), "0.1"),
        ("Float", struct.pack(">f", 16777216.0), "1.6777216E7"),
        ("Boolean", b"\x01", "true"),
        ("UUID", b"00000000-0000-0001-0000-000000000002", "00000000-0000-0001-0000-000000000002"),
        ("Bytes", b"a\\\x00", "a\\x5C\\x00"),
        ("ByteBuffer", b"abc", "java.nio.HeapByteBuffer[pos=0 lim=3 cap=3]"),
    ],
)
def test_deserializers_show_what_java_shows(name: str, content: bytes, text: str) -> None:
    assert deserializer(f"{JAVA}{name}Deserializer", {}, False)(content) == text


@pytest.mark.parametrize(
    ("name", "content"), [("Double", b"1"), ("Boolean", b"\x02"), ("Boolean", b""), ("UUID", b"x"), ("Void", b"")]
)
def test_what_deserializers_cannot_read(name: str, content: bytes) -> None:
    with pytest.raises(SerializationError):
        deserializer(f"{JAVA}{name}Deserializer", {}, False)(content)


@pytest.mark.parametrize(
    ("kind", "properties"),
    [
        ("formatter", {}),
        ("deserializer", {"value.deserializer": "a.B"}),
        (
            "encoding",
            {"value.deserializer": JAVA + "StringDeserializer", "value.deserializer.deserializer.encoding": "nope"},
        ),
    ],
)
def test_unknown_names_are_refused(kind: str, properties: dict[str, str]) -> None:
    with pytest.raises(ToolError, match=f"The {kind} .* not known"):
        formatter(DEFAULT if properties else "a.B", properties)


def test_deprecated_names_draw_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(record(), "kafka.tools.DefaultMessageFormatter") == "v\n"
    assert capsys.readouterr().err.startswith("WARNING: kafka.tools.DefaultMessageFormatter is deprecated")


def test_logging_and_no_op_formatters(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert shown(record(), "org.apache.kafka.tools.consumer.LoggingMessageFormatter") == "v\n"
    assert caplog.messages == ["CreateTime:1234, key:k, value:v"]
    assert shown(record(), "org.apache.kafka.tools.consumer.NoOpMessageFormatter") == ""


def versioned(version: int, message: bytes) -> bytes:
    return struct.pack(">h", version) + message


OFFSET = record(
    versioned(1, OffsetCommitKey(group="g", topic="t", partition=2).encode(1)),
    versioned(3, OffsetCommitValue(offset=5, leader_epoch=1, metadata="m", commit_timestamp=9).encode(3)),
)
GROUP = record(
    versioned(2, GroupMetadataKey(group="g").encode(2)),
    versioned(
        3,
        GroupMetadataValue(
            protocol_type="consumer", generation=2, protocol=None, leader=None, current_state_timestamp=8
        ).encode(3),
    ),
)
TRANSACTION = record(
    versioned(0, TransactionLogKey(transactional_id="x").encode(0)),
    versioned(
        0,
        TransactionLogValue(
            producer_id=1,
            producer_epoch=2,
            transaction_timeout_ms=3,
            transaction_status=1,
            transaction_partitions=[TransactionLogValue.PartitionsSchema(topic="t", partition_ids=[4])],
            transaction_last_update_timestamp_ms=5,
            transaction_start_timestamp_ms=6,
        ).encode(0),
    ),
)
TOOLS, GROUPS = "org.apache.kafka.tools.consumer.", "kafka.coordinator.group.GroupMetadataManager$"
TRANSACTIONS = "kafka.coordinator.transaction.TransactionLog$"


@pytest.mark.parametrize(
    ("name", "of", "text"),
    [
        (
            TOOLS + "OffsetsMessageFormatter",
            OFFSET,
            '{"key":{"version":1,"data":{"group":"g","topic":"t","partition":2}},"value":{"version":3,"data":'
            '{"offset":5,"leaderEpoch":1,"metadata":"m","commitTimestamp":9}}}',
        ),
        (TOOLS + "OffsetsMessageFormatter", GROUP, ""),
        (
            TOOLS + "OffsetsMessageFormatter",
            OFFSET._replace(value=None),
            '{"key":{"version":1,"data":{"group":"g","topic":"t","partition":2}},"value":null}',
        ),
        (
            TOOLS + "OffsetsMessageFormatter",
            record(versioned(9, b""), versioned(99, b"")),
            '{"key":{"version":9,"data":"unknown"},"value":{"version":99,"data":"unknown"}}',
        ),
        (
            TOOLS + "GroupMetadataMessageFormatter",
            GROUP,
            '{"key":{"version":2,"data":{"group":"g"}},"value":{"version":3,"data":{"protocolType":"consumer",'
            '"generation":2,"protocol":null,"leader":null,"currentStateTimestamp":8,"members":[]}}}',
        ),
        (TOOLS + "GroupMetadataMessageFormatter", OFFSET, ""),
        (
            TOOLS + "TransactionLogMessageFormatter",
            TRANSACTION,
            '{"key":{"version":0,"data":{"transactionalId":"x"}},"value":{"version":0,"data":{"producerId":1,'
            '"producerEpoch":2,"transactionTimeoutMs":3,"transactionStatus":1,"transactionPartitions":[{"topic":"t",'
            '"partitionIds":[4]}],"transactionLastUpdateTimestampMs":5,"transactionStartTimestampMs":6}}}',
        ),
        (
            GROUPS + "OffsetsMessageFormatter",
            OFFSET,
            "[g,t,2]::OffsetAndMetadata(offset=5, leaderEpoch=Optional[1], metadata=m, commitTimestamp=9, "
            "expireTimestamp=None)\n",
        ),
        (
            GROUPS + "GroupMetadataMessageFormatter",
            GROUP,
            "g::GroupMetadata(groupId=g, generation=2, protocolType=Some(consumer), currentState=Empty, "
            "members=HashMap())\n",
        ),
        (GROUPS + "GroupMetadataMessageFormatter", GROUP._replace(value=None), "g::NULL\n"),
        (
            TRANSACTIONS + "TransactionLogMessageFormatter",
            TRANSACTION,
            "x::TransactionMetadata(transactionalId=x, producerId=1, producerEpoch=2, txnTimeoutMs=3, state=Ongoing, "
            "pendingState=None, topicPartitions=HashSet(t-4), txnStartTimestamp=6, txnLastUpdateTimestamp=5)\n",
        ),
    ],
)
def test_records_of_internal_topics(name: str, of: ConsumerRecord, text: str) -> None:
    assert shown(of, name) == text
