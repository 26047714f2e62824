"""The embedded ZooKeeper over sockets."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

import pytest

from kafkapy.tools.zookeeper import zookeeper_copy
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import Acl, digest_identity
from kafkapy.zk.embedded.codes import Code
from kafkapy.zk.embedded.jute import INT, Decoder, string
from kafkapy.zk.embedded.settings import ALL_COMMANDS, Settings
from tests.waiting import HANG_SECONDS
from tests.zk.embedded.raw_client import RawClient, create, delete, read, set_data
from tests.zk.embedded.server_in_thread import ServerInThread

pytestmark = pytest.mark.integration


def word(address: tuple[str, int], text: bytes) -> str:
    with socket.create_connection(address, timeout=HANG_SECONDS) as connection:
        connection.sendall(text)
        answer = b""
        while piece := connection.recv(4096):
            answer += piece
        return answer.decode()


def is_hung_up(connection: socket.socket) -> bool:
    connection.settimeout(HANG_SECONDS)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_four_letter_words() -> None:
    with ServerInThread() as server:
        client = server.client()
        client.ask(codes.CREATE, create("/e", flags=1))
        client.ask(codes.GET_DATA, read("/e", watch=True))
        session = f"0x{client.session_id:x}"
        answers = {each: word(server.address, each.encode()) for each in ALL_COMMANDS}
        assert answers["ruok"] == "imok"
        assert answers["isro"] == "rw"
        assert (
            "Mode: standalone" in answers["srvr"]
            and "Node count: 6" in answers["srvr"]
            and "Zxid: 0x2" in answers["srvr"]
        )
        assert "zk_ephemerals_count\t1" in answers["mntr"] and "zk_watch_count\t1" in answers["mntr"]
        assert f"{session}:\n\t/e\n" in answers["dump"]
        assert answers["wchs"].startswith("1 connections watching 1 paths\nTotal watches:1")
        assert answers["wchc"] == f"{session}\n\t/e\n\n" and answers["wchp"] == f"/e\n\t{session}\n\n"
        assert f"sid={session}" in answers["cons"] and "minSessionTimeout=1000" in answers["conf"]
        assert answers["stat"].startswith("Zookeeper version: 3.9") and "zookeeper.version=" in answers["envi"]
        client.close()
    with ServerInThread(settings=Settings(commands=frozenset(("srvr",)))) as server:
        assert word(server.address, b"mntr") == "mntr is not executed because it is not in the whitelist.\n"


def test_requests_that_are_too_large_or_nonsense_are_hung_up_on_and_others_are_served() -> None:
    with ServerInThread(settings=Settings(jute_maxbuffer=2000)) as server:
        client = server.client()
        for frame in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xfe", struct.pack("!i", 2001), INT.pack(4) + b"abcd"):
            with socket.create_connection(server.address) as connection:
                connection.sendall(frame)
                assert is_hung_up(connection)
        assert client.ask(codes.CREATE, create("/a", b"x" * 1900)).code == 0
        with pytest.raises(ConnectionError):
            client.ask(codes.SET_DATA, set_data("/a", b"x" * 2000))


def test_a_request_may_come_byte_by_byte() -> None:
    with ServerInThread() as server:
        client = server.client()
        frame = struct.pack("!ii", 7, codes.GET_CHILDREN) + read("/")
        for byte in INT.pack(len(frame)) + frame:
            client.socket.sendall(bytes([byte]))
        decoder = Decoder(client.receive()[16:])
        assert decoder.vector(decoder.string) == ["zookeeper"]


def test_an_address_has_so_many_connections_and_no_more() -> None:
    with ServerInThread(settings=Settings(max_client_connections=2)) as server:
        first, second = server.client(), server.client()
        with socket.create_connection(server.address) as third:
            assert is_hung_up(third)
        first.close()
        second.close()


def test_a_silent_session_ends_and_one_can_be_ended() -> None:
    with ServerInThread(settings=Settings(tick_time_ms=50, min_session_timeout_ms=100)) as server:
        silent, other = server.client(1_000), server.client(60_000)
        silent.ask(codes.CREATE, create("/silent", flags=1))
        assert is_hung_up(silent.socket)
        assert other.ask(codes.EXISTS, read("/silent")).code == Code.NO_NODE
        other.ask(codes.CREATE, create("/other", flags=1))
        assert server.call(server.server.sessions) == [other.session_id]
        assert server.call(lambda: server.server.expire_session(other.session_id))
        assert is_hung_up(other.socket)
        assert server.call(server.server.sessions) == []
        assert server.client().ask(codes.EXISTS, read("/other")).code == Code.NO_NODE


def test_all_is_there_after_a_restart_and_sessions_if_they_are_kept(tmp_path: Path) -> None:
    settings = Settings(snap_count=10)
    with ServerInThread(tmp_path, settings) as server:
        client = server.client()
        for number in range(50):
            assert client.ask(codes.CREATE, create(f"/{number}")).code == 0
        client.ask(codes.CREATE, create("/mine", flags=1))
    assert len(list((tmp_path / "version-2").glob("snapshot.*"))) > 1
    with ServerInThread(tmp_path, settings) as server:
        again = RawClient(server.address, 10_000, client.session_id, client.password)
        assert again.session_id == client.session_id
        decoder = Decoder(again.ask(codes.GET_CHILDREN, read("/")).body)
        assert len(decoder.vector(decoder.string)) == 52
    with ServerInThread(tmp_path, settings, keep_sessions=False) as server:
        assert RawClient(server.address, 10_000, client.session_id, client.password).session_id == 0
        assert server.client().ask(codes.EXISTS, read("/mine")).code == Code.NO_NODE


def test_a_log_that_cannot_be_written_ends_the_server_without_an_answer(tmp_path: Path) -> None:
    with ServerInThread(tmp_path) as server:
        client = server.client()
        assert client.ask(codes.CREATE, create("/a")).code == 0
        directory = server.server._directory
        assert directory is not None

        def full(first_zxid: int, entries: bytes) -> None:
            raise OSError(28, "No space left on device")

        directory.transaction_log.write = full  # type: ignore[method-assign]
        with pytest.raises(ConnectionError):
            client.ask(codes.CREATE, create("/b"))
        assert server.failures and "No space left on device" in server.failures[0]


def test_nothing_is_left_in_the_process() -> None:
    threads = set(threading.enumerate())  # those of other tests may end meanwhile
    for _ in range(5):
        with ServerInThread() as server:
            server.client().close()
    assert set(threading.enumerate()) <= threads


def test_a_tree_is_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secret = (Acl(31, *digest_identity(b"me:secret")),)
    with ServerInThread() as source, ServerInThread(tmp_path) as target:
        client = source.client()
        client.ask(codes.CREATE, create("/brokers", None))
        client.ask(codes.CREATE, create("/brokers/seqid", b""))
        client.ask(codes.CREATE, create("/brokers/hidden", b"x", acls=secret))
        client.ask(codes.CREATE, create("/brokers/1", flags=1))
        for _ in range(3):
            client.ask(codes.SET_DATA, set_data("/brokers/seqid", None))
        source_connect, target_connect = f"127.0.0.1:{source.server.port}", f"127.0.0.1:{target.server.port}/a/b"
        assert zookeeper_copy.main([source_connect, target_connect]) == 1
        assert "/brokers/hidden: NO_AUTH: give --auth" in capsys.readouterr().err
        assert zookeeper_copy.main([source_connect, target_connect, "--auth", "me:secret"]) == 1
        assert "has 1 ephemeral nodes, such as /brokers/1" in capsys.readouterr().err
        client.ask(codes.DELETE, delete("/brokers/1"))
        assert zookeeper_copy.main([source_connect, target_connect, "--auth", "me:secret"]) == 0
        assert "Copied 3 nodes" in capsys.readouterr().out
        assert zookeeper_copy.main([source_connect, target_connect, "--auth", "me:secret"]) == 0
        assert "Copied 0 nodes" in capsys.readouterr().out
        copied = target.client()
        assert copied.ask(codes.GET_DATA, read("/a/b/brokers/hidden")).code == Code.NO_AUTH
        version = struct.unpack_from("!i", copied.ask(codes.EXISTS, read("/a/b/brokers/seqid")).body, 32)[0]
        assert version == 3  # the next generated broker.id
        copied.ask(codes.AUTH, INT.pack(0) + string("digest") + string("me:secret"))
        copied.ask(codes.SET_DATA, set_data("/a/b/brokers/hidden", b"other"))
        assert zookeeper_copy.main([source_connect, target_connect, "--auth", "me:secret"]) == 1
        assert "/a/b/brokers/hidden is there with other data" in capsys.readouterr().err


def test_a_copy_to_nowhere_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert zookeeper_copy.main(["127.0.0.1:1", "127.0.0.1:1"]) == 1
    assert "No ZooKeeper can be reached: 127.0.0.1:1: the connection is refused" in capsys.readouterr().err
