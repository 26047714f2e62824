"""A user's program passes mypy's strict mode, and an editor shows him arguments, types and documentation."""

from __future__ import annotations

import inspect
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import kafkapy
import kafkapy.aio
import kafkapy.tx
from kafkapy.clients.client_options import ClientOptions
from kafkapy.clients.config import ClientConfig
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.options import ConsumerOptions
from kafkapy.producer.config import ProducerConfig, ProducerOptions
from kafkapy.tools.face_stubs import write_stubs

PROGRAMS = sorted(Path(__file__).with_name("typed_programs").glob("*.py"))
FACES = [
    getattr(package, name) for package in (kafkapy, kafkapy.aio, kafkapy.tx) for name in vars(kafkapy.tx)["__all__"]
]
CLIENTS = [face for face in FACES if face.__name__ != "KafkaAdminClient"]
NAMES = {"pa": types.SimpleNamespace(Table=object, RecordBatch=object), "Bound": object, "ArrowTable": object}
"""What is imported for type checkers only."""


def test_programs_of_users() -> None:
    """`# type: ignore[...]` marks what must be refused: strict mode complains where it isn't."""
    write_stubs()
    command = [sys.executable, "-m", "mypy", "--config-file", "setup.cfg", *map(str, PROGRAMS)]
    checked = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.__module__)
def test_methods_say_what_they_do(face: Any) -> None:
    assert inspect.getdoc(face)
    for name, method in public_methods(face):
        assert inspect.getdoc(method), name


@pytest.mark.parametrize("face", CLIENTS, ids=lambda face: face.__module__)
def test_methods_have_types(face: Any) -> None:
    for name, method in public_methods(face):
        hints = get_type_hints(method, localns=NAMES)
        parameters = [p for p in inspect.signature(method).parameters if p not in ("self", "cls")]
        assert set(hints) == {*parameters, "return"}, name


def public_methods(face: type) -> list[tuple[str, Any]]:
    return [(name, value) for name, value in inspect.getmembers(face, callable) if not name.startswith("_")]


@pytest.mark.parametrize(
    ("options", "config"),
    [(ClientOptions, ClientConfig), (ConsumerOptions, ConsumerConfig), (ProducerOptions, ProducerConfig)],
)
def test_options_are_those_of_the_configuration(options: Any, config: Any) -> None:
    assert set(get_type_hints(options)) == set(config.defaults())


@pytest.mark.parametrize(
    ("face", "options"),
    [
        (kafkapy.KafkaConsumer, ConsumerOptions),
        (kafkapy.KafkaProducer, ProducerOptions),
        (kafkapy.KafkaAdminClient, ClientOptions),
    ],
)
def test_options_are_those_of_default_config(face: Any, options: Any) -> None:
    assert set(get_type_hints(options)) == set(face.DEFAULT_CONFIG)


def test_dir_shows_what_users_want_and_all_of_it_is_there() -> None:
    """Also in an interpreter that has imported nothing else."""
    code = "import kafkapy; print(*(name for name in dir(kafkapy) if name[0] != '_' and getattr(kafkapy, name)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    modules = {name for name in shown if isinstance(getattr(kafkapy, name), types.ModuleType)}
    assert {"aio", "admin", "errors", "helpers", "structs"} <= modules
    assert set(shown) - modules == {name for name in vars(kafkapy)["__all__"] if name[0] != "_"}
