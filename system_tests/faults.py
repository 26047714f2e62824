"""The vocabulary of faults, and random sequences of them: the same seed gives the same sequence, on every machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from random import Random
from typing import NamedTuple

from system_tests.cluster import Cluster
from system_tests.limits import NoLimit, few_descriptors, share_of_a_core
from system_tests.network import PEERS, SIDES
from system_tests.services import KafkaService, wait_until
from system_tests.workload import Workload

CONTROLLER = -1
"""In place of a broker's number: whoever is the controller then."""


class Fault(NamedTuple):
    """`broker`: whom it befalls. `seconds`: how long it lasts. `churn`: does a consumer leave meanwhile, and another come?
    `sides`: what a partition cuts the broker off from."""

    name: str
    broker: int
    seconds: float
    churn: bool = False
    sides: tuple[str, ...] = ()

    def __str__(self) -> str:
        whom = "the controller" if self.broker == CONTROLLER else f"broker {self.broker}"
        from_whom = f" from {', '.join(self.sides)}" if self.sides else ""
        consumers = "; a consumer leaves, another comes" if self.churn else ""
        return f"{self.name} of {whom}{from_whom}, {self.seconds:.1f} s{consumers}"


class NotHere(Exception):
    """The machine does not allow this fault."""


def sequence(seed: int, count: int, brokers: int) -> list[Fault]:
    """`count` faults, drawn with `seed` only; each kind comes up before one comes up a second time."""
    chance = Random(f"faults {seed}")
    faults: list[Fault] = []
    names: list[str] = []
    for _ in range(count):
        if not names:
            names = sorted(FAULTS)
            chance.shuffle(names)
        name = names.pop()
        broker = chance.choice([CONTROLLER, *range(brokers)])
        seconds = round(chance.uniform(*FAULTS[name].seconds), 1)
        sides = _sides(chance, brokers) if name == "partition" else ()
        faults.append(Fault(name, broker, seconds, chance.random() < 0.3, sides))
    return faults


def _sides(chance: Random, brokers: int) -> tuple[str, ...]:
    """What a broker is cut off from: one side, two, or everything; other brokers only where there are some."""
    there = [side for side in SIDES if side != PEERS or brokers > 1]
    return tuple(sorted(chance.sample(there, chance.randint(1, len(there)))))


def inflict(cluster: Cluster, work: Workload, fault: Fault) -> str:
    """Returns when the fault is over and undone, and the brokers serve again; returns whom it befell.

    Raises `NotHere`, and `ServiceError` if a broker does not come back.
    """
    number = cluster.controller() if fault.broker == CONTROLLER else fault.broker
    with ThreadPoolExecutor(1) as beside:
        churn = beside.submit(work.replace_consumer) if fault.churn else None
        FAULTS[fault.name].do(cluster, number, fault)
        if churn is not None:
            churn.result()
    return f"broker {number}"


# ---------------------------------------------------------------------------------------------------- the vocabulary


def _clean_shutdown(cluster: Cluster, number: int, fault: Fault) -> None:
    broker = cluster.brokers[number]
    broker.clean_shutdown()
    time.sleep(fault.seconds)
    broker.start()


def _hard_kill(cluster: Cluster, number: int, fault: Fault) -> None:
    broker = cluster.brokers[number]
    broker.hard_kill()
    time.sleep(fault.seconds)
    broker.start()


def _clean_bounce(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.brokers[number].clean_bounce()


def _hard_bounce(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.brokers[number].hard_bounce()


def _hard_kill_of_all(cluster: Cluster, number: int, fault: Fault) -> None:
    """A power failure of everything but the disks: ZooKeeper stays, so that the brokers know each other again."""
    for broker in cluster.brokers:
        broker.hard_kill()
    time.sleep(fault.seconds)
    for broker in cluster.brokers:
        broker.start(wait=False)
    for broker in cluster.brokers:
        broker.wait_until_serving()


def _pause(cluster: Cluster, number: int, fault: Fault) -> None:
    with cluster.brokers[number].paused():
        time.sleep(fault.seconds)


def _partition(cluster: Cluster, number: int, fault: Fault) -> None:
    with _healed(cluster, number):
        cluster.network.partition(number, fault.sides)
        time.sleep(fault.seconds)


def _slow_link(cluster: Cluster, number: int, fault: Fault) -> None:
    with _healed(cluster, number):
        cluster.network.slow(number, kilobits=3000, delay=0.1)
        time.sleep(fault.seconds)


def _cut_connections(cluster: Cluster, number: int, fault: Fault) -> None:
    """Those of clients, again and again."""
    end = time.monotonic() + fault.seconds
    while time.monotonic() < end:
        cluster.lines[number].clients.cut()
        time.sleep(0.3)


def _half_closed_connections(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.lines[number].clients.half_close()
    time.sleep(fault.seconds)


def _stalled_connections(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.lines[number].clients.stall()
    time.sleep(fault.seconds)


def _disk_full(cluster: Cluster, number: int, fault: Fault) -> None:
    """The broker ends, or not, as it finds out; then there is room again."""
    if not cluster.disks:
        raise NotHere("only root can mount a small file system")
    broker = cluster.brokers[number]
    cluster.fill_disk(number)
    try:
        time.sleep(fault.seconds)
    finally:
        cluster.empty_disk(number)
    _start_if_ended(broker)


def _few_descriptors(cluster: Cluster, number: int, fault: Fault) -> None:
    """New connections and segments find no descriptor. A broker that could not open a file of its only disk gives that up."""
    broker = cluster.brokers[number]
    with few_descriptors(broker.pid, spare=2):
        time.sleep(fault.seconds)
    _start_if_ended(broker)


def _starved(cluster: Cluster, number: int, fault: Fault) -> None:
    try:
        with share_of_a_core(cluster.brokers[number].pid, 0.05):
            time.sleep(fault.seconds)
    except NoLimit as error:
        raise NotHere(str(error)) from error


_DISK_ERRORS = ("No space left on device", "Stopping serving logs in dir")


def _start_if_ended(broker: KafkaService) -> None:
    """A broker whose only disk has failed ends, soon."""
    if any(error in broker.text() for error in _DISK_ERRORS):
        wait_until(lambda: not broker.is_running, 30, f"{broker.name} ends, for want of a disk")
    if not broker.is_running:
        broker.close()
        broker.start()


def _zookeeper_lost(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.zookeeper.hard_kill()
    time.sleep(fault.seconds)
    cluster.zookeeper.start()


def _zookeeper_stopped(cluster: Cluster, number: int, fault: Fault) -> None:
    """It answers nobody, and its connections stay open; sessions expire, or not, when it goes on."""
    with cluster.zookeeper.paused():
        time.sleep(fault.seconds)


def _zookeeper_restart(cluster: Cluster, number: int, fault: Fault) -> None:
    cluster.zookeeper.clean_bounce()


def _session_expired(cluster: Cluster, number: int, fault: Fault) -> None:
    broker = cluster.brokers[number]
    epoch = broker.wait_until_in_zookeeper()
    broker.expire_session()
    broker.wait_until_in_zookeeper(after_epoch=epoch)


@contextmanager
def _healed(cluster: Cluster, number: int) -> Iterator[None]:
    try:
        yield
    finally:
        cluster.network.heal(number)


class _Entry(NamedTuple):
    do: Callable[[Cluster, int, Fault], None]
    seconds: tuple[float, float]
    """How long it lasts, at least and at most."""


FAULTS = {
    "clean_shutdown": _Entry(_clean_shutdown, (0, 5)),
    "hard_kill": _Entry(_hard_kill, (0, 8)),
    "clean_bounce": _Entry(_clean_bounce, (0, 0)),
    "hard_bounce": _Entry(_hard_bounce, (0, 0)),
    "hard_kill_of_all": _Entry(_hard_kill_of_all, (0, 3)),
    "pause": _Entry(_pause, (0.5, 10)),
    "partition": _Entry(_partition, (1, 12)),
    "slow_link": _Entry(_slow_link, (2, 8)),
    "cut_connections": _Entry(_cut_connections, (0, 4)),
    "half_closed_connections": _Entry(_half_closed_connections, (0, 1)),
    "stalled_connections": _Entry(_stalled_connections, (0, 1)),
    "disk_full": _Entry(_disk_full, (2, 5)),
    "few_descriptors": _Entry(_few_descriptors, (1, 6)),
    "starved": _Entry(_starved, (1, 8)),
    "zookeeper_lost": _Entry(_zookeeper_lost, (1, 10)),
    "zookeeper_stopped": _Entry(_zookeeper_stopped, (1, 10)),
    "zookeeper_restart": _Entry(_zookeeper_restart, (0, 0)),
    "session_expired": _Entry(_session_expired, (0, 0)),
}
