"""The network of a cluster: every broker reaches ZooKeeper, the others and its clients over lines that can be cut.

As root each broker has a network namespace, and a cut swallows packets without a word. Without, proxies on 127.0.0.1
stand before ZooKeeper and the brokers' own listener; a cut stops what others send to the broker, not what it sends them.
Clients come through a proxy in both cases.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Iterable
from typing import Protocol

from kafkapy.common.free_ports import free_ports
from system_tests.proxy import Proxy
from system_tests.services import HOST

PEERS, ZOOKEEPER, CLIENTS = "brokers", "zookeeper", "clients"
SIDES = (PEERS, ZOOKEEPER, CLIENTS)


class BrokerLines:
    """Where a broker is, and its proxies. `listeners` and `zookeeper` are what its properties must say."""

    def __init__(self, host: str, zookeeper: str, prefix: tuple[str, ...] = (), source: str | None = None) -> None:
        self.host = host
        self.prefix = prefix
        self.port, client_port = free_ports(2)
        self.clients = Proxy((host, client_port), source=source)
        self.zookeeper = zookeeper
        self.peers_address = f"{host}:{self.port}"
        self._client_listener = f"{host}:{client_port}"

    @property
    def properties(self) -> dict[str, object]:
        """Clients are sent through the proxy."""
        return {
            "listeners": f"PLAINTEXT://{self.host}:{self.port},CLIENTS://{self._client_listener}",
            "advertised.listeners": f"PLAINTEXT://{self.peers_address},CLIENTS://{HOST}:{self.clients.port}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
        }


class Network(Protocol):
    zookeeper_host: str

    def add_broker(self, number: int, zookeeper_port: int) -> BrokerLines: ...

    def partition(self, number: int, sides: Iterable[str]) -> None:
        """Cut the broker off from these (`SIDES`)."""

    def heal(self, number: int) -> None:
        """Undo `partition` and `slow`."""

    def slow(self, number: int, kilobits: int, delay: float) -> None:
        """Limit what the broker sends to the others, and both directions to its clients, which get `delay` seconds too."""

    def close(self) -> None: ...


def make_network() -> Network:
    return NamespaceNetwork() if NamespaceNetwork.is_possible() else ProxyNetwork()


class ProxyNetwork:
    """All on 127.0.0.1."""

    zookeeper_host = HOST

    def __init__(self) -> None:
        self._brokers: dict[int, dict[str, Proxy]] = {}

    def add_broker(self, number: int, zookeeper_port: int) -> BrokerLines:
        to_zookeeper = Proxy((HOST, zookeeper_port))
        lines = BrokerLines(HOST, f"{HOST}:{to_zookeeper.port}")
        peers = Proxy((HOST, lines.port))
        lines.peers_address = f"{HOST}:{peers.port}"
        self._brokers[number] = {PEERS: peers, ZOOKEEPER: to_zookeeper, CLIENTS: lines.clients}
        return lines

    def partition(self, number: int, sides: Iterable[str]) -> None:
        for side in sides:
            self._brokers[number][side].freeze()

    def heal(self, number: int) -> None:
        for proxy in self._brokers[number].values():
            proxy.thaw()
            proxy.delay = proxy.rate = 0.0

    def slow(self, number: int, kilobits: int, delay: float) -> None:
        for side in (PEERS, CLIENTS):
            proxy = self._brokers[number][side]
            proxy.delay, proxy.rate = delay, kilobits * 125

    def close(self) -> None:
        for proxies in self._brokers.values():
            for proxy in proxies.values():
                proxy.close()


class NamespaceNetwork:
    """A bridge with a namespace for each broker: 10.231.N.(10 + broker id); ZooKeeper is at .1, clients come from .2.

    A line is cut by a permanent neighbour entry with a hardware address that nobody has: packets go nowhere, as behind a
    broken switch, and nobody is told.
    """

    _NOBODY = "02:00:00:de:ad:00"
    _made = itertools.count()

    def __init__(self) -> None:
        number = next(self._made)
        self._net = f"10.231.{(os.getpid() * 16 + number) % 256}"
        self._bridge = f"kpy{os.getpid() % 100_000}-{number}"
        self.zookeeper_host = f"{self._net}.1"
        self._clients_host = f"{self._net}.2"
        self._brokers: dict[int, BrokerLines] = {}
        self._namespaces: list[str] = []
        _ip("link", "add", self._bridge, "type", "bridge")
        for host in (self.zookeeper_host, self._clients_host):
            _ip("address", "add", f"{host}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    @staticmethod
    def is_possible() -> bool:
        """Are we root on a Linux with namespaces and bridges?"""
        name = f"kpyt{os.getpid() % 100_000}"
        try:
            _ip("link", "add", name, "type", "bridge")
            _ip("link", "del", name)
            _ip("netns", "add", name)
            _ip("netns", "del", name)
        except (OSError, subprocess.CalledProcessError):
            return False
        return True

    def _namespace(self, number: int) -> str:
        return f"{self._bridge}-{number}"

    def _host(self, number: int) -> str:
        return f"{self._net}.{10 + number}"

    def add_broker(self, number: int, zookeeper_port: int) -> BrokerLines:
        namespace, outer = self._namespace(number), f"{self._bridge}v{number}"
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)
        _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _ip("link", "set", outer, "master", self._bridge, "up")
        for command in (
            ("address", "add", f"{self._host(number)}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", namespace, *command)
        lines = BrokerLines(
            self._host(number),
            f"{self.zookeeper_host}:{zookeeper_port}",
            ("ip", "netns", "exec", namespace),
            source=self._clients_host,
        )
        self._brokers[number] = lines
        return lines

    def _hosts(self, number: int, side: str) -> list[str]:
        if side == PEERS:
            return [self._host(other) for other in self._brokers if other != number]
        return [self.zookeeper_host if side == ZOOKEEPER else self._clients_host]

    def partition(self, number: int, sides: Iterable[str]) -> None:
        for side in sides:
            for host in self._hosts(number, side):
                entry = (host, "lladdr", self._NOBODY, "nud", "permanent", "dev", "eth0")
                _ip("-n", self._namespace(number), "neighbour", "replace", *entry)

    def heal(self, number: int) -> None:
        _ip("-n", self._namespace(number), "neighbour", "flush", "dev", "eth0", "nud", "permanent")
        _tc(self._namespace(number), "qdisc", "del", "dev", "eth0", "root", check=False)
        self._brokers[number].clients.delay = 0.0

    def slow(self, number: int, kilobits: int, delay: float) -> None:
        limits = ("rate", f"{kilobits}kbit", "burst", "32kb", "latency", "400ms")
        _tc(self._namespace(number), "qdisc", "replace", "dev", "eth0", "root", "tbf", *limits)
        self._brokers[number].clients.delay = delay

    def close(self) -> None:
        for lines in self._brokers.values():
            lines.clients.close()
        for namespace in self._namespaces:
            _ip("netns", "del", namespace)
        _ip("link", "del", self._bridge)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True)


def _tc(namespace: str, *arguments: str, check: bool = True) -> None:
    subprocess.run(["tc", "-n", namespace, *arguments], check=check, capture_output=True, text=True)
