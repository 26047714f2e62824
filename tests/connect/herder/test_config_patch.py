"""A config that is changed in part."""

from __future__ import annotations

from kafkapy.connect.herder.config_patch import patched


def test_the_keys_have_the_order_of_javas_worker() -> None:
    config = {"connector.class": "C", "tasks.max": "1", "file": "f", "topic": "t", "batch.size": "1000", "name": "n"}
    changed = patched(config, {"batch.size": "1500", "no.such": "x", "file": None})
    assert list(changed) == ["connector.class", "no.such", "tasks.max", "batch.size", "name", "topic"]
    assert changed["batch.size"] == "1500"
