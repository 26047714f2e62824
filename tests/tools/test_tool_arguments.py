"""How the tools read what is given to them, and what they refuse before they ask a broker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import pbkdf2_hmac
from pathlib import Path

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.tools import cluster
from kafkapy.tools.common.admin_access import IncludeList
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.configs import configs
from kafkapy.tools.configs.alter import parse_configs, parse_credential
from kafkapy.tools.console import console_consumer
from kafkapy.tools.consumer_groups import consumer_groups
from kafkapy.tools.consumer_groups import options as consumer_groups_common
from kafkapy.tools.consumer_groups.describe import format_assignment
from kafkapy.tools.consumer_groups.reset import format_csv, parse_csv, parse_datetime, parse_duration
from kafkapy.tools.partitions import delete_records, get_offsets
from kafkapy.tools.topics import topics
from tests.tools.programs import main_of

DATA = Path(__file__).parent / "data"
B = ["--bootstrap-server", "127.0.0.1:1"]


def refusals() -> Iterator[tuple[str, str, str]]:
    """Tool, arguments and sentence."""
    lines = [line for line in (DATA / "refusals.txt").read_text().splitlines() if line and not line.startswith("#")]
    for command, sentence in zip(lines[::2], lines[1::2], strict=True):
        tool, _, arguments = command.removeprefix("kafka-").partition(" ")
        yield tool.replace("-", "_"), arguments, sentence.strip()


@pytest.mark.parametrize(("tool", "arguments", "sentence"), list(refusals()))
def test_refused_before_any_broker_is_asked(
    tool: str, arguments: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word for part in arguments.split() for word in (B if part == "B" else [part])]
    assert main_of(tool)(words) == 1
    assert capsys.readouterr().err == sentence + "\n"


def test_a_command_has_a_help_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.main(["unregister", "--help"]) == 0
    assert "usage: kafka-cluster unregister" in capsys.readouterr().out
    assert cluster.main(["foo"]) == 1
    assert "invalid choice: 'foo'" in capsys.readouterr().err


class TestTopics:
    def test_configs(self) -> None:
        assert topics.parse_topic_configs(["a=b", " c = d "]) == {"a": "b", "c": "d"}

    @pytest.mark.parametrize("text", ["a", "a=", "a=b=c"])
    def test_wrong_configs(self, text: str) -> None:
        with pytest.raises(ToolError):
            topics.parse_topic_configs([text])

    def test_replica_assignment(self) -> None:
        assert topics.parse_replica_assignment("1:2, 2 :1") == {0: [1, 2], 1: [2, 1]}
        assert topics.parse_replica_assignment(None) == topics.parse_replica_assignment("") == {}

    @pytest.mark.parametrize(
        ("pattern", "topic", "allowed"),
        [
            ("t", "t", True),
            ("t", "tt", False),
            ("t.*", "tt", True),
            ("a,b", "b", True),
            ("'a , b'", "b", True),
            ("test\\.topic", "test-topic", False),
            (".*", "__consumer_offsets", True),
            (r"\p{Alpha}++-\d", "orders-1", True),
            (r"\p{Alpha}++-\d", "orders1-1", False),
            ("[a-z&&[^b]]", "b", False),
            (r"\Qa.b\E|(?<name>c)\k<name>", "cc", True),
            ("(?P<name>c)", "c", None),
        ],
    )
    def test_patterns(self, pattern: str, topic: str, allowed: bool | None) -> None:
        if allowed is None:
            with pytest.raises(ToolError, match="is an invalid regex"):
                IncludeList(pattern)
        else:
            assert IncludeList(pattern).allows(topic) is allowed

    def test_patterns_without_internal_topics(self) -> None:
        assert not IncludeList(".*").allows("__consumer_offsets", exclude_internal=True)


class TestConfigs:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("a=b", {"a": "b"}),
            ("a=b,c=d", {"a": "b", "c": "d"}),
            ("a=[b,c],d=e", {"a": "b,c", "d": "e"}),
            ("a=", {"a": ""}),
            (" a = b , c=[d=e,f] ", {"a": "b", "c": "d=e,f"}),
            ("a=b,", {"a": "b"}),
        ],
    )
    def test_configs_to_add(self, text: str, expected: dict[str, str]) -> None:
        assert parse_configs(text) == expected

    def test_names_go_with_types_in_their_order(self) -> None:
        options = configs.PARSER.parse(
            ["--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name", "c"]
        )
        assert configs.entity_types(options) == ["users", "clients"]
        assert configs.entity_names(options) == ["", "c"]
        options = configs.PARSER.parse(["--user-defaults", "--client", "c"])
        assert configs.entity_types(options) == ["clients", "users"]
        assert configs.entity_names(options) == ["c", ""]

    def test_credentials(self) -> None:
        credential = parse_credential("u", "SCRAM-SHA-256", "iterations=8192,password=a=b,c")
        assert credential.iterations == 8192
        assert credential.salted_password == pbkdf2_hmac("sha256", b"a=b,c", credential.salt, 8192)
        assert parse_credential("u", "SCRAM-SHA-256", "password=p").iterations == 4096
        assert parse_credential("u", "SCRAM-SHA-256", "iterations=-1,password=p").iterations == 4096

    @pytest.mark.parametrize("text", ["iterations=1,password=p", "p", "iterations=5000"])
    def test_wrong_credentials(self, text: str) -> None:
        with pytest.raises(ToolError) as caught:
            parse_credential("u", "SCRAM-SHA-256", text)
        assert "password=p" not in str(caught.value)

    def test_a_file_of_configs(self, tmp_path: Path) -> None:
        from kafkapy.tools.configs.alter import configs_to_add

        (tmp_path / "f").write_text("# comment\na=b\nc : d\n")
        assert configs_to_add(configs.PARSER.parse(["--add-config-file", str(tmp_path / "f")])) == {"a": "b", "c": "d"}


class TestConsumerGroups:
    def test_topic_with_partitions(self) -> None:
        parse = consumer_groups_common.parse_topic_with_partitions
        assert parse("t:0,2") == [TopicPartition("t", 0), TopicPartition("t", 2)]
        with pytest.raises(ToolError, match="Invalid partition 'x' specified in topic arg 't:x'"):
            parse("t:x")
        with pytest.raises(ToolError, match="Invalid topic arg 't:', expected topic name and partitions"):
            parse("t:")

    def test_names_in_any_case(self) -> None:
        assert consumer_groups.parse_names("state", "stable, EMPTY", consumer_groups.STATES) == ["Stable", "Empty"]
        assert consumer_groups.parse_names("state", None, consumer_groups.STATES) == []

    @pytest.mark.parametrize(
        ("text", "moment"),
        [
            ("2020-01-01T00:00:00.000", datetime(2020, 1, 1, tzinfo=UTC)),
            ("2020-01-01T00:00:00.250", datetime(2020, 1, 1, microsecond=250_000, tzinfo=UTC)),
            ("2020-01-01T00:00:00.000Z", datetime(2020, 1, 1, tzinfo=UTC)),
            ("2020-01-01T00:00:00.000+01", datetime(2019, 12, 31, 23, tzinfo=UTC)),
            ("2020-01-01T00:00:00.000-05:30", datetime(2020, 1, 1, 5, 30, tzinfo=UTC)),
            ("1960-01-01T00:00:00.001", datetime(1960, 1, 1, microsecond=1_000, tzinfo=UTC)),
        ],
    )
    def test_datetime(self, text: str, moment: datetime) -> None:
        assert parse_datetime(text) == round(moment.timestamp() * 1000)

    @pytest.mark.parametrize(
        "text", ["2020-01-01", "2020-01-01T00:00:00", "2020-13-01T00:00:00.000", "xTy", "2020-01-01T00:00:00.000Q"]
    )
    def test_wrong_datetime(self, text: str) -> None:
        with pytest.raises(ToolError, match=r"Unparseable date|does not contain a 'T'"):
            parse_datetime(text)

    @pytest.mark.parametrize(
        ("text", "ms"),
        [
            ("P1D", 86_400_000),
            ("PT2H30M", 9_000_000),
            ("P1DT1S", 86_401_000),
            ("PT1.5S", 1_500),
            ("-PT1M", -60_000),
            ("PT-1M", -60_000),
            ("pt1m", 60_000),
        ],
    )
    def test_duration(self, text: str, ms: int) -> None:
        assert parse_duration(text) == ms

    @pytest.mark.parametrize("text", ["P", "PT", "P1DT", "1D", "P1W", "PT1X", ""])
    def test_wrong_duration(self, text: str) -> None:
        with pytest.raises(ToolError, match="Text cannot be parsed to a Duration"):
            parse_duration(text)

    def test_a_plan_that_was_exported_can_be_read(self) -> None:
        plans = {"g": {TopicPartition("t", 0): 5, TopicPartition("u,v", 1): 7}}
        assert format_csv(plans, with_group=False) == 't,0,5\n"u,v",1,7\n'
        assert parse_csv(format_csv(plans, with_group=False), "g") == plans
        assert parse_csv(format_csv(plans, with_group=True), None) == plans
        assert parse_csv("t,0,5\n\n", "g") == {"g": {TopicPartition("t", 0): 5}}

    @pytest.mark.parametrize("line", ["t,0", "t,x,5", "t,0,y", "a,b,c,d,e"])
    def test_a_plan_that_cannot_be_read(self, line: str) -> None:
        with pytest.raises(ToolError, match="Line 2 of the reset plan"):
            parse_csv(f"t,0,1\n{line}\n", "g")

    def test_assignment(self) -> None:
        partitions = [TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("a", 1)]
        assert format_assignment(partitions) == "(0), (0,1)"
        assert format_assignment([]) == "-"


class TestGetOffsets:
    @pytest.mark.parametrize(
        ("arguments", "wanted"),
        [
            ("", ["a-0", "a-1", "b-0", "b-5"]),
            ("--topic a", ["a-0", "a-1"]),
            ("--partitions 0,5", ["a-0", "b-0", "b-5"]),
            ("--topic-partitions a:1,b", ["a-1", "b-0", "b-5"]),
            ("--topic-partitions :1-5", ["a-1"]),
            ("--topic-partitions b:1-", ["b-5"]),
            ("--topic-partitions .*:-1", ["a-0", "b-0"]),
        ],
    )
    def test_filters(self, arguments: str, wanted: list[str]) -> None:
        allows = get_offsets.partition_filter(get_offsets.PARSER.parse(arguments.split()))
        partitions = [TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0), TopicPartition("b", 5)]
        assert [str(p) for p in partitions if allows(p.topic, None) and allows(p.topic, p.partition)] == wanted

    def test_times(self) -> None:
        assert [get_offsets.parse_time(text) for text in ("latest", "earliest", "-3", "1700000000000")] == [
            -1,
            -2,
            -3,
            1_700_000_000_000,
        ]
        with pytest.raises(ToolError, match="Malformed time argument x"):
            get_offsets.parse_time("x")


class TestDeleteRecords:
    def test_offsets(self) -> None:
        text = '{"partitions": [{"topic": "t", "partition": 1, "offset": 5}]}'
        assert delete_records.parse_offsets(text) == {TopicPartition("t", 1): 5}

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("{", "The input string is not a valid JSON"),
            ("[]", "Expected JSON object"),
            ("NaN", "NaN is not a JSON number"),
            (r'{"partitions": ["\ud83d"]}', "half a surrogate pair"),
            ('{"version": 1.0, "partitions": []}', "Not supported version field value 1.0"),
            ('{"partitions": 5}', "Expected JSON array, received 5"),
            (
                '{"partitions": [{"topic": "t", "partition": 2147483648, "offset": 5}]}',
                "`partition` is a number of 32 bits",
            ),
            (
                '{"partitions": [{"topic": "t", "partition": 1, "offset": 9223372036854775808}]}',
                "`offset` is a number of 64",
            ),
            ('{"partitions": [{"topic": "t", "partition": 1, "offset": true}]}', "needs a field `offset` of type int"),
            ("{}", "Missing partitions field"),
            ('{"version": 2}', "Not supported version field value 2"),
            ('{"partitions": [{"topic": "t", "offset": 5}]}', "needs a field `partition` of type int"),
            ('{"partitions": [{"topic": 1, "partition": 1, "offset": 5}]}', "needs a field `topic` of type str"),
            (
                '{"partitions": [{"topic": "t", "partition": 1, "offset": 5}, {"topic": "t", "partition": 1, "offset": 6}]}',
                "Offset json file contains duplicate topic partitions: t-1",
            ),
        ],
    )
    def test_wrong_files(self, text: str, sentence: str) -> None:
        with pytest.raises(ToolError, match=sentence):
            delete_records.parse_offsets(text)


def test_the_console_consumer_s_time_out_holds_without_a_broker(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert console_consumer.main([*B, "--topic", "t", "--timeout-ms", "100"]) == 0
    assert "org.apache.kafka.common.errors.TimeoutException" in caplog.text
    assert capsys.readouterr().err.endswith("Processed a total of 0 messages\n")
