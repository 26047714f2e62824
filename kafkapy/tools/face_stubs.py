"""Writes the stubs of the clients' faces for type checkers and editors: `python -m kafkapy.tools.face_stubs`.

`clients/facade.py` explains why there are stubs. Signatures, docstrings and imports are copied from the cores'
sources, which are parsed, not imported: bin/setup.sh and the build of a wheel write stubs before kafkapy's
requirements are installed.
"""

from __future__ import annotations

import ast
import functools
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

Function = ast.FunctionDef | ast.AsyncFunctionDef


class FaceStub(NamedTuple):
    """A module with stubs. `classes`: name -> its imports, and the result of its methods, where `{}` stands for the
    core's result."""

    core: str
    classes: dict[str, tuple[str, str]]
    beneath: str = ""


_AWAITABLE = ("from collections.abc import Coroutine\nfrom typing import Any", "Coroutine[Any, Any, {}]")
_DEFERRED = ("from twisted.internet.defer import Deferred", "Deferred[{}]")


FACES = {
    "kafkapy.admin.typed_methods": FaceStub(
        "kafkapy.admin.core:AdminCore", {"TypedMethods": ("", "{}")}, "kafkapy.admin.router:Router"
    ),
    "kafkapy.admin.methods": FaceStub(
        "kafkapy.admin.kafka_python.core:KafkaPythonCore",
        {
            "BlockingMethods": ("", "{}"),
            "AwaitableMethods": _AWAITABLE,
            "DeferredMethods": _DEFERRED,
        },
    ),
}


class _Module:
    """A parsed source. `known`: name -> import statement, for the names that it imports or defines."""

    def __init__(self, name: str) -> None:
        path = ROOT.joinpath(*name.split("."))
        self.tree = ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text())
        self.known: dict[str, str] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        for node in self.tree.body:
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            defined = [target.id for target in targets if isinstance(target, ast.Name)]
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
                defined = [node.name]
            self.known |= {own: f"from {name} import {own}" for own in defined}
        for part in ast.walk(self.tree):
            if isinstance(part, ast.ImportFrom | ast.Import):
                start = f"from {part.module} import " if isinstance(part, ast.ImportFrom) else "import "
                self.known |= {alias.asname or alias.name: start + ast.unparse(alias) for alias in part.names}


_module = functools.cache(_Module)


def stub_of(module: str) -> str:
    """The text of a module's stub."""
    face = FACES[module]
    core_module, _, core = face.core.partition(":")
    core_import = f"from {core_module} import {core}"
    imports = {line for statements, _ in face.classes.values() for line in statements.splitlines()}
    blocks = []
    for name, (_, gives) in face.classes.items():
        methods = [(source, _stub(node, gives)) for source, node in _operations(core_import, face.beneath)]
        for source, node in methods:
            imports |= set(_imports(source, node))
        lines = [textwrap.indent(ast.unparse(node), "    ") for _, node in methods]
        blocks.append("\n".join([f"class {name}:", *lines]))
    return "\n".join([f'"""{ast.get_docstring(_module(module).tree)}"""', *sorted(imports), *blocks]) + "\n"


def _operations(core_import: str, beneath: str) -> list[tuple[_Module, Function]]:
    """The operations of the core, as `kafkapy.clients.facade.operations` finds them, each with its module."""
    others = _methods(f"from {beneath.replace(':', ' import ')}") if beneath else {}
    return [
        (module, node)
        for name, (module, node) in sorted(_methods(core_import).items())
        if isinstance(node, ast.AsyncFunctionDef) and not name.startswith("_") and name not in others
        if [argument.arg for argument in node.args.args[1:2]] != ["call"]
    ]


def _methods(where: str) -> dict[str, tuple[_Module, Function]]:
    """All methods of an imported class, including those of its bases."""
    module_name, name = where.removeprefix("from ").split(" import ")
    module = _module(module_name)
    found: dict[str, tuple[_Module, Function]] = {}
    for base in reversed(module.classes[name].bases):
        statement = module.known.get(ast.unparse(base), "")
        if statement.startswith("from kafkapy."):
            found |= _methods(statement)
    for node in module.classes[name].body:
        if isinstance(node, Function):
            found[node.name] = module, node
    return found


def _stub(node: Function, gives: str) -> ast.FunctionDef:
    """The method without `async` and body; in `gives`, `{}` is replaced by its result."""
    assert node.returns is not None, f"{node.name} does not say what it gives"
    doc = ast.get_docstring(node)
    text = doc if doc is None or "\n" not in doc else textwrap.indent(doc, " " * 8).lstrip()
    body: list[ast.stmt] = [ast.Expr(ast.Constant(... if text is None else text))]
    returns = ast.parse(gives.format(ast.unparse(node.returns)), mode="eval").body
    made = ast.FunctionDef(node.name, node.args, body, node.decorator_list, returns)
    return ast.fix_missing_locations(made)


def _imports(module: _Module, node: ast.stmt) -> Iterator[str]:
    """The imports for the names in the annotations."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id != "Deferred" and part.id in module.known:
            yield module.known[part.id]


def write_stubs(directory: Path = ROOT) -> None:
    """Write the stubs beside the modules in `directory`; stubs that are up to date are not touched."""
    for module in FACES:
        path, text = directory.joinpath(*module.split(".")).with_suffix(".pyi"), stub_of(module)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


if __name__ == "__main__":
    write_stubs()
