"""Counting connections against limits, without any."""

from __future__ import annotations

from kafkapy.network.connection_quotas import ConnectionLimits, ConnectionQuotas, ListenerLimits


class Quotas(ConnectionQuotas):
    """Of a broker with the listeners CLIENTS and BROKERS (the inter-broker one), at a time that is set."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.now = 0
        super().__init__(limits, "BROKERS", lambda: self.now)
        for listener in ("CLIENTS", "BROKERS"):
            self.add_listener(listener)

    def open(self, listener: str, count: int, ip: str = "10.0.0.1") -> None:
        for _ in range(count):
            self.opened(listener, ip)


def test_all_listeners_share_the_brokers_slots_but_for_the_protected_one() -> None:
    quotas = Quotas(ConnectionLimits(ListenerLimits(max_connections=3)))
    quotas.open("BROKERS", 1)
    quotas.open("CLIENTS", 2)
    assert quotas.slots("CLIENTS") == 0
    assert quotas.slots("BROKERS") > 1
    quotas.open("BROKERS", 2)
    assert quotas.excess == 2
    quotas.closed("CLIENTS", "10.0.0.1")
    assert (quotas.excess, quotas.total, quotas.slots("CLIENTS")) == (1, 4, -1)


def test_the_only_listener_is_not_protected() -> None:
    quotas = Quotas(ConnectionLimits(ListenerLimits(max_connections=1)))
    quotas.remove_listener("CLIENTS")
    quotas.open("BROKERS", 1)
    assert quotas.slots("BROKERS") == 0


def test_a_listener_may_have_fewer_slots() -> None:
    limits = {"BROKERS": ListenerLimits(max_connections=1)}
    quotas = Quotas(ConnectionLimits(ListenerLimits(max_connections=9), limits))
    quotas.open("BROKERS", 1)
    assert (quotas.slots("BROKERS"), quotas.slots("CLIENTS")) == (0, 8)


def test_addresses() -> None:
    quotas = Quotas(
        ConnectionLimits(max_connections_per_ip=1, max_connections_per_ip_overrides={"10.0.0.2": 2, "10.0.0.3": 0})
    )
    quotas.open("CLIENTS", 1, "10.0.0.1")
    quotas.open("CLIENTS", 1, "10.0.0.2")
    assert [quotas.is_full_for(f"10.0.0.{i}") for i in range(1, 5)] == [True, False, True, False]
    quotas.closed("CLIENTS", "10.0.0.1")
    assert not quotas.is_full_for("10.0.0.1")


def test_whom_the_rates_concern() -> None:
    limits = ConnectionLimits(ListenerLimits(max_creation_rate=5), {"BROKERS": ListenerLimits(max_connections=5)})
    quotas = Quotas(limits)
    assert (quotas.is_rated("CLIENTS"), quotas.is_rated("BROKERS")) == (True, False), "the latter is protected"
    quotas.limits = ConnectionLimits(listeners={"BROKERS": ListenerLimits(max_creation_rate=5)})
    assert (quotas.is_rated("CLIENTS"), quotas.is_rated("BROKERS")) == (False, True)


def test_the_rate_of_new_connections() -> None:
    """Ten seconds' worth may come at once; then the next has to wait."""
    quotas = Quotas(
        ConnectionLimits(
            ListenerLimits(max_creation_rate=2),
            {"CLIENTS": ListenerLimits(max_creation_rate=1), "BROKERS": ListenerLimits(max_creation_rate=4)},
        )
    )
    for _ in range(10):
        quotas.accepted("CLIENTS")
    assert quotas.delay_ms("CLIENTS") == 0
    quotas.accepted("CLIENTS")
    assert quotas.delay_ms("CLIENTS") == 1000, "of the listener"
    assert quotas.delay_ms("BROKERS") == 0
    for _ in range(40):
        quotas.accepted("BROKERS")
    assert quotas.delay_ms("BROKERS") == 0, "the broker's limit is not for the protected one"
    quotas.limits = ConnectionLimits(ListenerLimits(max_creation_rate=1))
    assert quotas.delay_ms("CLIENTS") == 1000, "of the broker"
    quotas.now = 11_000
    assert quotas.delay_ms("CLIENTS") == 0
