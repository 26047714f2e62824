"""Prints docs/client_options.md, made from the table of options: `python -m kafkapy.tools.options_reference`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, ForwardRef

from kafkapy.admin.kafka_admin_client import ADMIN_DEFAULTS
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.option_table import OPTIONS
from kafkapy.consumer.options import ConsumerOptions, default_options
from kafkapy.producer.config import DEFAULT_OPTIONS, ProducerOptions

_INTRODUCTION = """\
# Options of the clients

Generated from `kafkapy/clients/option_table.py` by `python -m kafkapy.tools.options_reference`; change that, not this page.

They are keyword arguments, the same on all faces, with kafka-python's names and defaults. Times are in ms, sizes in bytes.
`help(KafkaConsumer)` shows them, editors and type checkers know their types. A name that is wrong is refused, with the
nearest right one; so is a number out of range, or a word that is not allowed. Types like `AutoOffsetReset` are the words under
"allowed" as a `Literal` of `kafkapy.clients.client_options`: type checkers refuse other ones, and editors offer them.
"""

_HEAD = ("name", "type", "default", "allowed", "Java's name", "meaning")
_OF_MODULES = {"client_id": "made up", "socket_options": "TCP_NODELAY", "partitioner": "`DefaultPartitioner()`"}
"""Defaults that are no plain values."""


def reference() -> str:
    """The page, as Markdown."""
    common = [name for name in OPTIONS if name in ClientConfig.defaults()]
    consumer, producer = default_options(), DEFAULT_OPTIONS
    parts = [
        _INTRODUCTION,
        "## All clients\n",
        _table(common, ClientOptions, ClientConfig.defaults()),
        f"For `KafkaAdminClient` `allow_auto_create_topics` is {ADMIN_DEFAULTS['allow_auto_create_topics']}.\n",
        "## Consumers\n",
        _table([name for name in OPTIONS if name in consumer and name not in common], ConsumerOptions, consumer),
        "## Producers\n",
        _table([name for name in OPTIONS if name in producer and name not in common], ProducerOptions, producer),
    ]
    return "\n".join(parts)


def _table(names: Iterable[str], types: Any, defaults: Mapping[str, Any]) -> str:
    lines = ["| " + " | ".join(_HEAD) + " |", "|" + " --- |" * len(_HEAD)]
    for name in names:
        option = OPTIONS[name]
        row = (
            f"`{name}`",
            _type(types.__annotations__[name]),
            _OF_MODULES.get(name) or _text(defaults[name]),
            option.range(),
            option.java_name(name),
            option.meaning,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines) + "\n"


_VARIANCE = re.compile(r"_(co|contra)\b")
"""Ends the name of a type variable, which is K or V for whoever reads the page."""


def _type(annotation: Any) -> str:
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)
    return "`" + _VARIANCE.sub("", text) + "`"


def _text(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(_text, default))
    if isinstance(default, type):
        return f"`{default.__name__}`"
    return "does nothing" if callable(default) else str(default) if default != "" else '""'


def main() -> None:
    sys.stdout.write(reference())


if __name__ == "__main__":
    main()
