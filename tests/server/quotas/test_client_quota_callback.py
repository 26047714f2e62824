"""Kafka's order of quotas, and plug-ins."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.config_def import ConfigException
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.quotas.client_quota_callback import ClientQuotaCallback, QuotasByEntity, load_quota_callback
from kafkapy.server.quotas.quota_entity import DEFAULT, DefaultName, QuotaEntity, QuotaType

PRODUCE = QuotaType.PRODUCE

ORDER = [
    QuotaEntity("u", "c"),
    QuotaEntity("u", DEFAULT),
    QuotaEntity("u", None),
    QuotaEntity(DEFAULT, "c"),
    QuotaEntity(DEFAULT, DEFAULT),
    QuotaEntity(DEFAULT, None),
    QuotaEntity(None, "c"),
    QuotaEntity(None, DEFAULT),
]
TAGS = [("u", "c"), ("u", "c"), ("u", ""), ("u", "c"), ("u", "c"), ("u", ""), ("", "c"), ("", "c")]


def limit_of(quotas: QuotasByEntity, user: str, client_id: str) -> tuple[float | None, tuple[str, str]]:
    tags = quotas.quota_metric_tags(PRODUCE, KafkaPrincipal("User", user), client_id)
    return quotas.quota_limit(PRODUCE, tags), (tags["user"], tags["client-id"])


@pytest.mark.parametrize("highest", range(8))
def test_the_most_specific_quota_holds(highest: int) -> None:
    quotas = QuotasByEntity()
    for i in range(7, highest - 1, -1):
        quotas.update_quota(PRODUCE, ORDER[i], 10_000.0 + i)
    assert limit_of(quotas, "u", "c") == (10_000.0 + highest, TAGS[highest])


@pytest.mark.parametrize("only", range(8))
def test_one_quota_alone_holds_for_those_it_names(only: int) -> None:
    quotas = QuotasByEntity()
    quotas.update_quota(PRODUCE, ORDER[only], 5.0)
    assert limit_of(quotas, "u", "c") == (5.0, TAGS[only])
    other_user = None if ORDER[only].user == "u" else 5.0
    other_client = None if ORDER[only].client_id == "c" else 5.0
    assert limit_of(quotas, "other", "c")[0] == other_user
    assert limit_of(quotas, "u", "other")[0] == other_client
    quotas.remove_quota(PRODUCE, ORDER[only])
    assert quotas.is_empty
    assert limit_of(quotas, "u", "c") == (None, ("", "c"))


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["u", "v", "a b", DEFAULT, None]), st.sampled_from(["c", "d", DEFAULT, None])),
        st.floats(1, 1e9),
        max_size=12,
    ),
    st.sampled_from(["u", "v", "w", "a b"]),
    st.sampled_from(["c", "d", "e"]),
)
def test_as_a_walk_through_the_order(
    found: dict[tuple[str | DefaultName | None, str | DefaultName | None], float], user: str, client_id: str
) -> None:
    quotas = QuotasByEntity()
    limits = {QuotaEntity(*names): limit for names, limit in found.items() if names != (None, None)}
    for entity, limit in limits.items():
        quotas.update_quota(PRODUCE, entity, limit / 2)
        quotas.update_quota(PRODUCE, entity, limit)
    order = [
        QuotaEntity(user, client_id), QuotaEntity(user, DEFAULT), QuotaEntity(user, None),
        QuotaEntity(DEFAULT, client_id), QuotaEntity(DEFAULT, DEFAULT), QuotaEntity(DEFAULT, None),
        QuotaEntity(None, client_id), QuotaEntity(None, DEFAULT),
    ]  # fmt: skip
    expected = next((limits[entity] for entity in order if entity in limits), None)
    assert limit_of(quotas, user, client_id)[0] == expected


def test_names_in_tags_are_sanitized_and_no_name_is_the_default() -> None:
    quotas = QuotasByEntity()
    quotas.update_quota(PRODUCE, QuotaEntity("CN=x,OU=y", None), 7.0)
    quotas.update_quota(PRODUCE, QuotaEntity("<default>", None), 8.0)
    assert limit_of(quotas, "CN=x,OU=y", "c") == (7.0, ("CN%3Dx%2COU%3Dy", ""))
    assert limit_of(quotas, "<default>", "c") == (8.0, ("%3Cdefault%3E", ""))
    assert limit_of(quotas, "u", "c")[0] is None


def test_without_a_client_id_only_the_users_own_quota_holds() -> None:
    """As in Kafka: a quota of the default client id is none of a client without one."""
    quotas = QuotasByEntity()
    quotas.update_quota(PRODUCE, QuotaEntity(None, DEFAULT), 7.0)
    assert limit_of(quotas, "u", "")[0] is None
    quotas.update_quota(PRODUCE, QuotaEntity("u", None), 8.0)
    assert limit_of(quotas, "u", "")[0] == 8.0


class ByTenant(ClientQuotaCallback):
    """A plug-in as a company may have it: users are `tenant_name`."""

    def __init__(self) -> None:
        self.configs: Mapping[str, str] = {}

    def configure(self, configs: Mapping[str, str]) -> None:
        if "refuse" in configs:
            raise RuntimeError("refused")
        self.configs = configs

    def quota_metric_tags(self, quota_type: QuotaType, principal: KafkaPrincipal, client_id: str) -> Mapping[str, str]:
        return {"tenant": principal.name.split("_")[0]}

    def quota_limit(self, quota_type: QuotaType, metric_tags: Mapping[str, str]) -> float | None:
        return float(self.configs["limit"])


def test_a_plug_in_by_its_import_path() -> None:
    for path in (f"{__name__}.ByTenant", f"{__name__}:ByTenant"):
        callback = load_quota_callback(path, {"limit": "5"})
        tags = callback.quota_metric_tags(PRODUCE, KafkaPrincipal("User", "blue_alice"), "c")
        assert (type(callback).__name__, tags, callback.quota_limit(PRODUCE, tags)) == (
            "ByTenant", {"tenant": "blue"}, 5.0,
        )  # fmt: skip
        assert not callback.quota_reset_required(PRODUCE)
        assert not callback.update_cluster_metadata(None)
        callback.close()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no.such.module.Class", "could not be found"),
        ("Class", "could not be found"),
        ("", "could not be found"),
        (f"{__name__}.NoSuch", "could not be found"),
        (f"{__name__}.ORDER", "not a class derived from"),
        ("collections.Counter", "not a class derived from"),
        (f"{__name__}.ByTenant", "refused"),
    ],
)
def test_a_plug_in_that_cannot_be_used(path: str, reason: str) -> None:
    with pytest.raises(ConfigException, match=reason) as caught:
        load_quota_callback(path, {"refuse": "yes"})
    assert "client.quota.callback.class" in str(caught.value)
