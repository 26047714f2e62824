from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.tools.servers import kafka_server_stop, local_processes, running_servers
from kafkapy.tools.zookeeper import zookeeper_server_stop
from kafkapy.tools.zookeeper.java import ZOOKEEPER_MAIN

Start = Callable[..., "subprocess.Popen[bytes]"]
SERVER = kafka_server_stop.SERVER[1]
SAYS_ITS_SIGNAL = (
    "import signal, sys\n"
    "for number in (signal.SIGTERM, signal.SIGINT):\n"
    "    signal.signal(number, lambda number, _: sys.exit(number))\n"
    "print('ready', flush=True)\n"
    "for line in sys.stdin:\n"
    "    print('here', flush=True)\n"
)


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Processes whose command line is a server's. Others of this user are not seen, whoever runs them."""
    processes: list[subprocess.Popen[bytes]] = []
    script = tmp_path / "server.py"
    script.write_text(SAYS_ITS_SIGNAL)

    def start(*command: str, directory: Path = tmp_path, **environment: str) -> subprocess.Popen[bytes]:
        (directory / "server.py").write_text(SAYS_ITS_SIGNAL)
        process = subprocess.Popen(
            [command[0], "server.py", *command[1:]],
            executable=sys.executable,
            cwd=directory,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        return process

    def ours() -> Iterator[tuple[int, list[str]]]:
        pids = {process.pid for process in processes}
        return (found for found in everybody() if found[0] in pids)

    everybody = local_processes.processes_of_user
    monkeypatch.setattr(running_servers, "processes_of_user", ours)
    monkeypatch.delenv("SIGNAL", raising=False)
    yield start
    for process in processes:
        process.kill()
        process.wait()


def stopped(*processes: subprocess.Popen[bytes]) -> list[int | None]:
    """The signal that ended each; None: it runs."""
    return [None if answers(process) else process.wait() for process in processes]


def answers(process: subprocess.Popen[bytes]) -> bool:
    """Does it go on? A signal that it was sent before comes first."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(b"?\n")
        process.stdin.flush()
    except BrokenPipeError:
        return False
    return process.stdout.readline() == b"here\n"


def properties(directory: Path, name: str, text: str) -> str:
    file = directory / name
    file.write_text(text)
    return str(file)


@pytest.mark.parametrize("tool", [kafka_server_stop, zookeeper_server_stop])
def test_help_helps_and_stops_nobody(tool: object, start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    broker, zookeeper = start("python", "-m", SERVER, "a"), start("java", ZOOKEEPER_MAIN, "a")
    assert tool.main(["--help"]) == 0  # type: ignore[attr-defined]
    assert "FILE|PID" in capsys.readouterr().out
    assert tool.main(["--halp"]) == 1  # type: ignore[attr-defined]
    assert "unrecognized arguments: --halp" in capsys.readouterr().err
    assert stopped(broker, zookeeper) == [None, None]


def test_without_arguments_all_of_a_kind_stop(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers = [start("python", "-m", SERVER, name) for name in "ab"]
    zookeepers = [start("java", ZOOKEEPER_MAIN, name) for name in "ab"]
    assert kafka_server_stop.main([]) == 0
    assert stopped(*brokers, *zookeepers) == [signal.SIGTERM, signal.SIGTERM, None, None]
    monkeypatch.setenv("SIGNAL", "INT")
    assert zookeeper_server_stop.main([]) == 0
    assert stopped(*zookeepers) == [signal.SIGINT, signal.SIGINT]


def test_there_may_be_nothing_to_stop(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    assert kafka_server_stop.main([]) == zookeeper_server_stop.main([]) == 1
    assert capsys.readouterr().err == "No kafka server to stop\nNo zookeeper server to stop\n"


def test_a_file_or_a_process_id_selects_one(start: Start, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    ours, theirs = (properties(directory, "x.properties", "") for directory in (tmp_path, elsewhere))
    first = start("python", "-m", SERVER, "x.properties", "--override", "broker.id=1")
    second = start("python", "-m", SERVER, "x.properties", directory=elsewhere)
    third = start("kafka-server-start", "--env")
    zookeeper, other = start("java", "-cp", "x", ZOOKEEPER_MAIN, ours), start("java", ZOOKEEPER_MAIN, theirs)
    assert kafka_server_stop.main([ours, "/no/such"]) == 1
    assert capsys.readouterr().err == "No kafka server to stop: /no/such\n"
    assert kafka_server_stop.main([str(zookeeper.pid)]) == 1  # it is none of these servers
    assert stopped(first, second, third) == [None, None, None]
    assert kafka_server_stop.main([theirs, str(third.pid)]) == 0
    assert stopped(first, second, third) == [None, signal.SIGTERM, signal.SIGTERM]
    assert zookeeper_server_stop.main([ours]) == 0
    assert stopped(zookeeper, other, first) == [signal.SIGTERM, None, None]


def test_a_node_id_selects_one_however_it_was_given(start: Start, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "meta.properties").write_text("version=0\nbroker.id=1001\n")
    file = properties(tmp_path, "a.properties", "broker.id=1\n")
    brokers = [
        start("python", "-m", SERVER, file),
        start("python", "-m", SERVER, file, "--override", "broker.id=2"),
        start("python", "-m", SERVER, "--env", KAFKA_NODE_ID="3"),
        start("python", "-m", SERVER, properties(tmp_path, "g.properties", "log.dirs=data\n")),
        start("python", "-m", SERVER, "/no/such"),
    ]
    for position, id in enumerate(["1", "2", "3", "1001"]):
        assert kafka_server_stop.main([f"--node-id={id}"]) == 0
        assert stopped(*brokers).count(None) == 4 - position
        assert brokers[position].returncode == signal.SIGTERM
    assert kafka_server_stop.main(["--node-id", "9"]) == 1


def test_each_is_a_broker_and_none_a_controller(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    broker = start("python", "-m", SERVER, "--env", KAFKA_BROKER_ID="5")
    assert kafka_server_stop.main(["--process-role=controller"]) == 1
    assert kafka_server_stop.main(["--process-role=boss"]) == 1
    assert "invalid choice: 'boss'" in capsys.readouterr().err
    assert stopped(broker) == [None]
    assert kafka_server_stop.main(["--process-role", "broker"]) == 0
    assert stopped(broker) == [signal.SIGTERM]
