"""The recipes of docs/testing.md, run as they are; system_tests/test_recipes.py runs those of other languages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafkapy.testing.aio import _AWAITED
from kafkapy.testing.cluster import KafkaCluster
from tests.testing.test_plugin import ROOT, run
from tests.waiting import HANG_SECONDS

PAGE = (ROOT / "docs" / "testing.md").read_text()
RECIPES = re.findall(r"^```py\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PYTEST = [recipe for recipe in RECIPES if "def test_" in recipe and "unittest" not in recipe]
PROGRAMS = [recipe for recipe in RECIPES if recipe not in PYTEST]


@pytest.mark.integration
def test_recipes_for_pytest(tmp_path: Path) -> None:
    for number, recipe in enumerate(PYTEST):
        (tmp_path / f"test_recipe_{number}.py").write_text(recipe)
    output = run(tmp_path, "")
    assert len(PYTEST) >= 6 and f"{sum(recipe.count('def test_') for recipe in PYTEST)} passed" in output, output


@pytest.mark.integration
@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_recipes_that_are_programs(number: int, tmp_path: Path) -> None:
    """A script prints what it found; unittest says what it thinks."""
    (tmp_path / "program.py").write_text(PROGRAMS[number])
    command = [sys.executable, str(tmp_path / "program.py")]
    done = subprocess.run(
        command,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert "[b'a', b'b']" in done.stdout or ("Ran 2 tests" in done.stderr and "OK" in done.stderr)


def test_what_the_page_tells_of_is_there() -> None:
    names = {
        name
        for row in re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
        for name in re.findall(r"`(?:with )?([a-z_]+)\(", row)
    }
    assert len(names) > 20 and {name for name in names - {"advance"} if not hasattr(KafkaCluster, name)} == set()


def test_on_asyncio_nothing_is_missing() -> None:
    assert {name for name in _AWAITED if not callable(getattr(KafkaCluster, name))} == set()
