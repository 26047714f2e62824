"""The stubs of the clients' faces are up to date. (What users have of them: `test_typed_faces.py`.)"""

from __future__ import annotations

import ast
import re

import pytest

from kafkapy.admin import typed_methods
from kafkapy.admin.core import AdminCore
from kafkapy.admin.router import Router
from kafkapy.clients.facade import operations
from kafkapy.tools.face_stubs import FACES, path_of, stub_of


@pytest.mark.parametrize("module", FACES)
def test_a_stub_is_up_to_date(module: str) -> None:
    """If not: `python -m kafkapy.tools.face_stubs`."""
    written, wanted = ast.parse(path_of(module).read_text()), ast.parse(stub_of(module))
    for old, new in zip(_classes(written), _classes(wanted), strict=True):
        assert _text(old) == _text(new)


def _text(statement: ast.stmt) -> str:
    """Without the indentation of docstrings."""
    return re.sub(r"(\\n|\s)+", " ", ast.dump(statement))


def _classes(tree: ast.Module) -> list[ast.stmt]:
    return [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]


def test_every_operation_of_the_tools_client_has_an_area() -> None:
    assert vars(typed_methods)["AREA_OF"].keys() == operations(AdminCore, Router).keys()
