"""The console, performance and verifiable tools as processes on a broker, as a user types them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker_process import BrokerProcess
from tests.tools.programs import modules
from tests.waiting import HANG_SECONDS

ROOT = Path(__file__).parents[3]

pytestmark = pytest.mark.integration


class Tools:
    def __init__(self, address: str) -> None:
        self.address = address

    def start(self, tool: str, *arguments: str, stdout: Any = subprocess.PIPE) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", modules()[tool], *arguments]
        if tool not in ("producer_perf_test", "e2e_latency"):
            command += ["--bootstrap-server", self.address]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=os.environ
        )

    def run(self, tool: str, command: str, stdin: str = "", status: int = 0) -> tuple[str, str]:
        """What it says on stdout and on stderr."""
        process = self.start(tool, *command.split())
        out, err = process.communicate(stdin, HANG_SECONDS)
        assert process.returncode == status, err
        return out, err


@pytest.fixture(scope="module")
def tools(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"), f"{zookeeper}/console-{time.time_ns()}")
    broker.start()
    yield Tools(broker.address)
    broker.stop()


def events(text: str, name: str) -> list[dict[str, Any]]:
    return [event for event in map(json.loads, text.splitlines()) if event["name"] == name]


def test_lines_in_and_records_out(tools: Tools) -> None:
    lines = "h:1,i:NUL\tk1\tv1\nNUL\tNUL\tNUL\nh:x\tkü\tvö\n"
    read = "--property parse.key=true --property parse.headers=true --property null.marker=NUL"
    assert tools.run("console_producer", f"--topic lines {read} --compression-codec --timeout 0", lines) == ("", "")
    show = " ".join(f"--property print.{name}=true" for name in ("key", "headers", "offset", "partition"))
    out, err = tools.run("console_consumer", f"--topic lines --from-beginning --max-messages 3 {show}")
    assert out.splitlines() == [
        "Partition:0\tOffset:0\th:1,i:null\tk1\tv1",
        "Partition:0\tOffset:1\tNO_HEADERS\tnull\tnull",
        "Partition:0\tOffset:2\th:x\tkü\tvö",
    ]
    assert err == "Processed a total of 3 messages\n"
    assert tools.run("console_consumer", "--topic lines --partition 0 --offset 2 --max-messages 1")[0] == "vö\n"


def test_the_end_by_a_timeout_and_by_an_error(tools: Tools) -> None:
    tools.run("console_producer", "--topic ends --sync", "1\n2\n")
    out, err = tools.run(
        "console_consumer", "--include end. --from-beginning --timeout-ms 3000 --enable-systest-events"
    )
    assert out == "1\n2\nshutdown_complete\n"
    assert err.splitlines()[-1] == "Processed a total of 2 messages"
    assert "org.apache.kafka.common.errors.TimeoutException" in err
    wrong = "--value-deserializer org.apache.kafka.common.serialization.LongDeserializer"
    _, err = tools.run("console_consumer", f"--topic ends --from-beginning {wrong}", status=1)
    assert err.splitlines()[-1] == "Processed a total of 1 messages"
    skipping = f"--topic ends --from-beginning {wrong} --skip-message-on-error --max-messages 2"
    assert tools.run("console_consumer", skipping)[1].endswith("Processed a total of 2 messages\n")
    _, err = tools.run("console_producer", "--topic ends --property parse.key=true", "x\n", status=1)
    assert err == "No key separator found on line number 1: 'x'\n"


def test_a_record_that_cannot_be_sent_is_told(tools: Tools) -> None:
    small = "--topic small --producer-property max.request.size=100 --property parse.key=true"
    _, err = tools.run("console_producer", small, "k\ta\nk\t" + "b" * 200 + "\nk\tc\n")
    assert "Error when sending message to topic small with key: 1 bytes, value: 200 bytes" in err
    assert tools.run("console_consumer", "--topic small --from-beginning --max-messages 2")[0] == "a\nc\n"
    tools.run("console_producer", f"{small} --sync", "k\t" + "b" * 200 + "\n", status=1)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_consumer_and_its_group_goes_on(tools: Tools, number: int, status: int) -> None:
    topic, group = f"signal-{status}", f"g{status}"
    tools.run("console_producer", f"--topic {topic}", "1\n2\n")
    consumer = tools.start("console_consumer", *f"--topic {topic} --group {group} --from-beginning".split())
    assert consumer.stdout is not None
    assert [consumer.stdout.readline(), consumer.stdout.readline()] == ["1\n", "2\n"]
    consumer.send_signal(number)
    assert consumer.communicate(timeout=HANG_SECONDS) == ("", "Processed a total of 2 messages\n")
    assert consumer.returncode == status
    tools.run("console_producer", f"--topic {topic}", "3\n")
    again = f"--topic {topic} --group {group} --from-beginning --max-messages 1"
    assert tools.run("console_consumer", again)[0] == "3\n"


def test_nobody_reads_the_output_any_more(tools: Tools) -> None:
    tools.run("console_producer", "--topic pipe", "1\n2\n")
    reader, writer = os.pipe()
    os.close(reader)
    consumer = tools.start("console_consumer", *["--topic", "pipe", "--from-beginning"], stdout=writer)
    os.close(writer)
    _, err = consumer.communicate(timeout=HANG_SECONDS)
    assert err == "Unable to write to standard out, closing consumer.\nProcessed a total of 2 messages\n"
    assert consumer.returncode == 0


def test_verifiable_producer_and_consumers(tools: Tools) -> None:
    out, _ = tools.run("verifiable_producer", "--topic v --max-messages 100 --value-prefix 7 --repeating-keys 3")
    sent = events(out, "producer_send_success")
    assert [(e["key"], e["value"], e["offset"]) for e in sent[:4]] == [
        ("0", "7.0", 0),
        ("1", "7.1", 1),
        ("2", "7.2", 2),
        ("0", "7.3", 3),
    ]
    assert list(sent[0]) == ["timestamp", "name", "key", "value", "offset", "topic", "partition"]
    assert [event["name"] for event in map(json.loads, out.splitlines()[-2:])] == ["shutdown_complete", "tool_data"]
    assert events(out, "tool_data")[0] | {"sent": 100, "acked": 100} == events(out, "tool_data")[0]
    options = "--topic v --group-id v --verbose --max-messages"
    first, _ = tools.run("verifiable_consumer", f"{options} 60")
    second, _ = tools.run("verifiable_consumer", f"{options} 40")
    read = events(first + second, "record_data")
    assert [event["offset"] for event in read] == list(range(100))
    assert list(read[0]) == ["timestamp", "name", "key", "value", "topic", "partition", "offset"]
    names = [json.loads(line)["name"] for line in first.splitlines()]
    assert [name for name in names if name != "record_data"] == [
        "startup_complete",
        "partitions_assigned",
        "records_consumed",
        "offsets_committed",
        "partitions_revoked",
        "shutdown_complete",
    ]
    summary = {"topic": "v", "partition": 0, "count": 60, "minOffset": 0, "maxOffset": 59}
    assert events(first, "records_consumed")[0]["partitions"] == [summary]
    committed = events(first, "offsets_committed")[0]
    assert (committed["offsets"], committed["success"]) == ([{"topic": "v", "partition": 0, "offset": 60}], True)


def test_a_failed_send_is_an_event(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "small.properties").write_text("max.request.size=10\n")
    config = f"--topic v --max-messages 1 --producer.config {tmp_path}/small.properties"
    out, _ = tools.run("verifiable_producer", config)
    (failed,) = events(out, "producer_send_error")
    assert list(failed) == ["timestamp", "name", "topic", "key", "value", "exception", "message"]
    assert failed["exception"] == "class org.apache.kafka.common.errors.RecordTooLargeException"


def test_performance_of_producer_and_consumer(tools: Tools) -> None:
    produce = (
        "--topic perf --num-records 5000 --throughput -1 --record-size 100 --print-metrics --producer-props "
        f"bootstrap.servers={tools.address}"
    )
    out, _ = tools.run("producer_perf_test", produce)
    assert re.search("^5000 records sent, ", out, re.MULTILINE), "after a line for each five seconds that it took"
    assert "producer-metrics:record-send-total:{client-id=perf-producer-client}" in out
    out, _ = tools.run("consumer_perf_test", "--topic perf --messages 5000")
    header, line = out.splitlines()
    assert header == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, "
        "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )
    columns = line.split(", ")
    assert (columns[2], columns[4], len(columns)) == ("0.4768", "5000", 10)
    out, _ = tools.run("consumer_perf_test", "--topic perf --messages 6000 --timeout 300 --hide-header")
    assert out.startswith(
        "WARNING: Exiting before consuming the expected number of messages: timeout (300 ms) exceeded."
    )


def test_end_to_end_latency(tools: Tools) -> None:
    out, _ = tools.run("e2e_latency", f"{tools.address} latency 20 all 100")
    lines = out.splitlines()
    expected = 'Topic "latency" does not exist. Will create topic with 1 partition(s) and replication factor = 1'
    assert lines[0] == expected
    assert lines[1].startswith("0\t")
    assert lines[2].startswith("Avg latency: ")
    assert lines[3].startswith("Percentiles: 50th = ")


def test_nobody_listens(tools: Tools) -> None:
    nowhere = Tools("127.0.0.1:1")
    _, err = nowhere.run("console_producer", "--topic t --max-block-ms 300", "x\n", status=1)
    assert len(err.splitlines()) >= 1
    assert "Traceback" not in err
