from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kafkapy.clients.software import VERSION_LINE
from kafkapy.tools.common.command_line import CommandLineError, OptionParser, ToolError, ToolOption, integer, run
from tests.tools.programs import main_of, programs

ROOT = Path(__file__).parents[3]


TOOLS = {
    "topics": "kafka-topics.sh",
    "configs": "kafka-configs.sh",
    "consumer_groups": "kafka-consumer-groups.sh",
    "get_offsets": "kafka-get-offsets.sh",
    "delegation_tokens": "kafka-delegation-tokens.sh",
    "delete_records": "kafka-delete-records.sh",
    "log_dirs": "kafka-log-dirs.sh",
    "dump_log": "kafka-dump-log.sh",
    "broker_api_versions": "kafka-broker-api-versions.sh",
    "cluster": "kafka-cluster.sh",
    "reassign_partitions": "kafka-reassign-partitions.sh",
    "leader_election": "kafka-leader-election.sh",
    "replica_verification": "kafka-replica-verification.sh",
    "streams_application_reset": "kafka-streams-application-reset.sh",
    "streams": "kafkapy-streams.sh",
    "connect_cli": "kafkapy-connect.sh",
    "connect_plugin_path": "connect-plugin-path.sh",
    "transactions": "kafka-transactions.sh",
    "cluster_local": "kafka-cluster-local.sh",
}

PARSER = OptionParser(
    "A tool.",
    ToolOption("name", "A name.", "text"),
    ToolOption("count", "A number.", "number", integer),
    ToolOption("keys", "Several.", "k,k", separator=","),
    ToolOption("flag", "A flag."),
    ToolOption("wait", "With a default.", "ms", integer, default=5),
    ToolOption("state", "With or without a value.", "states", optional_argument=True),
    ToolOption("delay", "With or without a number.", "ms", integer, optional_argument=True),
    ToolOption("detail", "Only with --flag.", available_if=("flag",)),
)


class TestParser:
    def test_values(self) -> None:
        options = PARSER.parse(["--name", "a", "--count=3", "--keys", "x,y", "--keys", "z"])
        assert (options.value("name"), options.value("count"), options.values("keys")) == ("a", 3, ["x", "y", "z"])
        assert options.value("wait") == 5
        assert options.has("name")
        assert not options.has("wait")
        assert options.count(["name", "count", "flag"]) == 2

    def test_a_required_value_may_begin_with_a_dash(self) -> None:
        assert PARSER.parse(["--count", "-5"]).value("count") == -5

    def test_an_empty_value(self) -> None:
        assert PARSER.parse(["--name="]).value("name") == ""

    def test_an_optional_value_may_not(self) -> None:
        options = PARSER.parse(["--state", "--flag"])
        assert options.has("state")
        assert options.has("flag")
        assert options.value("state") is None
        assert PARSER.parse(["--state", "empty"]).value("state") == "empty"

    def test_an_optional_number_may_be_negative(self) -> None:
        options = PARSER.parse(["--delay", "-5", "--flag"])
        assert options.value("delay") == -5
        assert options.has("flag")
        options = PARSER.parse(["--delay", "--flag"])
        assert options.value("delay") is None
        assert options.has("flag")

    def test_the_order_is_kept(self) -> None:
        given = [("name", "a"), ("flag", None), ("name", "b")]
        assert PARSER.parse(["--name", "a", "--flag", "--name", "b"]).given == given

    def test_words_that_belong_to_no_option_are_left_aside(self) -> None:
        assert PARSER.parse(["word", "--flag", "other", "--", "--nonsense"]).given == [("flag", None)]

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["--foo"], "foo is not a recognized option"),
            (["--nam", "a"], "nam is not a recognized option"),
            (["-x"], "x is not a recognized option"),
            (["--name"], "Option name requires an argument"),
            (["--flag=1"], "Option flag does not take an argument"),
            (["--detail"], "Option(s) [detail] are unavailable given other options on the command line"),
        ],
    )
    def test_refused(self, arguments: list[str], sentence: str) -> None:
        with pytest.raises(CommandLineError, match=re.escape(sentence)):
            PARSER.parse(arguments)

    def test_a_value_given_twice(self) -> None:
        options = PARSER.parse(["--name", "a", "--name", "b"])
        assert options.values("name") == ["a", "b"]
        with pytest.raises(
            CommandLineError, match="Found multiple arguments for option name, but you asked for only one"
        ):
            options.value("name")

    @pytest.mark.parametrize("text", ["x", "", "1_000", " 1", "\u0661", "1.0"])
    def test_a_value_that_is_no_number(self, text: str) -> None:
        with pytest.raises(CommandLineError, match=r"Cannot parse argument .* of option count"):
            PARSER.parse(["--count", text]).value("count")

    def test_required_and_excluded(self) -> None:
        options = PARSER.parse(["--name", "a", "--flag"])
        options.require("name", "flag")
        options.exclude("count", ["name"])
        with pytest.raises(CommandLineError, match=re.escape('Missing required argument "[count]"')):
            options.require("name", "count")
        with pytest.raises(CommandLineError, match=re.escape('Option "[name]" can\'t be used with option "[flag]"')):
            options.exclude("name", ["count", "flag"])

    def test_usage_names_every_option(self) -> None:
        usage = PARSER.usage(100)
        assert usage.startswith("A tool.\n")
        for name in (*PARSER.options, "help", "version"):
            assert f"--{name}" in usage
        assert "(default: 5)" in usage
        assert max(map(len, usage.splitlines())) <= 100


class TestRun:
    def test_without_arguments_the_usage_goes_to_stderr(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(PARSER, lambda options: None, []) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert "--name" in printed.err

    def test_help(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(PARSER, lambda options: 7, ["--help"]) == 0
        assert "--name" in capsys.readouterr().out

    def test_the_status_is_that_of_the_tool(self) -> None:
        assert run(PARSER, lambda options: 7, ["--flag"]) == 7
        assert run(PARSER, lambda options: None, ["--flag"]) == 0

    @pytest.mark.parametrize(
        ("error", "sentence"),
        [
            (ToolError("It is\n  broken."), "It is broken."),
            (CommandLineError("No."), "No."),
            (FileNotFoundError(2, "No such file or directory", "f"), "f: No such file or directory"),
            (OSError("odd"), "odd"),
        ],
    )
    def test_a_failure_is_one_sentence(
        self, error: Exception, sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def fail(options: object) -> None:
            raise error

        assert run(PARSER, fail, ["--flag"]) == 1
        assert capsys.readouterr().err == sentence + "\n"

    def test_ctrl_c(self) -> None:
        def interrupt(options: object) -> None:
            raise KeyboardInterrupt

        assert run(PARSER, interrupt, ["--flag"]) == 130


@pytest.mark.parametrize("tool", TOOLS)
class TestEachTool:
    def test_usage_and_version(self, tool: str, capsys: pytest.CaptureFixture[str]) -> None:
        main = main_of(tool)
        assert main([]) == 1
        usage = capsys.readouterr().err
        assert main(["--help"]) == 0
        assert capsys.readouterr().out == usage
        assert main(["--version"]) == 0
        assert re.fullmatch(r"3\.9\.1 \(kafkapy .*\)\n", capsys.readouterr().out)

    def test_a_wrong_option_is_one_sentence(self, tool: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main_of(tool)(["--foo"]) == 1
        assert capsys.readouterr().err.count("\n") == 1

    def test_the_script_in_bin(self, tool: str) -> None:
        script = ROOT / "bin" / TOOLS[tool]
        assert script.stat().st_mode & 0o111 == 0o111
        named = re.search(r'/_run\.sh" ([\w.]+) "\$@"', script.read_text())
        assert named is not None
        assert named[1].rpartition(".")[2] == tool


@pytest.mark.parametrize("program", sorted(programs()))
def test_each_program_tells_its_version(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """kafkapy's own, too; scripts look for Kafka's version in the first word."""
    module, _, function = programs()[program].partition(":")
    monkeypatch.setattr(sys, "argv", ["program", "--version"])
    with pytest.raises(SystemExit) as ended:
        sys.exit(getattr(import_module(module), function)())
    assert not ended.value.code
    assert capsys.readouterr().out == f"{VERSION_LINE}\n"


def test_the_help_loads_neither_protocol_nor_network() -> None:
    """Else every tool would need a tenth of a second more before it says anything."""
    program = (
        "import sys\n"
        "before = set(sys.modules)\n"
        "from kafkapy.tools.topics import topics\n"
        "topics.main(['--version'])\n"
        "loaded = sys.modules.keys() - before\n"
        "print(sorted(m for m in loaded if m.startswith(('kafkapy.admin', 'kafkapy.protocol.messages', 'socket'))))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert result.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_error() -> None:
    command = f"{sys.executable} -m kafkapy.tools.topics --help | true; exit ${{PIPESTATUS[0]}}"
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert (result.returncode, result.stderr) == (0, "")
