"""A jar of the events for Java: a record class for each, beside the schemas' texts as resources."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from kafkapy.bus.schemas.model import ModelEnum, ModelRecord, model_of
from kafkapy.bus.schemas.python_classes import latest_of_models
from kafkapy.bus.schemas.repository import EventSchemas, RepositoryError

_TYPES = {
    "str": "String",
    "int": "Long",
    "float": "Double",
    "bool": "Boolean",
    "bytes": "byte[]",
    "datetime": "java.time.Instant",
    "date": "java.time.LocalDate",
    "time": "java.time.LocalTime",
    "timedelta": "java.time.Duration",
    "Decimal": "java.math.BigDecimal",
    "UUID": "java.util.UUID",
    "Any": "Object",
}


def has_jdk() -> bool:
    return shutil.which("javac") is not None and shutil.which("jar") is not None


def write_jar(directory: Path, package: str, version: str, events: Iterable[EventSchemas]) -> Path:
    """Compile the jar and return its path. Raises RepositoryError with javac's message."""
    directory.mkdir(parents=True, exist_ok=True)
    path = (directory / f"{package}-{version}.jar").absolute()
    with tempfile.TemporaryDirectory() as work:
        sources, classes = Path(work) / "src", Path(work) / "classes"
        classes.mkdir()
        for event in events:
            newest = latest_of_models(event)[-1]
            for file in event.versions:
                target = classes / "schemas" / event.name / file.path.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(file.text, "utf-8")
            model = model_of(event.kind, newest.text, event.name)
            space = event.name.rpartition(".")[0] or package
            outer = model.root.name
            inner = [_record(each, nested=True) for each in model.records if each != model.root]
            inner += [_enum(each) for each in model.enums]
            constants = [
                f'public static final String EVENT_TYPE = "{event.name}";',
                f'public static final String EVENT_VERSION = "{newest.version}";',
                f'public static final String SCHEMA_RESOURCE = "/schemas/{event.name}/{newest.path.name}";',
            ]
            text = f"package {space};\n\n{_record(model.root, nested=False, inside=[*constants, *inner])}\n"
            source = sources / space.replace(".", "/") / f"{outer}.java"
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text, "utf-8")
        _run(["javac", "--release", "17", "-d", str(classes), *map(str, sorted(sources.rglob("*.java")))])
        _run(["jar", "--create", "--file", str(path), "-C", str(classes), "."])
    return path


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RepositoryError(f"{command[0]} has failed: {(done.stderr or done.stdout).strip()[:2000]}")


def _record(record: ModelRecord, *, nested: bool, inside: Iterable[str] = ()) -> str:
    fields = ", ".join(f"{_type(field.type)} {field.name}" for field in record.fields)
    body = "".join(f"\n    {line}" for each in inside for line in each.splitlines())
    return f"public {'static ' if nested else ''}record {record.name}({fields}) {{{body}\n}}"


def _enum(enum: ModelEnum) -> str:
    return f"public enum {enum.name} {{ {', '.join(enum.symbols)} }}"


def _type(annotation: str) -> str:
    """A Python annotation as a Java type; a union of several types is an Object."""
    parts = [part for part in _split(annotation, "|") if part != "None"]
    if len(parts) != 1:
        return "Object"
    matched = re.fullmatch(r"(list|dict)\[(.*)\]", parts[0])
    if matched is None:
        return _TYPES.get(parts[0], parts[0])
    inner = [_type(part) for part in _split(matched[2], ",")]
    return f"java.util.{'List' if matched[1] == 'list' else 'Map'}<{', '.join(inner)}>"


def _split(text: str, at: str) -> list[str]:
    """Split at commas outside of brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == at and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
