"""What of the data directory is there after a crash."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.data_directory import DataDirectory
from kafkapy.zk.embedded.data_tree import DataTree
from kafkapy.zk.embedded.group_commit import GroupCommit
from kafkapy.zk.embedded.log_files import StorageError, files_of
from kafkapy.zk.embedded.snapshot_files import TreeCopy
from kafkapy.zk.embedded.transactions import ErrorTxn, TxnHeader
from tests.zk.embedded.machine_client import MachineClient, new_machine
from tests.zk.embedded.raw_client import create, delete, multi, set_data


def journal_of(directory: DataDirectory, tree: DataTree) -> GroupCommit:
    """It writes at once."""

    def write(first_zxid: int, entries: bytes, roll: bool, done: Callable[[BaseException | None], None]) -> None:
        if roll:
            directory.transaction_log.roll()
        directory.transaction_log.write(first_zxid, entries)
        done(None)

    return GroupCommit(write, lambda error: None, tree.last_zxid)


class Server:
    """A machine on a data directory, without sockets."""

    def __init__(self, data_dir: Path) -> None:
        self.directory = DataDirectory(data_dir)
        tree = DataTree(True)
        self.directory.load(tree)
        self.journal = journal_of(self.directory, tree)
        self.machine = new_machine(journal=self.journal, tree=tree)

    def ask(self, client: MachineClient, kind: int, body: bytes) -> int:
        code = client.ask(kind, body).code
        self.journal.flush()
        return code

    def snapshot(self) -> None:
        self.journal.roll()
        self.directory.publish(self.directory.snapshot(TreeCopy(self.machine.tree)))


def contents(tree: DataTree) -> dict[str, tuple[bytes | None, bytes]]:
    return {path: (node.data, node.stat(True)) for path, node in tree.nodes.items()}


def loaded(data_dir: Path) -> DataTree:
    directory = DataDirectory(data_dir)
    tree = DataTree(True)
    try:
        directory.load(tree)
    finally:
        directory.close()
    return tree


def fill(server: Server) -> None:
    client = MachineClient(server.machine)
    server.ask(client, codes.CREATE, create("/a", b"one"))
    server.ask(client, codes.CREATE, create("/a/e", None, flags=1))
    server.ask(client, codes.CREATE_CONTAINER, create("/c", flags=4))
    server.ask(client, codes.SET_DATA, set_data("/a", b"two"))
    server.ask(client, codes.MULTI, multi((codes.CREATE, create("/b")), (codes.DELETE, delete("/c"))))
    server.ask(client, codes.MULTI, multi((codes.CREATE, create("/d")), (codes.DELETE, delete("/none"))))
    server.ask(client, codes.DELETE, delete("/b"))


def test_all_is_there_after_a_restart_with_its_sessions(tmp_path: Path) -> None:
    server = Server(tmp_path)
    fill(server)
    server.directory.close()
    tree = loaded(tmp_path)
    assert contents(tree) == contents(server.machine.tree)
    assert (tree.last_zxid, tree.sessions) == (server.machine.tree.last_zxid, server.machine.tree.sessions)
    assert list(tree.ephemerals.values()) == [{"/a/e": None}]


def test_a_snapshot_and_the_log_after_it(tmp_path: Path) -> None:
    server = Server(tmp_path)
    fill(server)
    server.snapshot()
    client = MachineClient(server.machine)
    server.ask(client, codes.CREATE, create("/later"))
    server.directory.close()
    assert contents(loaded(tmp_path)) == contents(server.machine.tree)


def test_a_snapshot_that_has_more_than_its_zxid_says(tmp_path: Path) -> None:
    """It is written while the tree changes, and what came after its zxid is applied to it once more."""
    server = Server(tmp_path)
    fill(server)
    copy = TreeCopy(server.machine.tree)
    server.journal.roll()
    client = MachineClient(server.machine)
    for kind, body in (
        (codes.SET_DATA, set_data("/a", b"three")),
        (codes.CREATE, create("/a/s", flags=2)),
        (codes.DELETE, delete("/a/s0000000001")),
    ):
        assert server.ask(client, kind, body) == 0
    server.directory.publish(server.directory.snapshot(copy))
    server.directory.close()
    assert contents(loaded(tmp_path)) == contents(server.machine.tree)


def test_old_files_go(tmp_path: Path) -> None:
    server = Server(tmp_path)
    client = MachineClient(server.machine)
    for number in range(6):
        server.ask(client, codes.CREATE, create(f"/{number}"))
        server.snapshot()
    version_2 = tmp_path / "version-2"
    assert [path.name for path in files_of(version_2, "snapshot")] == ["snapshot.5", "snapshot.6", "snapshot.7"]
    assert [path.name for path in files_of(version_2, "log")] == ["log.6", "log.7"]
    server.directory.close()
    assert contents(loaded(tmp_path)) == contents(server.machine.tree)


def test_a_log_that_is_cut_anywhere_gives_what_was_whole_and_goes_on(tmp_path: Path) -> None:
    server = Server(tmp_path / "whole")
    fill(server)
    server.directory.close()
    size = (tmp_path / "whole/version-2/log.1").stat().st_size
    zxids = []
    for cut in range(0, size, 7):
        shutil.rmtree(tmp_path / "cut", ignore_errors=True)
        shutil.copytree(tmp_path / "whole", tmp_path / "cut")
        log = tmp_path / "cut/version-2/log.1"
        log.write_bytes(log.read_bytes()[:cut] + bytes(cut % 3))
        again = Server(tmp_path / "cut")
        zxids.append(again.machine.tree.last_zxid)
        assert again.ask(MachineClient(again.machine), codes.CREATE, create("/new")) == 0
        again.directory.close()
        assert contents(loaded(tmp_path / "cut")) == contents(again.machine.tree)
    assert zxids == sorted(zxids) and set(zxids) >= set(range(server.machine.tree.last_zxid))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    server = Server(tmp_path)
    fill(server)
    server.snapshot()
    server.ask(MachineClient(server.machine), codes.CREATE, create("/later"))
    server.directory.close()
    version_2 = tmp_path / "version-2"
    newest = files_of(version_2, "snapshot")[-1]
    newest.write_bytes(newest.read_bytes()[:-20])
    assert contents(loaded(tmp_path)) == contents(server.machine.tree)  # the snapshot before, and both logs
    first = files_of(version_2, "log")[0]
    first.write_bytes(first.read_bytes()[:-3])
    with pytest.raises(StorageError, match=r"log\.1 is damaged at byte"):
        loaded(tmp_path)


def test_a_directory_is_for_one_server_at_a_time(tmp_path: Path) -> None:
    server = Server(tmp_path)
    with pytest.raises(StorageError, match="in use by another"):
        DataDirectory(tmp_path)
    server.directory.close()
    DataDirectory(tmp_path).close()


def test_nothing_leaves_before_the_disk_has_it_and_all_leaves_in_order() -> None:
    writes: list[tuple[bytes, Callable[[BaseException | None], None]]] = []
    sent: list[object] = []
    commit = GroupCommit(lambda zxid, entries, roll, done: writes.append((entries, done)), sent.append, 0)
    machine = new_machine(journal=commit)
    client = machine.connected(
        "10.0.0.1", 1, lambda data: commit.when_durable(lambda: sent.append("answer")), lambda: None
    )
    machine.received(client, b"\0" * 44)
    commit.flush()
    commit.when_durable(lambda: sent.append("a read after it"))
    assert sent == [] and len(writes) == 1
    commit.append(*_entry(2))
    commit.append(*_entry(3))
    commit.when_durable(lambda: sent.append("the next"))
    commit.flush()
    assert len(writes) == 1  # one at a time
    writes[0][1](None)
    assert sent == ["answer", "a read after it"] and len(writes) == 2
    failure = OSError("disk full")
    writes[1][1](failure)
    assert sent[2:] == [failure]  # told to whoever is to stop the server, and nothing to the client


def _entry(zxid: int) -> tuple[TxnHeader, ErrorTxn]:
    return TxnHeader(1, 1, zxid, 0), ErrorTxn(-101)
