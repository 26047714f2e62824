"""Configs of connectors and tasks for tests."""

from __future__ import annotations

from kafkapy.mirror.config.source_config import MirrorSourceConfig

BASE = {
    "name": "m",
    "connector.class": "c",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "127.0.0.1:1",
    "target.cluster.bootstrap.servers": "127.0.0.1:1",
    "forwarding.admin.class": "tests.mirror.fake_admin:FakeAdmin",
}


def source_config(**configs: str) -> MirrorSourceConfig:
    """Return the checked configs; names have `_` instead of dots."""
    return MirrorSourceConfig(BASE | {name.replace("_", "."): value for name, value in configs.items()})
