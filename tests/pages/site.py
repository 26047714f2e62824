"""What the index of the site's search lacks: `python -m tests.pages.site`, after `bin/build-docs.sh`.

Every config of brokers and topics, every option of clients, every metric and every tool must be found by its name.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from kafkapy.clients.option_table import OPTIONS
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.metrics.table import SECTIONS
from tests.pages.generators.tools import commands

INDEX = Path(__file__).parents[2] / "site" / "search" / "search_index.json"


def names() -> set[str]:
    """What readers search for."""
    metrics = {metric.name for _, rows in SECTIONS for metric in rows}
    return {*KafkaConfig.definition, *LogConfig.definition, *OPTIONS, *metrics, *commands()}


def missing(index: dict[str, Any]) -> list[str]:
    """The names that are no word of any entry, parted by the index's own separator and by tags."""
    separator = re.compile(rf"{index['config']['separator']}|<[^>]*>")
    words = {word for entry in index["docs"] for word in separator.split(f"{entry['title']} {entry['text']}")}
    return sorted(names() - words)


if __name__ == "__main__":
    lacking = missing(json.loads(INDEX.read_text()))
    sys.exit(f"The search does not find: {', '.join(lacking)}" if lacking else None)
