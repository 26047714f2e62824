"""Counts how well the public face is documented: parameters that docstrings name, classes with an example.

    python -m tests.documented                     counts, a line for each package
    python -m tests.documented kafkapy.admin       what is missing in packages

The docstrings are read from the source: a compiled module has none.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent

PACKAGES = (
    "kafkapy",
    "kafkapy.aio",
    "kafkapy.tx",
    "kafkapy.producer",
    "kafkapy.consumer",
    "kafkapy.admin",
    "kafkapy.testing",
    "kafkapy.bus",
    "kafkapy.schemas",
    "kafkapy.spark",
    "kafkapy.structs",
    "kafkapy.serializer",
    "kafkapy.partitioner",
    "kafkapy.streams",
    "kafkapy.streams.testing",
)
"""The packages that programs import. `kafkapy.errors` is counted apart: its classes take no arguments of their own."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Documented:
    """What a package shows, and what of it lacks documentation. A class that two packages show counts in the first."""

    classes: dict[str, bool] = field(default_factory=dict)
    """Does the class have an example? By module and name."""
    functions: dict[str, list[str]] = field(default_factory=dict)
    """The parameters that the docstring leaves out, by module and name; functions without parameters do not count."""

    def __add__(self, other: Documented) -> Documented:
        return Documented({**self.classes, **other.classes}, {**self.functions, **other.functions})

    @property
    def without_example(self) -> list[str]:
        return [name for name, has_example in self.classes.items() if not has_example]

    @property
    def undocumented(self) -> dict[str, list[str]]:
        return {name: missing for name, missing in self.functions.items() if missing}


def count(package: str) -> Documented:
    """The face of one package: its exported classes, with what they inherit within kafkapy, and functions."""
    module = import_module(package)
    found = Documented()
    for name in exported(module):
        value = getattr(module, name)
        home = getattr(value, "__module__", None) or ""
        if not home.startswith("kafkapy"):
            continue
        if isinstance(value, type):
            if not issubclass(value, BaseException):
                found += _class(value)
        elif callable(value) and (node := _definition(home, getattr(value, "__qualname__", ""))):
            assert isinstance(node, Function)
            found.functions[f"{home}:{node.name}"] = _missing(node, _docstring(node))
    return found


def exported(module: Any) -> list[str]:
    """The names that a module shows."""
    return getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]


def _class(cls: type) -> Documented:
    found = Documented()
    lineage = [base for base in cls.__mro__ if (base.__module__ or "").startswith("kafkapy")]
    nodes = [node for base in lineage if (node := _definition(base.__module__, base.__qualname__))]
    found.classes[f"{cls.__module__}:{cls.__qualname__}"] = bool(nodes) and ">>> " in _docstring(nodes[0])
    for name in {name: None for base in lineage for name in vars(base) if not name.startswith("_")}:
        owners = [base for base in lineage if name in vars(base)]
        methods = [method for owner in owners if (method := _method(owner, name))]
        if methods and name in vars(owners[0]):
            text = next(filter(None, (_docstring(method) for _, method in methods)), "")
            found.functions[methods[0][0]] = _missing(methods[0][1], text)
    found.functions[f"{cls.__module__}:{cls.__qualname__}.__init__"] = _constructor(lineage, nodes)
    found.functions = {name: missing for name, missing in found.functions.items() if missing != [_NO_PARAMETERS]}
    return found


_NO_PARAMETERS = ""
"""In place of a function's missing parameters, if it has none."""


def _constructor(lineage: list[type], nodes: list[Any]) -> list[str]:
    """The parameters of a class that neither the class nor `__init__` names. Fields count, with what is written below them."""
    text = "\n".join(map(_docstring, nodes))
    for base in lineage:
        if "__init__" in vars(base) or "__new__" in vars(base):
            for name in ("__init__", "__new__"):
                node = _definition(base.__module__, f"{base.__qualname__}.{name}")
                if node is not None:
                    return _missing(node, text + _docstring(node))
            break
    if not any("__dataclass_fields__" in vars(base) or hasattr(base, "_fields") for base in lineage):
        return [_NO_PARAMETERS]
    fields, described = [], set()
    for node in nodes:
        for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                name = statement.target.id
                if "ClassVar" not in ast.unparse(statement.annotation) and not name.startswith("_"):
                    fields.append(name)
                if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                    described.add(name)
    return [name for name in fields if name not in described and not _names(text, name)] if fields else [_NO_PARAMETERS]


def _method(owner: type, name: str) -> tuple[str, Function] | None:
    """Where a method is defined, and its source. A delegate's is that of the function that it calls."""
    value = vars(owner)[name]
    value = getattr(value, "__func__", value)
    if isinstance(value, property | type) or not callable(value):
        return None
    places = [
        (getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")),
        (owner.__module__, f"{owner.__qualname__}.{name}"),
    ]
    for module, qualified in places:
        node = _definition(module, qualified) if module.startswith("kafkapy") else None
        if isinstance(node, Function):
            return f"{module}:{qualified}", node
    return None


def _missing(node: Function, text: str) -> list[str]:
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    given += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    names = [each.arg for each in given if each.arg not in ("self", "cls") and not each.arg.startswith("_")]
    return [name for name in names if not _names(text, name)] if names else [_NO_PARAMETERS]


def _names(text: str, name: str) -> bool:
    """Does a docstring name the parameter, in its list of arguments or in backticks?"""
    return bool(re.search(rf"(?:^|\s)\*{{0,2}}{name}: |`\*{{0,2}}{name}\b", text))


def _docstring(node: Any) -> str:
    return ast.get_docstring(node) or ""


def _definition(module: str, qualified: str) -> Any:
    """The source of a class or function; of several with one name (overloads) the last."""
    return _definitions(module).get(qualified)


@cache
def _definitions(module: str) -> dict[str, Any]:
    path = ROOT.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not path.exists():
        return {}
    return dict(_walk(ast.parse(path.read_text(encoding="utf-8")), ""))


def _walk(node: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | Function):
            yield prefix + child.name, child
            if isinstance(child, ast.ClassDef):
                yield from _walk(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.If | ast.Try):
            yield from _walk(child, prefix)


def main(packages: list[str]) -> None:
    seen = Documented()
    for package in packages or PACKAGES:
        found = count(package)
        new = Documented(
            {name: value for name, value in found.classes.items() if name not in seen.classes},
            {name: value for name, value in found.functions.items() if name not in seen.functions},
        )
        seen += found
        print(
            f"{package}: {len(new.classes)} classes, {len(new.without_example)} without example; "
            f"{len(new.functions)} functions with parameters, {len(new.undocumented)} that leave some out"
        )
        if packages:
            for name in new.without_example:
                print(f"  {name}: no example")
            for name, missing in new.undocumented.items():
                print(f"  {name}: {', '.join(missing)}")


if __name__ == "__main__":
    main(sys.argv[1:])
