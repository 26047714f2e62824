"""The stubs of the clients' faces have all that the faces have. (What users have of them: `test_typed_faces.py`.)"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkapy.admin import typed_methods
from kafkapy.admin.core import AdminCore
from kafkapy.admin.kafka_python.core import KafkaPythonCore
from kafkapy.admin.router import Router
from kafkapy.clients.facade import operations
from kafkapy.tools.face_stubs import FACES, stub_of, write_stubs


@pytest.mark.parametrize(
    ("module", "methods"),
    [
        ("kafkapy.admin.methods", operations(KafkaPythonCore)),
        ("kafkapy.admin.typed_methods", operations(AdminCore, Router)),
    ],
)
def test_a_stub_has_every_method(module: str, methods: dict[str, Callable[..., Any]]) -> None:
    faces = [node for node in ast.parse(stub_of(module)).body if isinstance(node, ast.ClassDef)]
    assert [face.name for face in faces] == list(FACES[module].classes)
    for face in faces:
        stubs = {node.name: node for node in face.body if isinstance(node, ast.FunctionDef)}
        others = {ast.unparse(target) for node in face.body if isinstance(node, ast.Assign) for target in node.targets}
        assert stubs.keys() | others == methods.keys()
        for name, node in stubs.items():
            arguments = [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            named = [argument.arg for argument in arguments if argument is not None]
            assert named == list(inspect.signature(methods[name]).parameters), name
            assert ast.get_docstring(node) == inspect.getdoc(methods[name]), name


def test_stubs_are_written_beside_their_modules(tmp_path: Path) -> None:
    (tmp_path / "kafkapy" / "admin").mkdir(parents=True)
    for _ in range(2):
        write_stubs(tmp_path)
        found = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.pyi"))
        assert found == sorted(f"{module.replace('.', '/')}.pyi" for module in FACES)


def test_every_operation_of_the_tools_client_has_an_area() -> None:
    assert vars(typed_methods)["AREA_OF"].keys() == operations(AdminCore, Router).keys()
