"""zookeeper-shell on the embedded ZooKeeper and on Apache's. Expected lines are what Apache's shell (3.9.5) prints."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafkapy.tools.zookeeper import zookeeper_shell
from kafkapy.tools.zookeeper.shell_commands import COMMANDS
from kafkapy.zk.embedded.plain_tree import PlainTree
from tests.zookeeper_server import EmbeddedZooKeeperServer, ZooKeeperServer

pytestmark = pytest.mark.integration

HEAD = "Connecting to {}\n\nWATCHER::\n\nWatchedEvent state:SyncConnected type:None path:null zxid: -1\n"
Shell = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module", params=[EmbeddedZooKeeperServer, ZooKeeperServer], ids=["embedded", "apache"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = request.param(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server.address
    server.stop()


@pytest.fixture
def shell(server: str, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """Runs one command, or lines of stdin: status, what it has printed behind the head, and its errors."""

    def shell(*words: str, lines: str = "") -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.StringIO(lines))
            status = zookeeper_shell.main([server, *words])
        printed = capsys.readouterr()
        head = HEAD.format(server) if words else HEAD.format(server).replace("\n", "\nWelcome to ZooKeeper!\n", 1)
        assert printed.out.startswith(head)
        return status, printed.out.removeprefix(head), printed.err

    yield shell
    for node in ("a", "b"):
        zookeeper_shell.main([server, "deleteall", f"/{node}"])


def test_nodes_from_creation_to_deletion(shell: Shell) -> None:
    assert shell("create", "/a") == (0, "", "Created /a\n")
    assert shell("get", "/a") == (0, "null\n", "")
    assert shell("create", "/a/x", "two words") == (0, "", "Created /a/x\n")
    assert shell("create", "/a/x/y", "") == (0, "", "Created /a/x/y\n")
    assert shell("get", "/a/x/y") == (0, "\n", "")
    assert shell("ls", "/a") == (0, "[x]\n", "")
    assert shell("ls", "-R", "/") == (
        0,
        "/\n/a\n/zookeeper\n/a/x\n/a/x/y\n/zookeeper/config\n/zookeeper/quota\n",
        "",
    )
    assert shell("set", "-v", "0", "/a/x", "é") == (0, "", "")
    assert shell("get", "/a/x") == (0, "é\n", "")
    assert shell("getAllChildrenNumber", "/a") == (0, "2\n", "")
    assert shell("delete", "/a/x") == (1, "", "Node not empty: /a/x\n")
    assert shell("delete", "/a/x/y") == (0, "", "")
    assert shell("deleteall", "/a") == (0, "", "")
    assert shell("ls", "/") == (0, "[zookeeper]\n", "")


def test_sequential_and_other_kinds(shell: Shell) -> None:
    shell("create", "/a")
    assert shell("create", "-s", "/a/n-", "1") == (0, "", "Created /a/n-0000000000\n")
    assert shell("create", "-e", "-s", "/a/n-") == (0, "", "Created /a/n-0000000001\n")
    assert shell("create", "-c", "/a/c") == (0, "", "Created /a/c\n")
    assert shell("ls", "/a") == (0, "[c, n-0000000000]\n", "")


def test_stats(shell: Shell) -> None:
    shell("create", "/a", "hello")
    zxid, date = "0x[0-9a-f]+", r"[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d\d:\d\d:\d\d \S+ \d{4}"
    stat = (
        f"cZxid = ({zxid})\nctime = ({date})\nmZxid = \\1\nmtime = \\2\npZxid = \\1\ncversion = 0\ndataVersion = 0\n"
        "aclVersion = 0\nephemeralOwner = 0x0\ndataLength = 5\nnumChildren = 0\n"
    )
    for words in (("stat",), ("get", "-s"), ("ls", "-s"), ("getAcl", "-s")):
        status, out, err = shell(*words, "/a")
        assert (status, err) == (0, "")
        assert re.search(f"{stat}$", out), out
    assert shell("stat", "/")[1].startswith("cZxid = 0x0\nctime = Thu Jan 01 00:00:00 ")


def test_data_in_other_forms(shell: Shell) -> None:
    shell("create", "/a", "hello\nyou")
    assert shell("get", "-b", "/a") == (0, "aGVsbG8KeW91\n", "")
    assert shell("get", "-x", "/a")[1].splitlines()[3:] == [
        "|00000000| 68 65 6c 6c 6f 0a 79 6f 75                      |hello.you       |",
        "+--------+-------------------------------------------------+----------------+",
    ]
    assert shell("set", "-b", "/a", "Ynll") == (0, "", "")
    assert shell("get", "/a") == (0, "bye\n", "")


def test_access_lists(shell: Shell) -> None:
    shell("create", "/a")
    assert shell("getAcl", "/a") == (0, "'world,'anyone\n: cdrwa\n", "")
    assert shell("setAcl", "/a", "world:anyone:rcda,ip:10.0.0.0/8:w") == (0, "", "")
    assert shell("getAcl", "/a") == (0, "'world,'anyone\n: cdra\n'ip,'10.0.0.0/8\n: w\n", "")
    assert shell("set", "/a", "x") == (1, "", "Insufficient permission : /a\n")
    lines = "addauth digest u:p\ncreate /b x auth::cdrwa\nwhoami\ngetAcl /b\ngetEphemerals\nquit\n"
    status, out, err = shell(lines=lines)
    assert (status, err) == (0, "Created /b\n")
    assert "Auth scheme: User\n" in out
    assert "digest: u\n" in out
    assert re.search(r"'digest,'u:\S+\n: cdrwa\n\[\]\n", out)
    assert shell(lines="addauth digest u:p\ndeleteall /b\n")[0] == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("get /nope", 1, "Node does not exist: /nope"),
        ("deleteall /nope", 1, "Node does not exist: /nope"),
        ("create /zookeeper", 1, "Node already exists: /zookeeper"),
        ("set -v 7 /zookeeper x", 1, "version No is not valid : /zookeeper"),
        ("create /a/b/c", 1, "Node does not exist: /a/b/c"),
        ("create /a x auth::cdrwa", 1, "Acl is not valid : /a"),
        ("create /a x world:anyone:z", 1, "Unknown perm type: z"),
        ("create /a x world", 1, "world does not have the form scheme:id:perm"),
        ("create -t 100 /a", 1, "KeeperErrorCode = Unimplemented for /a"),
        ("create -t x /a", 1, "-t x is no number"),
        ("create -e -t 1 /a", 1, "TTLs cannot be used with Ephemeral znodes"),
        ("ls", 1, "ls [-s] [-R] path"),
        ("ls a", 1, "Path must start with / character"),
        ("ls /a/", 1, "Path must not end with / character"),
        ("ls -z /", 1, "Unrecognized option: -z"),
        ("get -w /", 1, "-w is not supported: this shell sets no watches"),
        ("set -b /zookeeper ?", 1, "? is not in base64"),
        ("addauth sasl", 1, "addauth sasl is not supported: the scheme is digest"),
        ("rmr /a", 127, "Command not found: Command not found rmr"),
    ],
)
def test_errors(shell: Shell, words: str, status: int, said: str) -> None:
    found, out, err = shell(*words.split())
    assert (found, out) == (status, "")
    assert err.splitlines()[-1] == said


def test_lines_of_stdin(shell: Shell) -> None:
    lines = "create /a 'a \"b\"'\n\nget /a\nget /nope\nredo 1\nredo 9\nhistory\nquit\nls /\n"
    assert shell(lines=lines) == (
        0,
        'a "b"\na "b"\n'
        "0 - create /a 'a \"b\"'\n1 - get /a\n2 - get /nope\n3 - get /a\n4 - redo 9\n5 - history\n"
        "\nWATCHER::\n\nWatchedEvent state:Closed type:None path:null zxid: -1\n",
        "Created /a\nNode does not exist: /nope\nredo cmdno: the number of a line of `history` that is no redo\n",
    )
    assert shell(lines="redo 0\nredo 0\nget /nope\n")[0] == 1


def test_a_chroot(server: str, shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    shell("create", "/a")
    assert zookeeper_shell.main([f"{server}/a", "create", "/x", "1"]) == 0
    assert zookeeper_shell.main([f"{server}/a/", "ls", "/"]) == 0
    assert zookeeper_shell.main([f"{server}/nope", "ls", "/"]) == 1
    printed = capsys.readouterr()
    assert printed.err == "Created /x\nNode does not exist: /\n"
    assert printed.out.endswith(f"[x]\n{HEAD.format(f'{server}/nope')}")


def test_connect_close_sync_and_the_rest(server: str, shell: Shell) -> None:
    lines = f"create -e /a\nclose\nls /\nconnect {server}\nsync /\nconfig\nversion\nhelp\ngetEphemerals\n"
    status, out, err = shell(lines=lines)
    assert (status, err) == (0, "Created /a\n")
    assert out.startswith("[zookeeper]\nSync is OK\n\nZooKeeper CLI version: kafkapy ")
    assert all(f"\t{command.usage}\n" in out for command in COMMANDS.values())
    assert out.endswith("[]\n")


def test_a_session_lives_on_while_nothing_is_typed(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pings keep it alive, and their answers are told from those of commands."""
    pinged = threading.Event()
    ping = PlainTree.ping

    def spied(tree: PlainTree) -> None:
        ping(tree)
        pinged.set()

    monkeypatch.setattr(PlainTree, "ping", spied)
    monkeypatch.setattr(zookeeper_shell, "_PING_SECONDS", 0.01)
    read, write = os.pipe()
    with open(read) as stdin, open(write, "w") as typed:
        monkeypatch.setattr(sys, "stdin", stdin)

        def user() -> None:
            pinged.wait(10)
            typed.write("create -e /a\nls /\nquit\n")
            typed.flush()

        thread = threading.Thread(target=user)
        thread.start()
        assert zookeeper_shell.main([server]) == 0
        thread.join()
    assert "[a, zookeeper]" in capsys.readouterr().out


def test_a_server_that_goes_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = EmbeddedZooKeeperServer(tmp_path)
    server.start()
    monkeypatch.setattr(zookeeper_shell, "CONNECT_SECONDS", 0.5)
    try:
        shell = zookeeper_shell.Shell(server.address)
        assert shell.run("ls", ["/"]) == 0
        server.stop()
        assert shell.run("ls", ["/"]) == 1
        assert "The connection to ZooKeeper is lost" in capsys.readouterr().err
        assert shell.run("ls", ["/"]) == 1
        assert f"No ZooKeeper can be reached: {server.address}: the connection is refused" in capsys.readouterr().err
        server.start()
        assert shell.run("ls", ["/"]) == 0
        shell.close()
    finally:
        server.stop()
