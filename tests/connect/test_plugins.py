"""`kafkapy.connect.plugins`: names, aliases, import paths, and what is said of names that nothing has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint

import pytest

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connector import ConnectorTask
from kafkapy.connect.converters.json_converter import JsonConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.plugins import ENTRY_POINTS, Plugins
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.transforms.predicates import TopicNameMatches


class LinesConnector(SourceConnector):
    def version(self) -> str:
        return "7"

    def start(self, config: Mapping[str, str]) -> None:
        pass

    def task_class(self) -> type[ConnectorTask]:
        raise NotImplementedError

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return []

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return ConfigDef()


class OrdersConnector(LinesConnector):
    java_class = "org.example.OrdersConnector"


def test_names_aliases_and_import_paths_find_classes() -> None:
    plugins = Plugins()
    assert plugins.find_class("org.apache.kafka.connect.json.JsonConverter") is JsonConverter
    assert plugins.find_class("Json") is plugins.find_class("JsonConverter") is JsonConverter
    assert plugins.find_class(f"{__name__}:OrdersConnector") is OrdersConnector


def test_a_name_that_two_classes_have_is_no_alias() -> None:
    with pytest.raises(LookupError):
        Plugins().find_class("Cast")


@pytest.mark.parametrize("name", ["no.Such", "no.such.module:Class", f"{__name__}:Nothing", ":", ""])
def test_a_name_that_nothing_has_is_a_lookup_error(name: str) -> None:
    with pytest.raises(LookupError):
        Plugins().find_class(name)


@pytest.mark.parametrize("name", ["org.example.OrdersConnector", "OrdersConnector", "Orders"])
def test_a_connector_is_made_by_its_name_or_alias(name: str) -> None:
    assert isinstance(Plugins(connectors=[OrdersConnector]).new_connector(name), OrdersConnector)


def test_what_is_no_connector_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ConnectException, match=r"which name matches Json, available connectors are: .*OrdersConnector"):
        Plugins(connectors=[OrdersConnector]).new_connector("Json")


def test_an_import_path_that_fails_says_why() -> None:
    with pytest.raises(ConnectException, match=r"no\.such:Connector cannot be imported: No module named 'no'"):
        Plugins().new_connector("no.such:Connector")
    with pytest.raises(ConnectException, match="has no attribute 'Nope'"):
        Plugins().new_connector(f"{__name__}:Nope")


def test_the_list_has_a_row_for_each_kind_of_a_class() -> None:
    found = Plugins(connectors=[OrdersConnector]).list()
    json = [plugin for plugin in found if plugin.plugin_class is JsonConverter]
    assert [plugin.type for plugin in json] == ["converter", "header_converter"]
    orders = next(plugin for plugin in found if plugin.plugin_class is OrdersConnector)
    assert (orders.class_name, orders.type, orders.version) == ("org.example.OrdersConnector", "source", "7")


def test_an_entry_point_is_listed_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("org.example.LinesConnector", f"{__name__}:LinesConnector", ENTRY_POINTS),
        EntryPoint("orders", f"{__name__}:OrdersConnector", ENTRY_POINTS),
    ]
    monkeypatch.setattr("kafkapy.connect.plugins.entry_points", lambda group: points)
    plugins = Plugins()
    assert {"org.example.LinesConnector", "org.example.OrdersConnector"} <= {each.class_name for each in plugins.list()}
    for name in ("org.example.LinesConnector", "LinesConnector", "Lines"):
        assert isinstance(plugins.new_connector(name), LinesConnector)
    assert isinstance(plugins.new_connector("orders"), OrdersConnector)


def test_a_module_of_plugin_path_is_listed() -> None:
    plugins = Plugins([__name__, "no.such.module"])
    assert OrdersConnector in [plugin.plugin_class for plugin in plugins.list()]


def test_classes_of_a_kind() -> None:
    assert TopicNameMatches in Plugins().classes("predicate")


def test_configs_recommend_classes_of_kafka_and_of_packages() -> None:
    plugins = Plugins(connectors=[OrdersConnector])
    listed = {plugin.class_name for plugin in plugins.list()}
    recommended = {found.__name__ for found in plugins.classes("transformation")}
    assert "kafkapy.connect.transforms.Expression" in listed
    assert "ExpressionTransform" not in recommended and "RegexRouter" in recommended
    assert OrdersConnector in plugins.classes("source")
