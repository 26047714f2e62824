"""What kafka-python's classes and modules offer is offered here: names, arguments, defaults, kinds of errors."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

import pytest

import kafkapy
import kafkapy.errors
from kafkapy.clients.facade import NOT_SUPPORTED

kafka = pytest.importorskip("kafka")

CLASSES = ("KafkaProducer", "KafkaConsumer", "KafkaAdminClient")
OTHERWISE = {
    "bootstrap_servers": "the same address, written otherwise",
    "client_id": "names this library",
    "partitioner": "an object of the class of the same name",
    "partition_assignment_strategy": "classes of the same names",
    "default_offset_commit_callback": "a function that does nothing, too",
    "socket_options": "the same, as a tuple",
    "reconnect_backoff_max_ms": "1 s as in Java; 30 s there",
}
"""Options whose default differs, and why."""
MODULES = (
    "kafka",
    "kafka.admin",
    "kafka.consumer",
    "kafka.coordinator.assignors",
    "kafka.errors",
    "kafka.partitioner",
    "kafka.producer",
    "kafka.serializer",
)


@pytest.mark.parametrize("name", CLASSES)
def test_options(name: str) -> None:
    theirs, ours = getattr(kafka, name).DEFAULT_CONFIG, getattr(kafkapy, name).DEFAULT_CONFIG
    assert set(theirs) - set(ours) - set(NOT_SUPPORTED) == set()
    different = {option for option in set(theirs) & set(ours) if theirs[option] != ours[option]}
    assert different - set(OTHERWISE) == set()


@pytest.mark.parametrize("name", CLASSES)
def test_methods(name: str) -> None:
    theirs, ours = getattr(kafka, name), getattr(kafkapy, name)
    members = [(member, value) for member, value in inspect.getmembers(theirs) if not member.startswith("_")]
    assert [member for member, _ in members if not hasattr(ours, member)] == []
    for member, value in members:
        if callable(value):
            assert arguments(getattr(ours, member)) == arguments(value), member


def arguments(method: Any) -> dict[str, tuple[Any, Any]]:
    """Name -> kind and default."""
    return {name: (p.kind, p.default) for name, p in inspect.signature(method).parameters.items()}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MODULES)
def test_modules(name: str) -> None:
    theirs, ours = importlib.import_module(name), importlib.import_module(name.replace("kafka", "kafkapy", 1))
    public = getattr(theirs, "__all__", None) or [
        n for n, v in vars(theirs).items() if not n.startswith("_") and not inspect.ismodule(v)
    ]
    assert [n for n in public if not hasattr(ours, n)] == []


def test_errors() -> None:
    """The same numbers, the same answer to `retriable`, the same bases; where Java differs from kafka-python, Java's."""
    as_in_java = {"CorruptRecordError", "CorruptRecordException", "UnknownLeaderEpochError"}
    compared = 0
    classes: dict[str, Any] = dict(inspect.getmembers(kafka.errors, inspect.isclass))
    for name, theirs in classes.items():
        if not issubclass(theirs, kafka.errors.KafkaError) or name in as_in_java:
            continue
        ours: Any = getattr(kafkapy.errors, name)
        assert {base.__name__ for base in theirs.__mro__} <= {base.__name__ for base in ours.__mro__}, name
        if getattr(theirs, "errno", None) is not None:
            assert (ours.errno, ours.retriable) == (theirs.errno, theirs.retriable), name
            compared += 1
    assert compared > 100
