"""The stubs of the clients' faces: up to date, and of use to a user's program."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.admin.core import AdminCore
from kafkapy.admin.router import Router
from kafkapy.admin.typed_methods import AREA_OF
from kafkapy.clients.facade import operations
from kafkapy.tools.face_stubs import FACES, path_of, stub_of

PROGRAM = """
import asyncio
from typing import Any, assert_type

from twisted.internet.defer import Deferred

import kafkapy.aio
import kafkapy.tx
from kafkapy import KafkaAdminClient, TopicPartition
from kafkapy.admin import NewTopic
from kafkapy.structs import OffsetAndMetadata

with KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
    admin.create_topics([NewTopic("t", 1, 1), "u"], validate_only=True)
    assert_type(admin.list_topics(), list[str])
    assert_type(admin.list_group_offsets("g"), dict[str, dict[TopicPartition, OffsetAndMetadata]])
    admin.list_topics("x")
    admin.delete_topics(1)
    admin.no_such_method()

async def main() -> None:
    async with kafkapy.aio.KafkaAdminClient(bootstrap_servers="localhost:9092") as admin:
        assert_type(await admin.list_topics(), list[str])
        assert_type(await admin.describe_cluster(), dict[str, Any])


asyncio.run(main())
assert_type(kafkapy.tx.KafkaAdminClient().list_topics(), Deferred[list[str]])
"""


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
    assert AREA_OF.keys() == operations(AdminCore, Router).keys()


def test_a_users_program_is_checked(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    cache = Path(__file__).parents[2] / ".mypy_cache" / "users"
    options = ["--strict", "--config-file=", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={cache}"]
    command = [sys.executable, "-m", "mypy", *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert [line.partition("error: ")[2] for line in done.stdout.splitlines()] == [
        'Too many arguments for "list_topics" of "BlockingMethods"  [call-arg]',
        'Argument 1 to "delete_topics" of "BlockingMethods" has incompatible type "int"; '
        'expected "Sequence[str | UUID]"  [arg-type]',
        '"KafkaAdminClient" has no attribute "no_such_method"  [attr-defined]',
    ]
