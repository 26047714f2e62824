from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.warehouse.client_options import client_options
from kafkapy.warehouse.config import ConfigError, WarehouseConfig

MINIMUM = """
root = "tables"
kafka.bootstrap.servers = "localhost:9092"
registry.url = "http://localhost:8081"
[[tables]]
topic = "shop.bookings"
"""


def load(tmp_path: Path, text: str) -> WarehouseConfig:
    path = tmp_path / "warehouse.toml"
    path.write_text(text)
    return WarehouseConfig.load(path)


def test_the_least(tmp_path: Path) -> None:
    config = load(tmp_path, MINIMUM)
    assert config.kafka == {"bootstrap.servers": "localhost:9092", "isolation.level": "read_committed"}
    assert config.root == str(tmp_path / "tables")
    assert config.tables[0].name == "shop_bookings"
    assert config.trigger_seconds == 60


def test_the_example() -> None:
    path = Path(__file__).parents[2] / "config" / "warehouse.toml"
    config = WarehouseConfig.load(path)
    for name in WarehouseConfig.__dataclass_fields__:
        assert name in path.read_text(), f"{name} is missing in the example"
    assert config.tables


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (("root", "rot"), "unknown keys: rot"),
        (('root = "tables"', ""), "root is missing"),
        (('root = "tables"', "root = 3"), "root is a text, not 3"),
        (("bootstrap.servers", "servers"), "bootstrap.servers"),
        (("registry.url", "registry.basic"), "url is missing"),
        (("[[tables]]", "[tables]"), "no table"),
        (('topic = "shop.bookings"', 'topic = "b"\nkind = "facts"'), "kind of b"),
        (('topic = "shop.bookings"', 'topic = "b"\nformat = "avro"'), "names a file"),
        (('topic = "shop.bookings"', 'topic = "quarantine"'), "needs itself"),
        (('topic = "shop.bookings"', 'topic = "b"\n[[tables]]\ntopic = "b"'), "b is there twice"),
        (('topic = "shop.bookings"', 'topic = "a.b"\n[[tables]]\ntopic = "A_b"'), "a_b is there twice: give one"),
        (
            ('topic = "shop.bookings"', 'topic = "b"\n[[tables]]\ntopic = "c"\ntable = "B"'),
            "b is there twice: give one",
        ),
        (('topic = "shop.bookings"', 'topic = "2b"'), "'2b' is no name for a table.*give 2b another"),
        (('topic = "shop.bookings"', 'topic = "b"\ntable = "bücher"'), "is no name for a table"),
        (('topic = "shop.bookings"', 'topic = "b"\ntable = "Quarantine"'), "needs itself"),
        (('root = "tables"', 'root = "t"\ntrigger_seconds = 0'), "above 0"),
        (('root = "tables"', 'root = "t"\non_data_loss = "ignore"'), '"fail" or "continue", not \'ignore\''),
        (('root = "tables"', 'root = "t"\nstarting_offsets = "soon"'), '"earliest", "latest" or offsets'),
        (('root = "tables"', 'root = "t"\nkafka."isolation.level" = "serializable"'), '"isolation.level" is'),
        (("root", "root ="), "is no TOML"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, change: tuple[str, str], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        load(tmp_path, MINIMUM.replace(*change))


def test_options_of_clients() -> None:
    """What is not set is not passed on: a client has defaults of its own."""
    found = client_options({"bootstrap.servers": "localhost:9092", "request.timeout.ms": "5000"})
    assert found["bootstrap_servers"] == "localhost:9092"
    assert found["request_timeout_ms"] == 5000
    assert None not in found.values()
