"""kafkatest's `consumer_test` with kafka-verifiable-consumer: members and brokers come and go, each partition has one
reader at a time, positions and commits agree, and nobody rebalances without need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from system_tests.clients import create_topic
from system_tests.cluster import Cluster
from system_tests.conftest import NewCluster
from system_tests.services import wait_until
from system_tests.verifiable import VerifiableGroup, VerifiableProducer, dead

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]
TOPIC = "test_topic"
P0 = (TOPIC, 0)
BOUNCES = 3
NewGroup = Callable[..., VerifiableGroup]


@pytest.fixture
def cluster(new_cluster: NewCluster) -> Cluster:
    """Two running brokers and a topic of one partition."""
    configs = {"min.insync.replicas": 1, "group.max.session.timeout.ms": 60000}
    cluster = new_cluster(2, configs).start()
    create_topic(cluster.bootstrap, TOPIC, 1, replication=2)
    return cluster


@pytest.fixture
def producer(cluster: Cluster, tmp_path: Path) -> Iterator[VerifiableProducer]:
    """At work."""
    producer = VerifiableProducer(tmp_path / "producer", cluster.bootstrap, TOPIC, throughput=500)
    producer.start()
    producer.wait_for(200)
    yield producer
    producer.close()


@pytest.fixture
def new_group(cluster: Cluster, tmp_path: Path) -> Iterator[NewGroup]:
    with ExitStack() as ending:

        def new(size: int = 3, static: bool = False, session_seconds: int = 10, *options: str) -> VerifiableGroup:
            timeout = ("--session-timeout", str(session_seconds * 1000))
            group = VerifiableGroup(tmp_path / "group", cluster.bootstrap, TOPIC, size, static, *timeout, *options)
            ending.callback(group.close)
            return group

        yield new


def check_consumed_once(group: VerifiableGroup) -> None:
    """All that was read was read once, from the beginning on."""
    assert group.position(P0) == group.consumed


def bounce_consumers(group: VerifiableGroup, mode: str, keep_alive: int = 0) -> None:
    for _ in range(BOUNCES):
        members = group.members[keep_alive:]
        for some in [members] if mode == "all" else [[member] for member in members]:
            for member in some:
                member.clean_shutdown()
            for member in some:
                member.start(wait=False)
            group.await_members()
            group.await_consumed()


def bounce_brokers(cluster: Cluster, group: VerifiableGroup, bounces: int) -> None:
    for _ in range(bounces):
        for broker in cluster.brokers:
            broker.clean_bounce()
            cluster.wait_until_healthy()
            group.await_members()
            group.await_consumed()


def test_broker_rolling_bounce(cluster: Cluster, producer: VerifiableProducer, new_group: NewGroup) -> None:
    """Nobody rebalances."""
    group = new_group(session_seconds=30).start()
    before = group.rebalances
    bounce_brokers(cluster, group, 2)
    assert group.rebalances == before
    group.stop_all()
    check_consumed_once(group)


@pytest.mark.parametrize("mode", ["all", "rolling"])
def test_consumer_bounce(producer: VerifiableProducer, new_group: NewGroup, mode: str) -> None:
    group = new_group().start()
    bounce_consumers(group, mode)
    group.stop_all()
    check_consumed_once(group)


@pytest.mark.parametrize("static", [True, False], ids=["static", "dynamic"])
@pytest.mark.parametrize("mode", ["all", "rolling"])
def test_static_consumer_bounce(producer: VerifiableProducer, new_group: NewGroup, mode: str, static: bool) -> None:
    """Who stays loses nothing while static members are away, and has to share anew when dynamic ones are."""
    group = new_group(3, static, 60).start()
    before = group.members[0].revocations
    bounce_consumers(group, mode, keep_alive=1)
    revoked = group.members[0].revocations - before
    assert revoked == 0 if static else revoked > 0
    group.stop_all()
    check_consumed_once(group)


@pytest.mark.parametrize("mode", ["all", "rolling"])
def test_static_consumer_persisted_after_rejoin(
    cluster: Cluster, producer: VerifiableProducer, new_group: NewGroup, mode: str
) -> None:
    """The new id of a static member that came back outlives the coordinator."""
    group = new_group(3, True, 60).start()
    for some in [group.members] if mode == "all" else [[member] for member in group.members]:
        for member in some:
            member.clean_shutdown()
        for member in some:
            member.start(wait=False)
        group.await_members()
    bounce_brokers(cluster, group, 1)
    assert dead(group.members) == []


@pytest.mark.parametrize("conflicts", [1, 2])
@pytest.mark.parametrize("stage", ["stable", "all"])
def test_fencing_static_consumer(
    cluster: Cluster, producer: VerifiableProducer, new_group: NewGroup, tmp_path: Path, conflicts: int, stage: str
) -> None:
    """Of two with one group.instance.id only one is left; which one follows from who came later."""
    timeout = ("--session-timeout", "60000")
    group = new_group(3, True, 60)
    intruders = VerifiableGroup(tmp_path / "intruders", cluster.bootstrap, TOPIC, conflicts, True, *timeout)
    both = [*group.members, *intruders.members]
    try:
        if stage == "stable":
            group.start()
            intruders.start()
            group.await_members(3 - conflicts)
            wait_until(lambda: len(dead(group.members)) == conflicts, 30, "those who were fenced have ended")
            assert dead(intruders.members) == []
        else:
            for member in both:
                member.start(wait=False)
            wait_until(lambda: len(dead(both)) == conflicts, 60, "one of each two has ended")
            wait_until(
                lambda: sum(member.joined for member in (*group.update(), *intruders.update())) == 3,
                60,
                "three members have joined",
            )
        assert len({owner for g in (group, intruders) if (owner := g.owner(P0)) is not None}) == 1
    finally:
        intruders.close()


@pytest.mark.parametrize("autocommit", [True, False], ids=["auto", "manual"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "hard"])
def test_consumer_failure(producer: VerifiableProducer, new_group: NewGroup, clean: bool, autocommit: bool) -> None:
    """The owner goes, and another takes its place."""
    group = new_group(3, False, 6, *(["--enable-autocommit"] if autocommit else [])).start()
    owner = group.owner(P0)
    assert owner is not None
    group.await_consumed()
    if clean:
        owner.clean_shutdown()
    else:
        owner.hard_kill()
    wait_until(lambda: sum(member.joined for member in group.update()) == 2, 30, "the other two have joined anew")
    wait_until(lambda: group.owner(P0) is not None, 30, "the partition has an owner")
    group.await_consumed(500)
    group.stop_all()
    if clean:
        check_consumed_once(group)
    else:
        assert group.position(P0) <= group.consumed
    if not autocommit:
        assert group.committed(P0) == group.position(P0)


@pytest.mark.parametrize("autocommit", [True, False], ids=["auto", "manual"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "hard"])
def test_broker_failure(
    cluster: Cluster, producer: VerifiableProducer, new_group: NewGroup, clean: bool, autocommit: bool
) -> None:
    """A broker goes for good; the group does not rebalance."""
    group = new_group(3, False, 20, *(["--enable-autocommit"] if autocommit else [])).start()
    group.await_consumed()
    before = group.rebalances
    if clean:
        cluster.brokers[0].clean_shutdown()
    else:
        cluster.brokers[0].hard_kill()
    group.await_consumed(500)
    assert group.rebalances == before
    group.stop_all()
    check_consumed_once(group)
    if not autocommit:
        assert group.committed(P0) == group.position(P0)


def test_group_consumption(producer: VerifiableProducer, new_group: NewGroup) -> None:
    """Members come one by one and go one by one; the partition is read all the time."""
    group = new_group()
    for started, member in enumerate(group.members, 1):
        member.start(wait=False)
        group.await_members(started)
        group.await_consumed()
    for stopped, member in enumerate(group.members, 1):
        member.clean_shutdown()
        if stopped < len(group.members):
            group.await_members(len(group.members) - stopped)
            group.await_consumed()
    check_consumed_once(group)
    assert group.committed(P0) == group.position(P0)


@pytest.mark.parametrize("strategy", ["Range", "RoundRobin", "Sticky", "CooperativeSticky"])
def test_valid_assignment(cluster: Cluster, tmp_path: Path, strategy: str) -> None:
    """Each partition belongs to one member, whoever has joined."""
    create_topic(cluster.bootstrap, "six", 6)
    option = ("--assignment-strategy", f"org.apache.kafka.clients.consumer.{strategy}Assignor")
    group = VerifiableGroup(tmp_path / "group", cluster.bootstrap, "six", 3, False, *option)
    six = {("six", partition) for partition in range(6)}

    def valid(started: int) -> bool:
        shares = [member.assigned for member in group.update()[:started]]
        return set().union(*shares) == six and sorted(map(len, shares)) == [6 // started] * started

    try:
        for started, member in enumerate(group.members, 1):
            member.start(wait=False)
            wait_until(lambda n=started: valid(n), 60, f"{started} members share all six partitions")  # type: ignore[misc]
        group.stop_all()
    finally:
        group.close()
