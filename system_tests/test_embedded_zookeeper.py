"""The embedded ZooKeeper: a long duel with the real one, `kill -9` at 500 moments, and data directories that either takes."""

from __future__ import annotations

import multiprocessing
import os
import random
import struct
import threading
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from kafkapy.common.free_ports import free_ports
from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.jute import Decoder, string
from system_tests.services import TIME_LIMIT_FACTOR
from tests.zk.embedded.duel import fight
from tests.zk.embedded.raw_client import RawClient, answer_of, create, multi, read, request, set_data
from tests.zookeeper_server import EmbeddedZooKeeperServer, ZooKeeperServer

KILLS = int(os.environ.get("KAFKAPY_ZOOKEEPER_KILLS", "500"))
SHORT_KILLS = 20


@pytest.fixture
def two_servers(tmp_path: Path) -> Iterator[tuple[ZooKeeperServer, ZooKeeperServer]]:
    """The embedded one and the real one, both empty, both with TTL nodes."""
    servers = EmbeddedZooKeeperServer(tmp_path / "embedded"), ZooKeeperServer(tmp_path / "real")
    try:
        for server in servers:
            with open(server.directory / "zookeeper.properties", "a") as file:
                file.write("extendedTypesEnabled=true\n")
            server.start()
        yield servers
    finally:
        for server in servers:
            server.stop()


@pytest.mark.timeout(600)
def test_answers_are_alike(two_servers: tuple[ZooKeeperServer, ZooKeeperServer], short: bool) -> None:
    """Twenty thousand of them, others each time; in the short selection two thousand, always the same."""
    embedded, real = two_servers
    rounds = 2_000 if short else 20_000
    seed = int(os.environ.get("KAFKAPY_SEED", "600377" if short else str(time.time_ns() % 1_000_000)))
    assert fight(("127.0.0.1", embedded.port), ("127.0.0.1", real.port), seed, rounds=rounds) >= rounds


def _serve(data_dir: Path, port: int) -> None:
    from twisted.internet.epollreactor import EPollReactor

    from kafkapy.zk.embedded.server import EmbeddedZooKeeper
    from kafkapy.zk.embedded.settings import Settings

    reactor = EPollReactor()  # type: ignore[no-untyped-call]
    EmbeddedZooKeeper(data_dir, port=port, reactor=reactor, settings=Settings(snap_count=150)).start()
    reactor.run(installSignalHandlers=False)


class ForkedServer:
    """The embedded ZooKeeper in a fork: it is there after milliseconds, so it can be killed hundreds of times.

    It is forked from a process of one thread: in a fork of this one, a lock that another thread held stays locked for ever.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        (self.port,) = free_ports(1)
        self._forks = multiprocessing.get_context("forkserver")
        self._forks.set_forkserver_preload(["kafkapy.zk.embedded.server"])
        self._process: ForkServerProcess | None = None

    def start(self) -> None:
        self._process = self._forks.Process(target=_serve, args=(self._data_dir, self.port), daemon=True)
        self._process.start()

    def kill(self) -> None:
        """`kill -9`, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def client(self, session_id: int = 0, password: bytes = bytes(16)) -> RawClient:
        deadline = time.monotonic() + TIME_LIMIT_FACTOR * 20
        while True:
            try:
                return RawClient(("127.0.0.1", self.port), 60_000, session_id, password)
            except ConnectionError:
                assert time.monotonic() < deadline, "the embedded ZooKeeper does not come back"
                time.sleep(0.002)


class Promises:
    """What was answered: each must hold after whatever crash."""

    def __init__(self) -> None:
        self.nodes: set[str] = set()
        self.counter = 0
        """The highest that an answer was given for; it is set together with another node, in a multi."""
        self.zxid = 0


def write_until_it_dies(client: RawClient, promises: Promises, round_number: int) -> None:
    """Requests without waiting for answers, 20 at a time."""
    sent: dict[int, tuple[str, int]] = {}
    xid, counter = 0, promises.counter + 1000
    try:
        while True:
            for _ in range(20):
                xid += 1
                if xid % 4:
                    path = f"/nodes/{round_number}-{xid}"
                    sent[xid] = (path, 0)
                    client.send(request(xid, codes.CREATE, create(path, path.encode())))
                else:
                    counter += 1
                    sent[xid] = ("", counter)
                    both = multi(
                        *((codes.SET_DATA, set_data(path, str(counter).encode())) for path in ("/one", "/other"))
                    )
                    client.send(request(xid, codes.MULTI, both))
            for _ in range(20):
                answer = answer_of(client.receive())
                assert answer.code == 0 and answer.zxid > promises.zxid
                path, number = sent.pop(answer.xid)
                promises.zxid = answer.zxid
                if path:
                    promises.nodes.add(path)
                else:
                    promises.counter = number
    except ConnectionError:
        client.close()


def check(client: RawClient, promises: Promises, fresh: set[str]) -> None:
    """`fresh`: the nodes to read again; the others are counted."""
    decoder = Decoder(client.ask(codes.GET_CHILDREN, read("/nodes")).body)
    missing = promises.nodes - {f"/nodes/{name}" for name in decoder.vector(decoder.string)}
    assert not missing, f"acknowledged, and lost: {sorted(missing)[:5]}"
    for path in fresh:
        assert Decoder(client.ask(codes.GET_DATA, read(path)).body).buffer() == path.encode()
    one, other = (Decoder(client.ask(codes.GET_DATA, read(path)).body).buffer() for path in ("/one", "/other"))
    assert one == other, "half of a multi"
    assert int(one or b"0") >= promises.counter
    assert client.ask(codes.SYNC, string("/")).zxid >= promises.zxid, "zxids were given away twice"


@pytest.mark.timeout(900)
def test_kill_9_at_random_moments_loses_nothing_acknowledged(tmp_path: Path, short: bool) -> None:
    kills = SHORT_KILLS if short else KILLS
    server, promises = ForkedServer(tmp_path), Promises()
    random_moment = random.Random(4711)
    server.start()
    client = server.client()
    session = (client.session_id, client.password)
    for path in ("/nodes", "/one", "/other"):
        client.ask(codes.CREATE, create(path, b"0"))
    client.ask(codes.CREATE, create("/mine", flags=1))
    for number in range(kills):
        before = set(promises.nodes)
        killer = threading.Timer(random_moment.random() * 0.04, server.kill)
        killer.start()
        write_until_it_dies(client, promises, number)
        killer.join()
        server.start()
        client = server.client(*session)
        assert client.session_id == session[0], "the session did not survive"
        check(client, promises, promises.nodes - before)
    assert client.ask(codes.EXISTS, read("/mine")).code == 0
    server.kill()
    assert len(promises.nodes) > kills


def contents(address: tuple[str, int]) -> dict[str, tuple[bytes | None, bytes]]:
    """All nodes with their data and stats, without the configuration's, which an ensemble of one writes anew."""
    client = RawClient(address)
    found: dict[str, tuple[bytes | None, bytes]] = {}
    left = ["/"]
    while left:
        path = left.pop()
        decoder = Decoder(client.ask(codes.GET_DATA, read(path)).body)
        found[path] = decoder.buffer(), decoder.rest()
        children = Decoder(client.ask(codes.GET_CHILDREN, read(path)).body)
        left += [f"{path.rstrip('/')}/{name}" for name in children.vector(children.string)]
    client.ask(codes.CLOSE_SESSION)
    client.close()
    return {path: value for path, value in found.items() if path != "/zookeeper/config"}


@pytest.mark.parametrize("first", [EmbeddedZooKeeperServer, ZooKeeperServer])
@pytest.mark.timeout(120)
def test_either_server_starts_on_the_data_that_the_other_left(first: type[ZooKeeperServer], tmp_path: Path) -> None:
    second = EmbeddedZooKeeperServer if first is ZooKeeperServer else ZooKeeperServer
    one = first(tmp_path / "one")
    one.start()
    address = ("127.0.0.1", one.port)
    client = RawClient(address, timeout_ms=60_000)
    for number in range(50):
        client.ask(codes.CREATE, create(f"/{number}", struct.pack("!i", number)))
        client.ask(codes.SET_DATA, set_data(f"/{number // 2}", b"set"))
    client.ask(codes.CREATE, create("/mine", flags=1))
    client.ask(codes.MULTI, multi((codes.CREATE, create("/49/a", flags=2)), (codes.SET_DATA, set_data("/49", None))))
    before = contents(address)
    one.stop()
    other = second(tmp_path / "other")
    (tmp_path / "one" / "data").rename(tmp_path / "other" / "data")
    other.start()
    try:
        address = ("127.0.0.1", other.port)
        assert contents(address) == before
        again = RawClient(address, 60_000, client.session_id, client.password)
        assert again.session_id == client.session_id
        assert again.ask(codes.CREATE, create("/49/a", flags=2)).body == string("/49/a0000000001")
    finally:
        other.stop()
