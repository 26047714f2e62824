"""Entities as ZooKeeper has them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.sanitizer import sanitize
from kafkapy.server.config.zk_entity_configs import ClientQuotaConfigs
from kafkapy.server.quotas.quota_entity import DEFAULT, Level, QuotaEntity, QuotaType, entity_of_path


@pytest.mark.parametrize(
    ("path", "entity", "level"),
    [
        ("users/alice", QuotaEntity("alice", None), Level.USER),
        ("users/<default>", QuotaEntity(DEFAULT, None), Level.USER),
        ("users/CN%3Dx%2COU%3Dy", QuotaEntity("CN=x,OU=y", None), Level.USER),
        ("users/alice/clients/k%2F1", QuotaEntity("alice", "k/1"), Level.USER_AND_CLIENT),
        ("users/alice/clients/<default>", QuotaEntity("alice", DEFAULT), Level.USER_AND_CLIENT),
        ("users/<default>/clients/app", QuotaEntity(DEFAULT, "app"), Level.USER_AND_CLIENT),
        ("users/<default>/clients/<default>", QuotaEntity(DEFAULT, DEFAULT), Level.USER_AND_CLIENT),
        ("clients/app", QuotaEntity(None, "app"), Level.CLIENT),
        ("clients/<default>", QuotaEntity(None, DEFAULT), Level.CLIENT),
        ("clients/%3Cdefault%3E", QuotaEntity(None, "<default>"), Level.CLIENT),
    ],
)
def test_a_path_names_an_entity(path: str, entity: QuotaEntity, level: Level) -> None:
    assert entity_of_path(*path.split("/", 1)) == entity
    assert entity.level is level


@pytest.mark.parametrize(
    "path",
    ["users/", "users/a/b", "users/a/clients", "users/a/clients/", "users/a/topics/b", "users/a/clients/b/c",
     "clients/a/b", "clients/", "ips/127.0.0.1", "topics/t"],
)  # fmt: skip
def test_other_paths_name_none(path: str) -> None:
    with pytest.raises(ValueError, match="quota entity path"):
        entity_of_path(*path.split("/", 1))


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_names_come_back(user: str, client_id: str) -> None:
    path = f"{sanitize(user)}/clients/{sanitize(client_id)}"
    assert entity_of_path("users", path) == QuotaEntity(user, client_id)


def test_each_type_is_a_config() -> None:
    assert {quota_type.config for quota_type in QuotaType} == set(ClientQuotaConfigs.definition)
