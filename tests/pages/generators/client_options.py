"""Prints docs/client_options.md, made from the table of options: `python -m tests.pages.generators.client_options`."""

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
from tests.pages.generators.markdown import table

_INTRODUCTION = """\
# Options of the clients

Generated from `kafkapy/clients/option_table.py` by `python -m tests.pages.generators.client_options`; change that,
not this page.

They are keyword arguments, the same on all faces, with kafka-python's names and defaults. Times are in ms, sizes in
bytes. `help(KafkaConsumer)` shows them, editors and type checkers know their types. A name that is wrong is
refused, with the nearest right one; so is a number out of range, or a word that is not allowed. Types like
`AutoOffsetReset` are the words under "allowed" as a `Literal` of `kafkapy.clients.client_options`: type checkers
refuse other ones, and editors offer them.
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
    return table(_HEAD, (_row(name, types.__annotations__[name], defaults[name]) for name in names))


def _row(name: str, annotation: Any, default: Any) -> tuple[str, ...]:
    option = OPTIONS[name]
    shown = _OF_MODULES.get(name) or _text(default)
    return f"`{name}`", _type(annotation), shown, option.range(), option.java_name(name), option.meaning


_VARIANCE = re.compile(r"_(co|contra)\b")
"""Ends the name of a type variable, which the page shows as K or V."""


def _type(annotation: Any) -> str:
    text = annotation.__forward_arg__ if isinstance(annotation, ForwardRef) else str(annotation)
    return "`" + _VARIANCE.sub("", text) + "`"


def _text(default: Any) -> str:
    if isinstance(default, tuple):
        return ", ".join(map(_text, default))
    if isinstance(default, type):
        return f"`{default.__name__}`"
    return "does nothing" if callable(default) else str(default) if default != "" else '""'


if __name__ == "__main__":
    sys.stdout.write(reference())
