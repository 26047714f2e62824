"""Metrics of client quotas."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.prometheus_text import head
from kafkapy.common.time import MockTime
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.metrics.exposition import pieces
from kafkapy.server.metrics.of_quotas import QUOTA_METRICS
from kafkapy.server.metrics.table import METRICS
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, Tags
from kafkapy.server.quotas.quota_entity import QuotaType
from kafkapy.server.quotas.quota_managers import QuotaManagers
from tests.exposition_grammar import check
from tests.scraped_page import Page
from tests.server.quotas.requests import request_of


@pytest.fixture
def time() -> MockTime:
    return MockTime()


def page(quotas: QuotaManagers | None, time: MockTime, limit: int = 100) -> Page:
    sources: Any = SimpleNamespace(quotas=quotas, time=time, snapshot=SimpleNamespace(limit=limit))
    return Page(b"".join(pieces(QUOTA_METRICS, sources)).decode())


def test_the_table() -> None:
    others = {metric.name for metric in METRICS if metric not in QUOTA_METRICS}
    assert not {metric.name for metric in QUOTA_METRICS} & others
    for metric in QUOTA_METRICS:
        assert re.fullmatch("[a-z_]+", metric.name)
        assert metric.doc.endswith(".")
    check("".join(head(metric.name, metric.kind.value, metric.doc) for metric in QUOTA_METRICS))


def test_without_quotas_there_is_nothing_to_tell(time: MockTime) -> None:
    assert page(None, time).samples == {}
    told = page(QuotaManagers(time), time).samples
    assert set(told.values()) == {0}
    assert len(told) == 2


def test_what_clients_have_used(time: MockTime) -> None:
    quotas = QuotaManagers(time)
    configs = {"producer_byte_rate": "10000", "consumer_byte_rate": "35000", "request_percentage": "0.5"}
    quotas.apply("users", "a%20b", {**configs, "controller_mutation_rate": "5"})
    quotas.apply("ips", "<default>", {"connection_creation_rate": "1"})
    user = "a b"
    quotas.answered(request_of(user, ApiKey.PRODUCE, size=115_000), ApiKey.PRODUCE.response(), 0)
    quotas.fetch_throttle_ms(request_of(user, ApiKey.FETCH), 400_000, 0)
    quotas.fetch_throttle_ms(request_of(user, ApiKey.FETCH), 100_000, 0)
    quotas.answered(request_of(user, ApiKey.METADATA), ApiKey.METADATA.response(), 100_000_000)
    quotas.exempt(100_000_000)
    quotas.mutations_for(request_of(user, ApiKey.CREATE_TOPICS)).record(60)
    assert [quotas.ips.throttle_ms("10.0.0.1") for _ in range(11)][-1] == 1000
    made = page(quotas, time)
    labels = {"user": "a%20b", "client_id": "", "tags": ""}

    def value(name: str) -> float | None:
        return made.get(f"kafka_server_{name}", **labels)

    assert value("produce_byte_rate") == 11_500
    assert value("produce_throttle_time") == 1500
    assert value("fetch_byte_rate") == 10_000
    assert value("fetch_throttle_time") == 1429
    assert value("request_request_time") == 1
    assert value("request_throttle_time") == 1000
    assert made.get("kafka_server_request_exempt_request_time") == 1
    assert value("controllermutation_mutation_rate") == 2, "60 over half a minute at least"
    assert value("controllermutation_tokens") == -5
    assert value("controllermutation_throttle_time") is None
    assert made.get("kafka_server_socket_server_metrics_connection_accept_rate", ip="10.0.0.1") == 1
    assert made.get("kafka_server_socket_server_metrics_ip_connection_accept_throttle_time") == 1000


def test_of_many_clients_those_that_use_most(time: MockTime) -> None:
    quotas = QuotaManagers(time)
    quotas.apply("clients", "<default>", {"producer_byte_rate": "10"})
    for i in range(200):
        request = request_of("alice", ApiKey.PRODUCE, client_id=f"c{i}", size=i)
        quotas.answered(request, ApiKey.PRODUCE.response(), 0)
    made = page(quotas, time, limit=10)
    rates = {name: value for name, value in made.samples.items() if name[0] == "kafka_server_produce_byte_rate"}
    assert sorted(rates.values()) == [i / 10 for i in range(190, 200)]


class ByTenant(ClientQuotaCallback):
    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Tags:
        return {"user": principal.name, "tenant": "blue", "region": "eu"}

    def quota_limit(self, quota_type: QuotaType, metric_tags: Tags) -> float | None:
        return 5.0


def test_other_tags_of_a_plug_in(time: MockTime) -> None:
    quotas = QuotaManagers(time, callback=ByTenant())
    quotas.answered(request_of("alice", ApiKey.PRODUCE, size=10), ApiKey.PRODUCE.response(), 0)
    made = page(quotas, time)
    assert made.get("kafka_server_produce_byte_rate", user="alice", client_id="", tags="tenant=blue,region=eu") == 1
