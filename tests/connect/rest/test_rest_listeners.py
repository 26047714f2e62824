from __future__ import annotations

import pytest

from kafkapy.connect.rest.rest_listeners import ConnectRestConfig


@pytest.mark.parametrize(
    ("properties", "count"),
    [({}, None), ({"admin.listeners": ""}, 0), ({"admin.listeners": "http://:1,http://:2"}, 2)],
)
def test_admin_is_on_all_listeners_on_none_or_on_its_own(properties: dict[str, str], count: int | None) -> None:
    admin = ConnectRestConfig.of(properties).admin
    assert (None if admin is None else len(admin)) == count
