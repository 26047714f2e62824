"""The requests of ZooKeeper's protocol, without sockets."""

from __future__ import annotations

import struct

import pytest

from kafkapy.zk.embedded import codes
from kafkapy.zk.embedded.acls import Acl, digest_identity, encode_acls
from kafkapy.zk.embedded.codes import Code
from kafkapy.zk.embedded.jute import INT, Decoder, string, strings
from kafkapy.zk.embedded.settings import Settings
from tests.zk.embedded.machine_client import MachineClient, clock_of, new_machine
from tests.zk.embedded.raw_client import create, create_ttl, delete, multi, read, set_data

CREATED, DELETED, CHANGED, CHILDREN = 1, 2, 3, 4


def stat_of(body: bytes) -> dict[str, int]:
    names = (
        "czxid",
        "mzxid",
        "ctime",
        "mtime",
        "version",
        "cversion",
        "aversion",
        "owner",
        "data_length",
        "children",
        "pzxid",
    )
    return dict(zip(names, struct.unpack("!qqqqiiiqiiq", body[-68:]), strict=True))


def test_a_node_is_created_read_changed_and_deleted() -> None:
    client = MachineClient(new_machine())
    answer = client.ask(codes.CREATE, create("/a", b"one"))
    assert (answer.code, answer.zxid, answer.body) == (0, 2, string("/a"))
    assert client.ask(codes.SET_DATA, set_data("/a", b"three", 0)).zxid == 3
    body = client.ask(codes.GET_DATA, read("/a")).body
    assert Decoder(body).buffer() == b"three"
    stat = stat_of(body)
    assert (stat["czxid"], stat["mzxid"], stat["version"], stat["data_length"]) == (2, 3, 1, 5)
    assert client.ask(codes.SET_DATA, set_data("/a", b"", 0)).code == Code.BAD_VERSION
    assert client.ask(codes.DELETE, delete("/a", 1)).code == 0
    assert client.ask(codes.EXISTS, read("/a")).code == Code.NO_NODE


def test_a_write_that_fails_takes_a_zxid_and_a_read_none() -> None:
    client = MachineClient(new_machine())
    assert client.ask(codes.DELETE, delete("/none")).zxid == 2
    assert client.ask(codes.EXISTS, read("/none")).zxid == 2
    assert client.ask(codes.CREATE, create("/a")).zxid == 3


def test_sequential_names_count_the_children_that_ever_were() -> None:
    client = MachineClient(new_machine())
    client.ask(codes.CREATE, create("/q"))
    assert client.ask(codes.CREATE, create("/q/n-", flags=2)).body == string("/q/n-0000000000")
    client.ask(codes.DELETE, delete("/q/n-0000000000"))
    assert client.ask(codes.CREATE, create("/q/n-", flags=3)).body == string("/q/n-0000000001")
    stat = stat_of(client.ask(codes.EXISTS, read("/q")).body)
    assert (stat["cversion"], stat["children"]) == (3, 1)


def test_ephemeral_nodes_go_with_their_session_and_have_no_children() -> None:
    machine = new_machine()
    client, other = MachineClient(machine), MachineClient(machine)
    client.ask(codes.CREATE, create("/e", flags=1))
    assert stat_of(other.ask(codes.EXISTS, read("/e", watch=True)).body)["owner"] == client.session_id
    assert other.ask(codes.CREATE, create("/e/child")).code == Code.NO_CHILDREN_FOR_EPHEMERALS
    assert client.ask(codes.CLOSE_SESSION).code == 0
    assert client.hung_up
    assert other.events() == [(DELETED, "/e")]


@pytest.mark.parametrize(
    ("prefix", "found"),
    [("/", True), ("", True), (" / ", True), ("/\x01", True), ("/e", True), ("/f", False), ("\u2003", False)],
)
def test_ephemeral_nodes_are_found_by_a_prefix_that_is_trimmed_as_in_java(prefix: str, found: bool) -> None:
    client = MachineClient(new_machine())
    client.ask(codes.CREATE, create("/e1", flags=1))
    expected = strings(["/e1"] if found else [])
    assert client.ask(codes.GET_EPHEMERALS, string(prefix)).body == expected


def test_a_silent_session_expires_at_its_tick_and_one_that_pings_does_not() -> None:
    machine = new_machine(Settings(tick_time_ms=500))
    silent, lively = MachineClient(machine, timeout_ms=2000), MachineClient(machine, timeout_ms=2000)
    silent.ask(codes.CREATE, create("/silent", flags=1))
    lively.ask(codes.CREATE, create("/lively", flags=1))
    for _ in range(6):
        clock_of(machine).advance(machine.tick())
        lively.ask(codes.PING)
    assert lively.children("/") == ["lively", "zookeeper"]
    assert silent.hung_up and not lively.hung_up
    assert list(machine.sessions) == [lively.session_id]


def test_a_process_that_slept_gives_its_sessions_the_time_back() -> None:
    machine = new_machine(Settings(tick_time_ms=500))
    client = MachineClient(machine, timeout_ms=2000)
    machine.tick()
    clock_of(machine).advance(60_000)
    machine.tick()
    assert client.session_id in machine.sessions


def test_time_outs_are_negotiated() -> None:
    machine = new_machine(Settings(min_session_timeout_ms=1000, max_session_timeout_ms=5000))
    assert [MachineClient(machine, timeout_ms=each).timeout_ms for each in (1, 3000, 99_999)] == [1000, 3000, 5000]


def test_a_session_is_carried_on_with_its_password_only() -> None:
    machine = new_machine()
    first = MachineClient(machine)
    wrong = MachineClient(machine, session_id=first.session_id, password=b"x" * 16)
    assert (wrong.session_id, wrong.timeout_ms, wrong.hung_up, first.hung_up) == (0, 0, True, False)
    second = MachineClient(machine, session_id=first.session_id, password=first.password)
    assert (second.session_id, first.hung_up) == (first.session_id, True)
    assert second.ask(codes.CREATE, create("/e", flags=1)).code == 0


def test_events_come_once_and_before_the_answer_that_shows_the_change() -> None:
    machine = new_machine()
    client, other = MachineClient(machine), MachineClient(machine)
    client.ask(codes.EXISTS, read("/a", watch=True))
    client.ask(codes.GET_CHILDREN, read("/", watch=True))
    other.ask(codes.CREATE, create("/a"))
    assert client.events() == [(CREATED, "/a"), (CHILDREN, "/")]
    client.ask(codes.GET_DATA, read("/a", watch=True))
    client.ask(codes.GET_CHILDREN, read("/a", watch=True))
    client.ask(codes.DELETE, delete("/a"))
    assert client.events() == [(DELETED, "/a")]  # one event, though it watched in two ways
    other.ask(codes.CREATE, create("/a"))
    assert client.events() == []


def test_persistent_and_recursive_watches() -> None:
    machine = new_machine()
    client, other = MachineClient(machine), MachineClient(machine)
    other.ask(codes.CREATE, create("/a"))
    client.ask(codes.ADD_WATCH, string("/a") + INT.pack(0))
    for _ in range(2):
        other.ask(codes.SET_DATA, set_data("/a", b""))
    other.ask(codes.CREATE, create("/a/b"))
    assert client.events() == [(CHANGED, "/a"), (CHANGED, "/a"), (CHILDREN, "/a")]
    client.ask(codes.REMOVE_WATCHES, string("/a") + INT.pack(4))
    client.ask(codes.ADD_WATCH, string("/a") + INT.pack(1))
    other.ask(codes.SET_DATA, set_data("/a/b", b""))
    other.ask(codes.DELETE, delete("/a/b"))
    assert client.events() == [(CHANGED, "/a/b"), (DELETED, "/a/b")]
    assert client.ask(codes.CHECK_WATCHES, string("/a") + INT.pack(5)).code == 0
    assert client.ask(codes.REMOVE_WATCHES, string("/a") + INT.pack(5)).code == 0
    assert client.ask(codes.REMOVE_WATCHES, string("/a") + INT.pack(3)).code == Code.NO_WATCHER


def test_watches_that_are_set_again_tell_what_was_missed() -> None:
    client = MachineClient(new_machine())
    for path in ("/same", "/changed", "/grown"):
        client.ask(codes.CREATE, create(path))
    since = client.machine.tree.last_zxid
    client.ask(codes.SET_DATA, set_data("/changed", b""))
    client.ask(codes.CREATE, create("/grown/child"))
    client.ask(
        codes.SET_WATCHES,
        struct.pack("!q", since)
        + strings(["/same", "/changed", "/gone"])
        + strings(["/grown"])
        + strings(["/grown", "/same"]),
    )
    assert client.events() == [(CHANGED, "/changed"), (DELETED, "/gone"), (CREATED, "/grown"), (CHILDREN, "/grown")]
    client.ask(codes.DELETE, delete("/same"))
    assert client.events() == [(DELETED, "/same")]


def test_a_multi_is_done_as_a_whole_and_its_operations_see_each_other() -> None:
    client = MachineClient(new_machine())
    answer = client.ask(
        codes.MULTI,
        multi(
            (codes.CREATE, create("/a")),
            (codes.CREATE, create("/a/b")),
            (codes.SET_DATA, set_data("/a", b"x", 0)),
            (codes.CHECK, delete("/a", 1)),
            (codes.DELETE, delete("/a/b")),
        ),
    )
    assert (answer.code, answer.zxid) == (0, 2)
    assert client.children("/") == ["a", "zookeeper"]
    assert client.children("/a") == []


def test_a_multi_that_fails_changes_nothing_and_tells_which_operation() -> None:
    client = MachineClient(new_machine())
    answer = client.ask(
        codes.MULTI, multi((codes.CREATE, create("/a")), (codes.DELETE, delete("/none")), (codes.CREATE, create("/b")))
    )
    errors = struct.Struct("!i?ii").iter_unpack(answer.body[:-9])
    assert [code for *_, code in errors] == [Code.OK, Code.NO_NODE, Code.RUNTIME_INCONSISTENCY]
    assert (answer.code, answer.zxid, client.children("/")) == (0, 2, ["zookeeper"])


def test_acls_grant_and_refuse() -> None:
    machine = new_machine()
    owner, other = MachineClient(machine), MachineClient(machine, host="10.1.0.1")
    assert owner.ask(codes.CREATE, create("/a", acls=(Acl(31, "auth", ""),))).code == Code.INVALID_ACL
    assert owner.ask(codes.AUTH, INT.pack(0) + string("digest") + string("me:secret")).code == 0
    null_id = string("/null") + INT.pack(0) + INT.pack(1) + INT.pack(31) + string("auth") + INT.pack(-1) + INT.pack(0)
    assert owner.ask(codes.CREATE, null_id).code == 0  # as kazoo sends an empty id
    assert owner.ask(codes.CREATE, create("/a", acls=(Acl(31, "auth", ""), Acl(1, "ip", "10.1.0.0/16")))).code == 0
    assert other.ask(codes.GET_DATA, read("/a", watch=True)).code == 0
    assert other.ask(codes.SET_DATA, set_data("/a", b"")).code == Code.NO_AUTH
    decoder = Decoder(other.ask(codes.GET_ACL, string("/a")).body)
    decoder.int32(), decoder.int32(), decoder.string()
    assert decoder.string() == "me:x"  # the digest is for those who may change it
    only_owner = (Acl(31, *digest_identity(b"me:secret")),)
    assert owner.ask(codes.SET_ACL, string("/a") + encode_acls(only_owner) + INT.pack(0)).code == 0
    owner.ask(codes.SET_DATA, set_data("/a", b"hidden"))
    assert other.events() == []  # no event of a node that it may not read
    assert other.ask(codes.GET_DATA, read("/a")).code == Code.NO_AUTH


def test_containers_go_when_their_last_child_has_gone_and_ttl_nodes_when_nobody_changes_them() -> None:
    machine = new_machine()
    client = MachineClient(machine)
    client.ask(codes.CREATE_CONTAINER, create("/c", flags=4))
    client.ask(codes.CREATE_TTL, create_ttl("/t", 5, 1000))
    clock_of(machine).advance(1000)
    machine.remove_unused_nodes()
    assert client.children("/") == ["c", "t", "zookeeper"]  # one was never used, one has a ms left
    client.ask(codes.CREATE, create("/c/child"))
    client.ask(codes.DELETE, delete("/c/child"))
    clock_of(machine).advance(1)
    machine.remove_unused_nodes()
    assert client.children("/") == ["zookeeper"]


def test_a_ttl_that_would_end_zookeeper_for_good_is_an_error() -> None:
    client = MachineClient(new_machine())
    assert client.ask(codes.CREATE_TTL, create_ttl("/t", 0, -1)).code == Code.BAD_ARGUMENTS
    assert client.ask(codes.CREATE_TTL, create_ttl("/t", 5, -1)).code == Code.BAD_ARGUMENTS
    without = MachineClient(new_machine(Settings()))
    assert without.ask(codes.CREATE_TTL, create_ttl("/t", 5, 1)).code == Code.UNIMPLEMENTED


def test_bad_paths_are_refused() -> None:
    client = MachineClient(new_machine())
    for path in (
        "a",
        "/a/",
        "//a",
        "/a/../b",
        "/./a",
        "/a\x01",
        "/\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    ):
        assert client.ask(codes.CREATE, create(path)).code in (Code.BAD_ARGUMENTS, Code.NO_NODE), path
    assert client.children("/") == ["zookeeper"]
    assert client.ask(codes.DELETE, delete("/zookeeper")).code == Code.BAD_ARGUMENTS


def test_what_is_no_record_is_answered_with_an_error_and_an_unknown_request_is_the_last() -> None:
    client = MachineClient(new_machine())
    assert client.ask(codes.RECONFIG).code == Code.RECONFIG_DISABLED
    for kind in (codes.CREATE, codes.GET_DATA, codes.MULTI, codes.SET_WATCHES):
        assert client.ask(kind, INT.pack(1 << 30)).code == Code.MARSHALLING_ERROR
    assert client.ask(4242).code == Code.UNIMPLEMENTED
    assert client.hung_up
