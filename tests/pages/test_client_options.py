from __future__ import annotations

from pathlib import Path

import kafkapy
from kafkapy.clients.option_table import OPTIONS
from kafkapy.tools.common.client_properties import CONSUMER, PRODUCER
from tests.pages.generators.client_options import reference

PAGE = Path(__file__).parents[2] / "docs" / "client_options.md"


def test_the_page_is_current() -> None:
    """If not: `python -m tests.pages.generators.client_options > docs/client_options.md`."""
    assert PAGE.read_text() == reference()


def test_every_option_is_told_of() -> None:
    clients = (kafkapy.KafkaConsumer, kafkapy.KafkaProducer, kafkapy.KafkaAdminClient)
    assert set(OPTIONS) == set().union(*(client.DEFAULT_CONFIG for client in clients))


def test_javas_names_are_javas() -> None:
    known = {*CONSUMER, *PRODUCER}
    names = {option.java_name(name) for name, option in OPTIONS.items()} - {""}
    assert names - known == set()
