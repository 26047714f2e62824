"""Writes what type checkers and editors know of the clients' faces: `python -m kafkapy.tools.face_stubs`.

Why there are such stubs, `clients/facade.py` says. Signatures, docstrings and imports are copied from the cores' sources.
"""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import kafkapy
from kafkapy.clients.facade import operations

ROOT = Path(kafkapy.__file__).parent.parent


class FaceStub(NamedTuple):
    """`classes`: name -> the import it needs, and what its methods give, `{}` being what the core's give. `promises`: the
    core's methods say `Promise[...]` of it, and its faces derive from it; else they are coroutines."""

    core: str
    classes: dict[str, tuple[str, str]]
    beneath: str = "builtins:object"
    promises: bool = False


_AWAITABLE = ("import asyncio", "asyncio.Future[{}]")
_DEFERRED = ("from twisted.internet.defer import Deferred", "Deferred[{}]")


FACES = {
    "kafkapy.admin.typed_methods": FaceStub(
        "kafkapy.admin.core:AdminCore", {"TypedMethods": ("", "{}")}, "kafkapy.admin.router:Router"
    ),
    "kafkapy.admin.methods": FaceStub(
        "kafkapy.admin.kafka_python:KafkaPythonCore",
        {
            "BlockingMethods": ("", "{}"),
            "AwaitableMethods": _AWAITABLE,
            "DeferredMethods": _DEFERRED,
        },
    ),
    "kafkapy.consumer.async_faces": FaceStub(
        "kafkapy.consumer.async_consumer:AsyncConsumer",
        {"AwaitableConsumer": _AWAITABLE, "DeferredConsumer": _DEFERRED},
        promises=True,
    ),
}


def stub_of(module: str) -> str:
    """The text of a module's stub, not yet formatted."""
    face = FACES[module]
    core, beneath = (_object(place) for place in (face.core, face.beneath))
    imports = {statement for statement, _ in face.classes.values() if statement}
    blocks = []
    for name, (_, gives) in face.classes.items():
        if face.promises:
            methods = [(core, node) for node in _promising(core, gives)]
            imports.add(f"from {core.__module__} import {core.__name__}")
        else:
            methods = [(method, _signature(method, gives)) for method in operations(core, beneath).values()]
        for source, node in methods:
            imports |= set(_imports(source, node))
        base = f"({core.__name__})" if face.promises else ""
        lines = [textwrap.indent(ast.unparse(node), "    ") for _, node in methods]
        blocks.append("\n".join([f"class {name}{base}:", *lines]))
    own = import_module(module)
    return "\n".join([f'"""{inspect.getdoc(own)}"""', *sorted(imports), *blocks]) + "\n"


def _object(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _signature(method: Callable[..., Any], gives: str) -> ast.FunctionDef:
    """The method without `async` and body."""
    node = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0]
    assert isinstance(node, ast.AsyncFunctionDef)
    assert node.returns is not None, f"{method.__qualname__} does not say what it gives"
    return _stub(method, node, gives.format(ast.unparse(node.returns)))


def _stub(method: Callable[..., Any], node: ast.FunctionDef | ast.AsyncFunctionDef, gives: str) -> ast.FunctionDef:
    doc = inspect.getdoc(method)
    text = doc if doc is None or "\n" not in doc else textwrap.indent(doc, " " * 8).lstrip()
    body: list[ast.stmt] = [ast.Expr(ast.Constant(... if text is None else text))]
    returns = ast.parse(gives, mode="eval").body
    made = ast.FunctionDef(node.name, node.args, body, node.decorator_list, returns)
    return ast.fix_missing_locations(made)


def _promising(core: type, gives: str) -> Iterator[ast.stmt]:
    """The public methods of a class that give a `Promise[...]`, overloads in place of what they overload, and their
    other names."""
    (body,) = (
        node.body for node in ast.parse(textwrap.dedent(inspect.getsource(core))).body if isinstance(node, ast.ClassDef)
    )
    methods = [node for node in body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]
    overloaded = {node.name for node in methods if node.decorator_list}
    names = set()
    for node in methods:
        result = node.returns
        marked = isinstance(result, ast.Subscript) and ast.unparse(result.value) == "Promise"
        if marked and (node.decorator_list or node.name not in overloaded):
            assert isinstance(result, ast.Subscript)
            names.add(node.name)
            yield _stub(getattr(core, node.name), node, gives.format(ast.unparse(result.slice)))
    for other in body:
        if isinstance(other, ast.Assign) and isinstance(other.value, ast.Name) and other.value.id in names:
            yield other


def _imports(source: Any, node: ast.stmt) -> Iterator[str]:
    """Where the names of the annotations come from: what the core's module imports, or defines itself."""
    module = inspect.getmodule(source)
    assert module is not None
    known: dict[str, str] = {}
    for statement in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(statement, ast.ImportFrom | ast.Import):
            start = f"from {statement.module} import " if isinstance(statement, ast.ImportFrom) else "import "
            known |= {alias.asname or alias.name: start + ast.unparse(alias) for alias in statement.names}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id not in ("asyncio", "Deferred"):
            if part.id in known:
                yield known[part.id]
            elif part.id in vars(module):
                yield f"from {module.__name__} import {part.id}"


def path_of(module: str) -> Path:
    return ROOT.joinpath(*module.split(".")).with_suffix(".pyi")


def main() -> int:
    """Needs ruff, for the format."""
    for module in FACES:
        path_of(module).write_text(stub_of(module))
    paths = [str(path_of(module)) for module in FACES]
    ruff = [sys.executable, "-m", "ruff"]
    subprocess.run([*ruff, "check", "--quiet", "--fix", "--select", "I", *paths], check=True)
    return subprocess.run([*ruff, "format", "--quiet", *paths], check=True).returncode


if __name__ == "__main__":
    sys.exit(main())
