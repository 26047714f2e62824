"""A Connect worker finds MirrorMaker's classes by Kafka's names, whether the package is installed or not."""

from __future__ import annotations

import pytest

from kafkapy.connect.java_classes import MIRROR_CONNECTORS
from kafkapy.connect.plugins import Plugins, class_name_of
from kafkapy.mirror.mirror_classes import KAFKA


def test_a_worker_finds_mirror_makers_connectors_and_tasks() -> None:
    plugins = Plugins()
    for name in MIRROR_CONNECTORS:
        connector = plugins.new_connector(name)
        assert class_name_of(type(connector)) == name and connector.version() == "3.9.1"
        assert class_name_of(connector.task_class()) == name.replace("Connector", "Task")
        assert plugins.find_class(class_name_of(connector.task_class())) is connector.task_class()
    assert set(MIRROR_CONNECTORS) <= {plugin.class_name for plugin in plugins.list()}
    with pytest.raises(LookupError):
        plugins.find_class(f"{KAFKA}Nothing")
