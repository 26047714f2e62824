"""Quotas as the broker uses them."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.limits import MAX_INT
from kafkapy.common.time import MockTime
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback
from kafkapy.server.quotas.client_quota_manager import ClientQuotaManager
from kafkapy.server.quotas.controller_mutation_quota_manager import UNBOUNDED
from kafkapy.server.quotas.ip_connection_rates import UNLIMITED_RATE
from kafkapy.server.quotas.quota_entity import QuotaType
from kafkapy.server.quotas.quota_managers import QuotaManagers
from tests.server.quotas.requests import request_of

ALICE = KafkaPrincipal("User", "alice")
MS = 1_000_000
TENTH_OF_A_SECOND = 100 * MS


@pytest.fixture
def time() -> MockTime:
    return MockTime()


@pytest.fixture
def quotas(time: MockTime) -> QuotaManagers:
    return QuotaManagers(time)


def answer(api_key: ApiKey) -> Any:
    return api_key.response()


def throttles(manager: ClientQuotaManager) -> list[float]:
    return [each.throttle_times.total for each in manager.sensors() if each.throttle_times is not None]


def test_off_is_one_attribute(quotas: QuotaManagers) -> None:
    assert not quotas.enabled
    assert quotas.fetch_max_bytes(request_of("alice", ApiKey.FETCH)) == MAX_INT
    assert quotas.mutations_for(request_of("alice", ApiKey.CREATE_TOPICS)) is UNBOUNDED
    quotas.apply("users", "alice", {"producer_byte_rate": "5"})
    assert quotas.enabled
    quotas.apply("users", "alice", {"SCRAM-SHA-256": "salt=...,iterations=4096"})
    assert not quotas.enabled, "a user with a credential alone has no quota"


# ------------------------------------------------------------------------------------------------------ produce


@pytest.mark.parametrize("version", [3, 5, 9, 11])
def test_a_produce_that_is_too_large(quotas: QuotaManagers, version: int) -> None:
    quotas.apply("users", "alice", {"producer_byte_rate": "10000"})
    response = answer(ApiKey.PRODUCE)
    request = request_of("alice", ApiKey.PRODUCE, version, size=115_000)
    assert quotas.answered(request, response, 0) == response.throttle_time_ms == 1500
    assert throttles(quotas.produce) == [1500]
    response = answer(ApiKey.PRODUCE)
    assert quotas.answered(request_of("bob", ApiKey.PRODUCE, size=115_000), response, 0) == 0
    assert response.throttle_time_ms == 0


def test_a_produce_without_an_answer_is_throttled_by_its_bytes_only(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"producer_byte_rate": "10000", "request_percentage": "0.01"})
    request = request_of("alice", ApiKey.PRODUCE, size=115_000)
    assert quotas.answered(request, None, TENTH_OF_A_SECOND) == 1500
    assert quotas.requests.exempt.per_second(0) == 1
    assert list(quotas.requests.sensors()) == []


def test_the_longer_of_both_throttles_counts(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"producer_byte_rate": "10000", "request_percentage": "0.5"})
    small = request_of("alice", ApiKey.PRODUCE, size=101_000)
    assert quotas.answered(small, answer(ApiKey.PRODUCE), TENTH_OF_A_SECOND) == 1000, "the request's 1,000 over 100 ms"
    assert (throttles(quotas.produce), throttles(quotas.requests)) == ([], [1000])
    assert quotas.answered(small, answer(ApiKey.PRODUCE), 0) > 10_000
    assert len(throttles(quotas.produce)) == 1


def test_a_produce_that_failed_as_a_whole_counts_no_bytes(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"producer_byte_rate": "10000"})
    request = request_of("alice", ApiKey.PRODUCE, size=115_000)
    error = Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert quotas.answered(request, answer(ApiKey.PRODUCE), 0, error) == 0


# ------------------------------------------------------------------------------------------------------ fetch


def test_a_fetch_that_is_too_large_is_to_be_empty_and_counts_nothing(quotas: QuotaManagers, time: MockTime) -> None:
    quotas.apply("users", "alice", {"consumer_byte_rate": "35000"})
    request = request_of("alice", ApiKey.FETCH, 12)
    assert quotas.fetch_max_bytes(request) == 350_000
    assert quotas.fetch_throttle_ms(request, 400_000, 0) == 1429
    assert quotas.fetch_throttle_ms(request, 350_000, 0) == 0
    assert throttles(quotas.fetch) == [1429]
    response = answer(ApiKey.FETCH)
    response.throttle_time_ms = 1429
    assert quotas.answered(request, response, TENTH_OF_A_SECOND) == 1429, "its handler has done all of it"


def test_a_fetch_that_takes_too_long_is_empty_as_well(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"request_percentage": "0.5"})
    request = request_of("alice", ApiKey.FETCH, 12)
    assert quotas.fetch_throttle_ms(request, 1000, TENTH_OF_A_SECOND) == 1000
    assert list(quotas.fetch.sensors()) == []
    quotas.apply("users", "alice", {"request_percentage": "0.5", "consumer_byte_rate": "1000"})
    assert quotas.fetch_throttle_ms(request, 1000, 0) == 1000
    [sensors] = quotas.fetch.sensors()
    assert sensors.rate.per_second(0) == 0, "taken back"


def test_a_fetch_that_failed_as_a_whole(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"request_percentage": "0.5"})
    request = request_of("alice", ApiKey.FETCH, 12)
    response = answer(ApiKey.FETCH)
    assert quotas.answered(request, response, TENTH_OF_A_SECOND, Errors.UNKNOWN_SERVER_ERROR) == 1000
    assert response.throttle_time_ms == 1000


@pytest.mark.parametrize(("quota", "most"), [("0", 0), ("-5", 0), (str(2**62), MAX_INT)])
def test_how_much_a_fetch_may_read(quotas: QuotaManagers, quota: str, most: int) -> None:
    quotas.apply("users", "alice", {"consumer_byte_rate": quota})
    assert quotas.fetch_max_bytes(request_of("alice", ApiKey.FETCH)) == most
    assert quotas.fetch_max_bytes(request_of("bob", ApiKey.FETCH)) == MAX_INT


# ------------------------------------------------------------------------------------------------------ all others

EXEMPT = {
    ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.WRITE_TXN_MARKERS, ApiKey.ALTER_PARTITION,
}  # fmt: skip


@pytest.mark.parametrize("api_key", [key for key in ApiKey if key not in (ApiKey.PRODUCE, ApiKey.FETCH)], ids=str)
def test_each_api(quotas: QuotaManagers, api_key: ApiKey) -> None:
    quotas.apply("users", "alice", {"request_percentage": "0.5"})
    request, response = request_of("alice", api_key), answer(api_key)
    waits = quotas.answered(request, response, TENTH_OF_A_SECOND)
    assert waits == (0 if api_key in EXEMPT else 1000)
    assert getattr(response, "throttle_time_ms", waits) == waits
    assert quotas.requests.exempt.per_second(0) == (1 if api_key in EXEMPT else 0)


@pytest.mark.parametrize("api_key", ApiKey, ids=str)
def test_every_version_can_be_told_or_left_alone(api_key: ApiKey) -> None:
    response: Message = answer(api_key)
    if hasattr(response, "throttle_time_ms"):
        for version in range(api_key.min_version, api_key.max_version + 1):
            setattr(response, "throttle_time_ms", 0)  # noqa: B010
            untold = response.encode(version)
            setattr(response, "throttle_time_ms", 1500)  # noqa: B010
            assert len(response.encode(version)) == len(untold)


def test_who_asks_as_a_broker_and_is_none_is_throttled(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"request_percentage": "0.5"})
    request = request_of("alice", ApiKey.ALTER_PARTITION)
    failed = quotas.answered(request, answer(ApiKey.ALTER_PARTITION), TENTH_OF_A_SECOND, Errors.NOT_CONTROLLER)
    assert failed == 0
    refused = Errors.CLUSTER_AUTHORIZATION_FAILED
    assert quotas.answered(request, answer(ApiKey.ALTER_PARTITION), TENTH_OF_A_SECOND, refused) == 1000
    allocate = request_of("alice", ApiKey.ALLOCATE_PRODUCER_IDS)
    response = answer(ApiKey.ALLOCATE_PRODUCER_IDS)
    assert quotas.answered(allocate, response, 0, Errors.NOT_CONTROLLER) == 0


def test_time_after_the_answer(quotas: QuotaManagers) -> None:
    quotas.sent(request_of("alice", ApiKey.METADATA), TENTH_OF_A_SECOND)
    quotas.exempt(TENTH_OF_A_SECOND)
    assert list(quotas.requests.sensors()) == []
    quotas.apply("users", "alice", {"request_percentage": "0.5"})
    quotas.sent(request_of("alice", ApiKey.METADATA), TENTH_OF_A_SECOND)
    quotas.sent(request_of("alice", ApiKey.LEADER_AND_ISR), TENTH_OF_A_SECOND)
    quotas.exempt(TENTH_OF_A_SECOND)
    assert quotas.answered(request_of("alice", ApiKey.METADATA), answer(ApiKey.METADATA), 0) == 1000
    assert quotas.requests.exempt.per_second(0) == 1


# ------------------------------------------------------------------------------------------------------ mutations


@pytest.mark.parametrize(
    ("api_key", "first"),
    [(ApiKey.CREATE_TOPICS, 6), (ApiKey.CREATE_PARTITIONS, 3), (ApiKey.DELETE_TOPICS, 5)],
)
def test_newer_versions_are_refused_and_older_ones_wait(quotas: QuotaManagers, api_key: ApiKey, first: int) -> None:
    quotas.apply("users", "alice", {"controller_mutation_rate": "5"})
    quotas.mutations_for(request_of("alice", api_key, first)).record(60)
    strict = quotas.mutations_for(request_of("alice", api_key, first))
    with pytest.raises(KafkaError):
        strict.record(1)
    assert strict.throttle_ms() == 1000
    permissive = quotas.mutations_for(request_of("alice", api_key, first - 1))
    permissive.record(5)
    assert permissive.throttle_ms() == 2000
    response = answer(api_key)
    response.throttle_time_ms = permissive.throttle_ms()
    assert quotas.answered(request_of("alice", api_key), response, 0) == response.throttle_time_ms == 2000
    assert throttles(quotas.mutations) == [2000]


def test_topics_made_in_passing_are_never_refused(quotas: QuotaManagers) -> None:
    quotas.apply("users", "alice", {"controller_mutation_rate": "1"})
    for _ in range(3):
        quotas.mutations_for(request_of("alice", ApiKey.METADATA)).record(50)


# ------------------------------------------------------------------------------------------------------ configs

CONFIGS = {
    "producer_byte_rate": "11000",
    "consumer_byte_rate": "12000",
    "request_percentage": "12.5",
    "controller_mutation_rate": "2.5",
}


@pytest.mark.parametrize(
    ("entity_type", "entity", "user", "client_id"),
    [
        ("users", "zn%20a%2Ab", "zn a*b", "any"),
        ("users", "zn%20a%2Ab/clients/k%2F1", "zn a*b", "k/1"),
        ("users", "<default>", "any", "any"),
        ("users", "<default>/clients/<default>", "any", "any"),
        ("users", "alice/clients/<default>", "alice", "any"),
        ("clients", "<default>", "any", "any"),
        ("clients", "k%2F1", "any", "k/1"),
    ],
)
def test_all_the_configs_of_an_entity(
    quotas: QuotaManagers, entity_type: str, entity: str, user: str, client_id: str
) -> None:
    principal = KafkaPrincipal("User", user)
    managers: list[ClientQuotaManager] = [quotas.produce, quotas.fetch, quotas.requests, quotas.mutations]
    quotas.handlers()[entity_type](entity, CONFIGS)
    assert [each.quota(principal, client_id) for each in managers] == [11_000, 12_000, 12.5, 2.5]
    quotas.handlers()[entity_type](entity, {"consumer_byte_rate": "7"})
    assert [each.enabled for each in managers] == [False, True, False, False]
    quotas.handlers()[entity_type](entity, {})
    assert not quotas.enabled


@pytest.mark.parametrize(
    ("entity_type", "entity", "configs"),
    [
        ("users", "alice", {"producer_byte_rate": "7", "consumer_byte_rate": "many"}),
        ("users", "alice", {"producer_byte_rate": "1.5"}),
        ("users", "alice", {"request_percentage": "much"}),
        ("users", "alice/topics/t", {"producer_byte_rate": "7"}),
        ("ips", "127.0.0.1", {"connection_creation_rate": "-1"}),
        ("ips", "127.0.0.1", {"connection_creation_rate": "x"}),
    ],
)
def test_what_cannot_be_understood_changes_nothing(
    quotas: QuotaManagers, entity_type: str, entity: str, configs: dict[str, str]
) -> None:
    quotas.apply("users", "alice", {"producer_byte_rate": "5"})
    with pytest.raises(ValueError, match=r".+"):
        quotas.apply(entity_type, entity, configs)
    assert quotas.produce.quota(ALICE, "c") == 5
    assert not quotas.ips.enabled


def test_addresses(time: MockTime) -> None:
    def resolve(host: str) -> str:
        if host == "nowhere":
            raise OSError
        return {"somewhere": "10.0.0.2"}.get(host, host)

    quotas = QuotaManagers(time, resolve=resolve)
    apply = quotas.handlers()["ips"]
    apply("<default>", {"connection_creation_rate": "9"})
    apply("127.0.0.1", {"connection_creation_rate": "7"})
    apply("somewhere", {"connection_creation_rate": "8"})
    apply("%3A%3A1", {"connection_creation_rate": "6"})
    assert [quotas.ips.quota(ip) for ip in ("127.0.0.1", "10.0.0.2", "::1", "10.9.9.9")] == [7, 8, 6, 9]
    assert not quotas.enabled, "they are not looked at for each request"
    with pytest.raises(ValueError, match="Unable to resolve address nowhere"):
        apply("nowhere", {"connection_creation_rate": "7"})
    apply("127.0.0.1", {})
    assert quotas.ips.quota("127.0.0.1") == 9


def test_a_name_that_is_an_address_needs_no_name_server(quotas: QuotaManagers) -> None:
    quotas.apply("ips", "127.0.0.1", {"connection_creation_rate": "7"})
    assert quotas.ips.quota("::ffff:127.0.0.1") == 7


# ------------------------------------------------------------------------------------------------------ the rest


class OfLeaders(ClientQuotaCallback):
    """100 bytes a second for each partition that is led here."""

    def __init__(self) -> None:
        self.leaders = 1
        self.closed = False
        self.configs: Mapping[str, str] = {}

    def configure(self, configs: Mapping[str, str]) -> None:
        self.configs = configs

    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Mapping[str, str]:
        return {"all": ""}

    def quota_limit(self, quota_type: QuotaType, metric_tags: Mapping[str, str]) -> float | None:
        return 100.0 * self.leaders

    def update_cluster_metadata(self, cluster: Any) -> bool:
        if cluster is None:
            raise RuntimeError("no cluster")
        changed = bool(self.leaders != cluster)
        self.leaders = cluster
        return changed

    def close(self) -> None:
        self.closed = True


def test_a_plug_in_from_the_configs(time: MockTime) -> None:
    properties = {
        "zookeeper.connect": "localhost:2181",
        "client.quota.callback.class": f"{__name__}.OfLeaders",
        "quota.window.num": "3",
        "my.own.config": "5",
    }
    quotas = QuotaManagers.of_config(KafkaConfig(properties), time)
    callback = quotas.callback
    assert isinstance(callback, OfLeaders)
    assert callback.configs["my.own.config"] == "5"
    assert quotas.enabled
    request = request_of("alice", ApiKey.PRODUCE, size=300)
    assert quotas.answered(request, answer(ApiKey.PRODUCE), 0) == 1000, "over two seconds at least"
    quotas.cluster_metadata_changed(2)
    assert quotas.answered(request_of("alice", ApiKey.PRODUCE, size=1), answer(ApiKey.PRODUCE), 0) == 0
    quotas.cluster_metadata_changed(None)
    quotas.close()
    assert callback.closed


def test_without_a_plug_in(time: MockTime) -> None:
    properties = {"zookeeper.connect": "localhost:2181"}
    quotas = QuotaManagers.of_config(KafkaConfig(properties), time)
    assert quotas.callback is None
    quotas.cluster_metadata_changed(2)
    quotas.close()
    with pytest.raises(ConfigException, match=r"no\.such\.Class"):
        properties["client.quota.callback.class"] = "no.such.Class"
        QuotaManagers.of_config(KafkaConfig(properties), time)


def test_idle_clients_are_forgotten(quotas: QuotaManagers, time: MockTime) -> None:
    quotas.apply("clients", "<default>", CONFIGS)
    quotas.apply("ips", "<default>", {"connection_creation_rate": "9"})
    quotas.answered(request_of("alice", ApiKey.PRODUCE), answer(ApiKey.PRODUCE), 0)
    quotas.fetch_throttle_ms(request_of("alice", ApiKey.FETCH), 1, 0)
    quotas.mutations_for(request_of("alice", ApiKey.CREATE_TOPICS)).record(1)
    quotas.ips.throttle_ms("10.0.0.1")
    managers: list[ClientQuotaManager] = [quotas.produce, quotas.fetch, quotas.requests, quotas.mutations]
    assert [len(list(each.sensors())) for each in managers] == [1] * 4
    time.advance(3_600_000)
    quotas.expire()
    assert [len(list(each.sensors())) for each in managers] == [0] * 4
    assert quotas.ips.per_second() == []


def test_hosts_are_looked_up_before_they_are_applied() -> None:
    asked: list[str] = []

    def resolve(host: str) -> str:
        asked.append(host)
        if host == "unknown":
            raise OSError
        return "10.0.0.9"

    quotas = QuotaManagers(MockTime(), resolve=resolve)
    for entity in ("a.host", "<default>", "unknown"):
        quotas.look_up("ips", entity)
    quotas.look_up("users", "alice")
    assert asked == ["a.host", "unknown"]
    quotas.apply("ips", "a.host", {"connection_creation_rate": "5"})
    assert asked == ["a.host", "unknown"], "not again, on the reactor thread"
    with pytest.raises(ValueError, match="Unable to resolve address unknown"):
        quotas.apply("ips", "unknown", {"connection_creation_rate": "5"})
    assert asked == ["a.host", "unknown"]


def test_a_host_that_has_moved_takes_its_quota_along() -> None:
    addresses = {"a.host": "10.0.0.1"}
    quotas = QuotaManagers(MockTime(), resolve=addresses.__getitem__)
    quotas.apply("ips", "a.host", {"connection_creation_rate": "5"})
    addresses["a.host"] = "10.0.0.2"
    quotas.apply("ips", "a.host", {"connection_creation_rate": "6"})
    assert [quotas.ips.quota(ip) for ip in ("10.0.0.1", "10.0.0.2")] == [UNLIMITED_RATE, 6]
    addresses.clear()
    quotas.apply("ips", "a.host", {})
    assert not quotas.ips.enabled, "the name need not be known any more"


def test_a_name_of_both_families_stands_for_its_address_of_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    both = [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0)),
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 0)),
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
    quotas = QuotaManagers(MockTime())
    quotas.apply("ips", "a.host", {"connection_creation_rate": "5"})
    assert (quotas.ips.quota("10.0.0.1"), quotas.ips.quota("2001:db8::1")) == (5, UNLIMITED_RATE)
