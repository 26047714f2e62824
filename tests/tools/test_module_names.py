"""`python -m kafkapy.tools.X` starts each program, wherever its module lies."""

from __future__ import annotations

import configparser
import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def programs() -> set[str]:
    """The modules' own names, from the table of commands."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    rows = [row for row in setup["options.entry_points"]["console_scripts"].splitlines() if row]
    return {row.split("=")[1].partition(":")[0].strip().rpartition(".")[2] for row in rows}


def test_each_program_starts_under_its_short_name() -> None:
    found = programs()
    assert {"topics", "console_producer", "zookeeper_shell"} <= found
    for program in found:
        spec = importlib.util.find_spec(f"kafkapy.tools.{program}")
        assert spec is not None, program
        if spec.submodule_search_locations is not None:
            assert importlib.util.find_spec(f"kafkapy.tools.{program}.__main__") is not None, program
