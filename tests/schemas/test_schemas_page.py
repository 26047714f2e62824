"""The programs of docs/schemas.md, as they are but for the addresses, one after the other."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

import pytest

pytest.importorskip("fastavro")
pytest.importorskip("pyarrow")

from tests.broker_process import BrokerProcess
from tests.schemas.registry_server import RegistryServer

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

PAGE = Path(__file__).parents[2] / "docs" / "schemas.md"


def test_the_programs_of_the_page(
    zookeeper: str, tmp_path: Path, server: RegistryServer, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(programs) == 3
    broker = BrokerProcess(tmp_path, f"{zookeeper}/{uuid.uuid4().hex[:12]}")
    broker.start()
    try:
        for program in programs:
            program = program.replace("http://localhost:8081", server.url).replace("localhost:9092", broker.address)
            exec(compile(program, str(PAGE), "exec"), {"__name__": "__main__"})
    finally:
        broker.stop()
    assert capsys.readouterr().out.splitlines() == [
        "1 Ann",
        "3",
        "1 ['prices-value']",
        "False",
        "BACKWARD",
        "['Ann']",
    ]
