"""The schema language itself: what a declaration makes of a class."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import kafkapy.protocol.messages
import kafkapy.protocol.records
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.metadata import MetadataRequest
from kafkapy.protocol.schema import NEW, Field, Struct, StructType, Versions, array, int32, string, struct

PYTHON_TYPES = {
    "bool": "bool",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "int",
    "float64": "float",
    "uuid": "bytes",
    "string": "str",
    "bytes": "bytes",
    "records": "Records",
}


class Sample(Message, versions="0-2", flexible="2+"):
    number: int = int32(default=-1)
    name: str | None = string("1+", nullable=True)
    items: list[Sample.Item] = array("Item")
    single: Sample.Item = struct("Item")

    class Item(Struct):
        number: int = int32()


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", [3], [2, 4]), ("1-4", [1, 4], [0, 5]), ("2+", [2, 999], [1]), ("none", [], [0, 1])],
)
def test_versions(text: str, inside: list[int], outside: list[int]) -> None:
    versions = Versions.parse(text)
    assert all(versions.includes(version) for version in inside)
    assert not any(versions.includes(version) for version in outside)


def test_defaults() -> None:
    sample = Sample()
    assert (sample.number, sample.name, sample.items, sample.single) == (-1, "", [], Sample.Item())


def test_lists_and_structs_are_not_shared() -> None:
    Sample().items.append(Sample.Item())
    Sample().single.number = 5
    assert Sample().items == []
    assert Sample().single.number == 0


def test_null_is_not_the_default_of_a_nullable_array() -> None:
    assert MetadataRequest().topics == []
    assert MetadataRequest(topics=None).topics is None


def test_constructors_take_keywords_and_the_order_of_the_fields() -> None:
    assert Sample(5, "n") == Sample(name="n", number=5)
    with pytest.raises(TypeError):
        Sample(nonsense=1)  # type: ignore[call-arg]


def test_only_declared_attributes_exist() -> None:
    with pytest.raises(AttributeError):
        Sample().nonsense = 1  # type: ignore[attr-defined]


def test_equality_goes_by_values_and_class() -> None:
    assert Sample(items=[Sample.Item(1)]) == Sample(items=[Sample.Item(1)])
    assert Sample(items=[Sample.Item(1)]) != Sample(items=[Sample.Item(2)])
    assert FetchRequest() != FetchResponse()
    assert FetchRequest() != "a request"


def test_repr_is_the_constructor() -> None:
    assert repr(Sample.Item(7)) == "Sample.Item(number=7)"
    assert eval(repr(Sample(3, None, [Sample.Item(1)]))) == Sample(3, None, [Sample.Item(1)])


def test_a_tagged_struct_that_is_not_there_is_none() -> None:
    assert FetchRequest().replica_state is None


def all_structs() -> list[StructType]:
    """All structs of all messages."""
    modules = [
        importlib.import_module(f"{package.__name__}.{found.name}")
        for package in (kafkapy.protocol.messages, kafkapy.protocol.records)
        for found in pkgutil.iter_modules(package.__path__)
    ]
    messages = [
        cls
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, StructType) and issubclass(cls, Message) and cls is not Message
    ]
    return messages + [cls for message in messages for cls in nested(message).values()]


def nested(message: StructType) -> dict[str, StructType]:
    return {name: cls for name, cls in vars(message).items() if isinstance(cls, StructType) and name != "ROOT"}


def test_annotations_say_what_the_schema_says() -> None:
    structs = all_structs()
    assert len(structs) > 300
    for cls in structs:
        for field in cls.FIELDS:
            assert inspect.get_annotations(cls)[field.name] == annotation(cls, field), (cls, field.name)


def annotation(cls: StructType, field: Field) -> str:
    name = field.element_type or field.type
    text = f"{cls.ROOT.__name__}.{name}" if field.struct_name else PYTHON_TYPES[name]
    if field.element_type:
        text = f"list[{text}]"
    absent = field.type == field.struct_name and field.default is not NEW
    nullable = field.nullable.lowest <= field.nullable.highest
    return f"{text} | None" if (nullable or absent) and text != "Records" else text


def test_structs_of_a_message_are_used_by_it() -> None:
    for cls in all_structs():
        if cls.ROOT is cls:
            structs = nested(cls)
            used = {field.struct_name for struct in (cls, *structs.values()) for field in struct.FIELDS}
            assert set(structs) == used - {""}, cls
