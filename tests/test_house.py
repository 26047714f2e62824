"""What holds of the whole house: no two files import each other, rooms import downward only, a name means one thing, and
functions are short. `lint-imports` checks the layers of the packages; this looks at files, annotations included."""

from __future__ import annotations

import ast
import graphlib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "kafkapy"

LONGEST_FUNCTION = 60

MOST_FILES_OF_TOOLS = 20
"""At the top of tools/: programs of one file, and those that are found by the name of their process."""

LONG = {"kafkapy.record.record_fields.read"}
"""The kernel that reads each record: a call more would cost it a fifth of its time."""

FACES = {"Bus", "Dispatcher", "KafkaAdminClient", "KafkaConsumer", "KafkaProducer"}
"""Each has three forms: blocking, asyncio, Twisted."""

OF_STREAMS = {"RecordMetadata"}
"""Kafka has it in its clients, and once more in Streams."""

OF_CONNECT = {"ConfigDef", "ConfigKey", "Field", "Schema", "Stage", "Struct", "TransactionContext", "Worker"}
"""Kafka uses these names for Connect, too, with other members."""


@cache
def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    return found


def imports(name: str) -> Iterator[str]:
    """The modules of the house that a module names in an import, wherever that stands."""
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@cache
def graph() -> dict[str, set[str]]:
    return {name: {other for other in imports(name) if other in modules() and other != name} for name in modules()}


def test_no_files_import_each_other() -> None:
    """Not even for annotations, nor through others."""
    try:
        graphlib.TopologicalSorter(graph()).prepare()
    except graphlib.CycleError as error:
        raise AssertionError(" -> ".join(reversed(error.args[1]))) from None


def test_no_rooms_of_the_broker_import_each_other() -> None:
    """Among the rooms of server/ there is an order, too."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, others in graph().items():
        for other in others:
            here, there = name.split(".")[:3], other.split(".")[:3]
            if here[:2] == there[:2] == ["kafkapy", "server"] and here != there:
                rooms[".".join(here)].add(".".join(there))
    try:
        graphlib.TopologicalSorter(rooms).prepare()
    except graphlib.CycleError as error:
        raise AssertionError(" -> ".join(reversed(error.args[1]))) from None


def test_a_class_name_is_used_once() -> None:
    defined = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name not in FACES | OF_STREAMS | OF_CONNECT:
                defined[node.name].append(name)
    assert {name: places for name, places in defined.items() if len(places) > 1} == {}


def test_functions_are_short() -> None:
    long = []
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                if node.end_lineno - node.lineno >= LONGEST_FUNCTION:
                    long.append(f"{name}.{node.name}")
    assert set(long) == LONG


def test_a_family_of_tools_has_a_package() -> None:
    assert len(list((PACKAGE / "tools").glob("*.py"))) <= MOST_FILES_OF_TOOLS
