"""Generates typed classes of the events: a package of dataclasses that passes mypy in strict mode."""

from __future__ import annotations

import base64
import keyword
import re
from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import NamedTuple

from kafkapy.bus.schemas.model import EventModel, ModelEnum, ModelRecord, model_of
from kafkapy.bus.schemas.repository import EventSchemas, RepositoryError, SchemaFile

_MODULES = {
    "datetime": "datetime",
    "date": "datetime",
    "time": "datetime",
    "timedelta": "datetime",
    "Decimal": "decimal",
    "UUID": "uuid",
    "Any": "typing",
}


class Routing(NamedTuple):
    """Topic and router of an event, from the topic repository."""

    topic: str
    router: str | None = None
    time_field: str | None = None


def package_files(events: Iterable[EventSchemas], routing: Mapping[str, Routing], package: str) -> dict[str, str]:
    """Path -> text of each module. The latest version of each MODEL has a class: the newest MODEL has the event's
    name, older ones `…V1`. Raises RepositoryError."""
    if not package.isidentifier() or keyword.iskeyword(package):
        raise RepositoryError(f"{package!r} cannot be a Python package")
    files = {f"{package}/py.typed": ""}
    exported: dict[str, str] = {}
    for event in events:
        for file in latest_of_models(event):
            newest = file == event.versions[-1]
            assert file.version is not None
            suffix = "" if newest else f"V{file.version.model}"
            name = event.name.rpartition(".")[2] + suffix
            module = _module_name(event.name) + suffix.lower()
            files[f"{package}/{module}.py"] = module_text(event, file, routing.get(event.name), suffix)
            if name in exported:
                raise RepositoryError(f"{event.name} and {exported[name]} would both be the class {name}")
            exported[name] = module
    lines = [f'"""Events of {package}."""', "", "from __future__ import annotations", ""]
    lines += [f"from {package}.{module} import {name} as {name}" for name, module in sorted(exported.items())]
    lines += ["", f"__all__ = {sorted(exported)!r}", ""]
    files[f"{package}/__init__.py"] = "\n".join(lines)
    return files


def latest_of_models(event: EventSchemas) -> list[SchemaFile]:
    found = {file.version.model: file for file in event.versions if file.version is not None}
    if not found:
        raise RepositoryError(f"{event.name} has no version yet: kafkapy-schemas.sh bump makes one of next")
    return list(found.values())


def module_text(event: EventSchemas, file: SchemaFile, routing: Routing | None, suffix: str = "") -> str:
    """The module of one event. Raises RepositoryError."""
    model = model_of(event.kind, file.text, event.name)
    if routing is None:
        raise RepositoryError(f"No topic accepts {event.name}: declare one in the topic repository")
    known = {field.name for field in model.root.fields}
    if routing.time_field is not None and routing.time_field not in known:
        raise RepositoryError(f"{event.name} has no field {routing.time_field}, which {routing.topic} says is its time")
    classes: list[str] = [_enum(enum) for enum in model.enums]
    for record in model.records:
        decorator = "" if record != model.root else _decorator(event, file, routing, model)
        classes.append(decorator + _record(record, suffix if record == model.root else "", nested=record != model.root))
    body = "\n\n\n".join(classes)
    constants = [f"SCHEMA = {_text(file.text)}"]
    if model.descriptor is not None:
        encoded = base64.b64encode(model.descriptor).decode()
        lines = "\n".join(f'    "{line}"' for line in wrap(encoded, 100))
        constants.append(f"DESCRIPTOR = base64.b64decode(\n{lines}\n)")
    about = f'"""{event.name} {file.version} (made of its schema: do not edit)."""'
    head = [about, "", "from __future__ import annotations", "", *_imports(body, model, event.kind), ""]
    return "\n".join([*head, *constants, "", "", body, ""])


def _imports(body: str, model: EventModel, kind: str) -> list[str]:
    lines = ["import base64"] if model.descriptor is not None else []
    dataclass_names = ["dataclass", *(["field"] if "field(default_factory" in body else [])]
    lines.append(f"from dataclasses import {', '.join(dataclass_names)}")
    by_module: dict[str, list[str]] = {}
    for name, module in _MODULES.items():
        if re.search(rf"(?<![\w.]){name}(?!\w)", body):
            by_module.setdefault(module, []).append(name)
    if "ClassVar" in body:
        by_module.setdefault("typing", []).append("ClassVar")
    lines += [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(by_module.items())]
    if model.enums:
        lines.append("from enum import Enum")
    lines += ["", "from kafkapy.bus import event"]
    if kind != "AVRO":
        lines.append("from kafkapy.schemas import Schema")
    return lines


def _decorator(event: EventSchemas, file: SchemaFile, routing: Routing, model: EventModel) -> str:
    schema = "SCHEMA" if event.kind == "AVRO" else f'Schema(SCHEMA, "{event.kind}")'
    arguments = [f'name="{event.name}"', f'version="{file.version}"', f"topic={routing.topic!r}", f"schema={schema}"]
    if routing.router:
        arguments.append(f"router={routing.router!r}")
    if routing.time_field:
        arguments.append(f"time_field={routing.time_field!r}")
    if model.descriptor is not None:
        arguments.append("descriptor=DESCRIPTOR")
    return "@event(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")\n"


def _record(record: ModelRecord, suffix: str, *, nested: bool) -> str:
    lines = ["@dataclass(frozen=True, kw_only=True)", f"class {record.name}{suffix}:"]
    about = _doc(record.doc) or f"The record {record.schema_name}."
    lines += [f'    """{about}"""', ""]
    if nested:
        lines += [f'    schema_name: ClassVar[str] = "{record.schema_name}"']
    for field in record.fields:
        if keyword.iskeyword(field.name) or not field.name.isidentifier():
            raise RepositoryError(f"The field {field.name} of {record.schema_name} cannot be a field of a Python class")
        default = "" if field.default is None else f" = {field.default}"
        lines.append(f"    {field.name}: {field.type}{default}")
        if field.doc:
            lines.append(f'    """{_doc(field.doc)}"""')
    return "\n".join(lines)


def _enum(enum: ModelEnum) -> str:
    for symbol in enum.symbols:
        if keyword.iskeyword(symbol) or not symbol.isidentifier():
            raise RepositoryError(f"The symbol {symbol} of {enum.name} cannot be a member of a Python enum")
    members = [f'    {symbol} = "{symbol}"' for symbol in enum.symbols]
    return "\n".join(
        [f"class {enum.name}(Enum):", f'    """{_doc(enum.doc) or "An enum of the schema."}"""', "", *members]
    )


def _doc(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace('"', "'")


def _text(text: str) -> str:
    """A schema as a Python literal, readable where possible."""
    if '"""' in text or "\\" in text or text.endswith('"'):
        return repr(text)
    return f'"""{text}"""'


def _module_name(name: str) -> str:
    last = name.rpartition(".")[2]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", last).lower()
