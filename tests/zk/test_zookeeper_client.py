"""The session against a real ZooKeeper: watches, lost connections, expired sessions."""

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from kafkapy.zk.errors import (
    NodeExistsError,
    NoNodeError,
    SessionExpiredError,
    ZooKeeperClientClosedError,
    ZooKeeperClientTimeoutError,
    ZooKeeperError,
)
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.request_pipeline import RequestPipeline
from kafkapy.zk.requests import Check, Create, Delete, Exists, GetChildren, GetData, Multi, MultiRead, SetData
from kafkapy.zk.zookeeper_client import ZooKeeperClient
from system_tests.proxy import Proxy
from tests.waiting import HANG_SECONDS
from tests.zookeeper_server import ZooKeeperServer

pytestmark = pytest.mark.integration

Events = queue.Queue[str]


@pytest.fixture
def connect(zk_connect: str) -> str:
    KafkaZkClient.connect(zk_connect).close()
    return zk_connect


@pytest.fixture
def client(connect: str) -> Iterator[ZooKeeperClient]:
    client = ZooKeeperClient(connect, 60_000)
    client.start(HANG_SECONDS * 1000)
    yield client
    client.close()


@pytest.fixture
def other(connect: str) -> Iterator[RequestPipeline]:
    """A second session, to change things behind the first one's back."""
    client = ZooKeeperClient(connect, 60_000)
    client.start(HANG_SECONDS * 1000)
    yield RequestPipeline(client)
    client.close()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[ZooKeeperServer]:
    """A ZooKeeper that the test may stop."""
    server = ZooKeeperServer(tmp_path)
    server.start()
    yield server
    server.stop()


def watch_all(client: ZooKeeperClient, path: str, events: Events) -> None:
    def put(kind: str) -> Callable[[], object]:
        return lambda: events.put(f"{kind} {path}")

    client.register_znode_change_handler(ZNodeChangeHandler(path, put("created"), put("deleted"), put("changed")))
    client.register_znode_child_change_handler(ZNodeChildChangeHandler(path, put("children")))


def next_event(events: Events) -> str:
    return events.get(timeout=HANG_SECONDS)


def expire(client: ZooKeeperClient) -> None:
    """End the session behind the client's back: another connection carries it on and closes it."""
    assert client.session_id is not None
    twin = KazooClient(client.connect.partition("/")[0], client_id=(client.session_id, client.session_password))
    twin.start()
    twin.stop()
    twin.close()


def test_requests_and_answers(client: ZooKeeperClient) -> None:
    answers = client.handle_requests(
        [
            Create("/a", b"1"),
            Create("/a"),
            GetData("/a"),
            Create("/null"),
            GetData("/null"),
            SetData("/a", b"2", 0),
            SetData("/a", b"3", 0),
            Exists("/missing"),
            GetChildren("/"),
            Create("/a/s_", b"", sequential=True),
            Delete("/a"),
        ]
    )
    assert [type(a.error).__name__ for a in answers if a.error] == [
        "NodeExistsError",
        "BadVersionError",
        "NoNodeError",
        "NotEmptyError",
    ]
    assert answers[0].path == "/a"
    assert (answers[2].data, answers[2].version) == (b"1", 0)
    assert answers[4].data is None
    assert answers[5].version == 1
    assert sorted(answers[8].children) == ["a", "null"]
    assert answers[9].path == "/a/s_0000000000"
    with pytest.raises(NodeExistsError, match="/a"):
        answers[1].raise_for_error()


def test_multi_is_all_or_nothing(client: ZooKeeperClient) -> None:
    client.handle_requests([Create("/v")])
    good, bad, gone = client.handle_requests(
        [
            Multi((Check("/v", 0), Create("/x", b"x"), SetData("/x", b"y", 0))),
            Multi((Create("/y"), Check("/v", 1), Create("/z"))),
            Multi((Delete("/missing"),)),
        ]
    )
    assert good.error is None
    assert good.results[2].version == 1
    assert type(bad.error).__name__ == "BadVersionError"
    assert [type(r.error).__name__ for r in bad.results] == ["RolledBackError", "BadVersionError", "RolledBackError"]
    assert isinstance(gone.error, NoNodeError)
    assert isinstance(client.handle_requests([Exists("/y")])[0].error, NoNodeError)


def test_many_nodes_are_read_at_once(client: ZooKeeperClient) -> None:
    client.handle_requests([Create("/m"), Create("/m/0", b"zero"), Create("/m/1"), Create("/m/2", b"x" * 1000)])
    client.handle_requests([SetData("/m/0", b"null", 0)])
    (answer,) = client.handle_requests([MultiRead(("/m/0", "/missing", "/m/1", "/m/2"))])
    assert answer.error is None
    first, missing, empty, last = answer.results
    assert (first.data, first.version) == (b"null", 1)
    assert isinstance(missing.error, NoNodeError)
    assert "/missing" in str(missing.error)
    assert (empty.data, last.data, last.version) == (None, b"x" * 1000, 0)


def test_watches_fire_once_and_are_set_by_reads(client: ZooKeeperClient, other: RequestPipeline) -> None:
    events: Events = queue.Queue()
    watch_all(client, "/w", events)
    other.answer_to(Create("/w"))
    other.answer_to(Delete("/w"))
    assert events.empty(), "registered but not read: no watch"
    client.handle_requests([Exists("/w")])
    other.answer_to(Create("/w"))
    assert next_event(events) == "created /w"
    other.answer_to(SetData("/w", b"unseen"))
    client.handle_requests([GetData("/w"), GetChildren("/w")])
    other.answer_to(Create("/w/child"))
    assert next_event(events) == "children /w"
    other.answer_to(SetData("/w", b"seen"))
    assert next_event(events) == "changed /w"
    client.handle_requests([GetData("/w"), GetChildren("/w"), GetChildren("/w", watch=False)])
    other.delete_recursive("/w")
    assert {next_event(events), next_event(events)} == {"children /w", "deleted /w"}
    client.unregister_znode_change_handler("/w")
    client.handle_requests([Exists("/w")])
    other.answer_to(Create("/w"))
    client.handle_requests([Exists("/w")])
    assert events.empty()


def test_watches_survive_a_lost_connection(client: ZooKeeperClient, other: RequestPipeline) -> None:
    """What changes while there is no connection is reported after it, once; what doesn't is watched on."""
    events: Events = queue.Queue()
    other.answers_to([Create("/changed"), Create("/deleted"), Create("/parent"), Create("/same")])
    for path in ("/changed", "/deleted", "/created", "/parent", "/same", "/later"):
        watch_all(client, path, events)
        client.handle_requests([Exists(path), GetChildren(path)])
    session = client.session_id
    lose_connection_during(
        client,
        lambda: other.answers_to(
            [SetData("/changed", b""), Delete("/deleted"), Create("/created"), Create("/parent/c")]
        ),
    )
    seen = {next_event(events) for _ in range(4)}
    assert seen == {"changed /changed", "deleted /deleted", "created /created", "children /parent"}
    other.answers_to([SetData("/same", b""), Create("/same/c"), Create("/later")])
    assert {next_event(events) for _ in range(3)} == {"changed /same", "children /same", "created /later"}
    assert events.empty()
    assert client.session_id == session


def lose_connection_during(client: ZooKeeperClient, action: Callable[[], object]) -> None:
    """Run `action` while the client has no connection."""
    lost, done = threading.Event(), threading.Event()

    def listener(state: str) -> None:
        if state == "SUSPENDED":
            lost.set()
            done.wait(HANG_SECONDS)

    client._kazoo.add_listener(listener)
    client._kazoo._connection._socket.shutdown(2)
    assert lost.wait(HANG_SECONDS)
    action()
    client._kazoo.remove_listener(listener)
    done.set()
    client.wait_until_connected(HANG_SECONDS * 1000)


def test_expired_session(client: ZooKeeperClient, other: RequestPipeline) -> None:
    log: Events = queue.Queue()
    blocked = threading.Event()

    def before() -> None:
        with pytest.raises(SessionExpiredError):
            client.handle_requests([Exists("/")])
        log.put(f"before, node is {'there' if other.answer_to(Exists('/mine')).error is None else 'gone'}")
        blocked.wait(HANG_SECONDS)

    def after() -> None:
        log.put(f"after, {client.handle_requests([Create('/mine', b'2', ephemeral=True)])[0].error}")

    client.register_state_change_handler(StateChangeHandler("broken", lambda: 1 / 0, lambda: 1 / 0))
    client.register_state_change_handler(StateChangeHandler("test", before, after))
    client.handle_requests([Create("/mine", b"1", ephemeral=True)])
    old = client.session_id
    expire(client)
    assert log.get(timeout=HANG_SECONDS) == "before, node is gone"
    with pytest.raises(SessionExpiredError):
        client.handle_requests([Exists("/")])
    with pytest.raises(SessionExpiredError):
        client.wait_until_connected()
    blocked.set()
    assert log.get(timeout=HANG_SECONDS) == "after, None"
    assert client.session_id != old
    assert old in client.past_session_ids
    assert other.answer_to(GetData("/mine")).data == b"2"


def test_no_watch_is_left_from_an_expired_session(client: ZooKeeperClient, other: RequestPipeline) -> None:
    events: Events = queue.Queue()
    renewed = threading.Event()
    client.register_state_change_handler(StateChangeHandler("test", after_initializing_session=renewed.set))
    watch_all(client, "/e", events)
    client.handle_requests([Exists("/e")])
    expire(client)
    assert renewed.wait(HANG_SECONDS)
    other.answer_to(Create("/e"))
    client.handle_requests([Exists("/e")])
    other.answer_to(SetData("/e", b""))
    assert next_event(events) == "changed /e"


def test_zookeeper_restarts(own_server: ZooKeeperServer) -> None:
    """Requests wait for ZooKeeper to come back; a session within its time-out goes on, watches too."""
    client = ZooKeeperClient(own_server.address, 30_000, max_in_flight_requests=50)
    client.start(30_000)
    pipeline = RequestPipeline(client)
    events: Events = queue.Queue()
    try:
        pipeline.answers_to([Create("/keep", b"1", ephemeral=True), Create("/n")])
        watch_all(client, "/n", events)
        pipeline.answer_to(GetData("/n"))
        session = client.session_id
        own_server.stop()
        answers: queue.Queue[list[ZooKeeperError | None]] = queue.Queue()
        requests = [Create(f"/n/{i}") for i in range(500)]
        thread = threading.Thread(target=lambda: answers.put([r.error for r in pipeline.answers_to(requests)]))
        thread.start()
        own_server.start()
        assert set(answers.get(timeout=HANG_SECONDS)) == {None}
        thread.join()
        assert client.session_id == session
        pipeline.answer_to(SetData("/n", b"new"))
        assert next_event(events) == "changed /n"
    finally:
        client.close()


def test_a_handshake_without_an_answer_is_tried_again(zookeeper: str) -> None:
    """As ZooKeeper does it while it starts: it takes the connection and forgets it."""
    host, _, port = zookeeper.partition(":")
    mute = socket.create_server(("127.0.0.1", 0))
    own_port = mute.getsockname()[1]
    client = ZooKeeperClient(f"127.0.0.1:{own_port}", 30_000)
    starting = threading.Thread(target=client.start, args=(20_000,))
    starting.start()
    forgotten, _ = mute.accept()
    forgotten.recv(4)
    mute.close()
    proxy = Proxy((host, int(port)), port=own_port)
    try:
        starting.join(HANG_SECONDS)
        assert client.state == "CONNECTED"
    finally:
        client.close()
        proxy.close()
        forgotten.close()


def test_closing_wakes_those_who_wait(own_server: ZooKeeperServer) -> None:
    client = ZooKeeperClient(own_server.address, 5000)
    client.start(HANG_SECONDS * 1000)
    own_server.stop()
    failure: queue.Queue[Exception] = queue.Queue()

    def request() -> None:
        try:
            RequestPipeline(client).answer_to(Exists("/"))
        except ZooKeeperError as error:
            failure.put(error)

    thread = threading.Thread(target=request)
    thread.start()
    client.close()
    assert isinstance(failure.get(timeout=HANG_SECONDS), ZooKeeperClientClosedError)
    thread.join()


def test_unreachable_zookeeper_is_a_clear_sentence() -> None:
    with pytest.raises(ZooKeeperClientTimeoutError, match=r"at 127\.0\.0\.1:1 after 300 ms\. .*refused"):
        KafkaZkClient.connect("127.0.0.1:1/chroot", connection_timeout_ms=300)


def test_thousands_of_requests(client: ZooKeeperClient) -> None:
    pipeline = RequestPipeline(client)
    pipeline.answer_to(Create("/many"))
    assert all(r.error is None for r in pipeline.answers_to([Create(f"/many/{i}") for i in range(3000)]))
    assert len(pipeline.answer_to(GetChildren("/many")).children) == 3000
    assert pipeline.delete_recursive("/many")
    assert not pipeline.delete_recursive("/many")
