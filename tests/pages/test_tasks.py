"""A contributor's tasks, the hooks of git and the workflow call scripts that exist, with options that these know."""

from __future__ import annotations

import ast
import configparser
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

CALLERS = ("noxfile.py", ".pre-commit-config.yaml", ".github/workflows/tests.yml", ".ci/run")


@pytest.mark.parametrize("name", CALLERS)
def test_scripts_that_are_called_exist(name: str) -> None:
    called = set(re.findall(r"(?<![\w./])bin/[\w-]+\.sh", (ROOT / name).read_text()))
    assert called and all((ROOT / script).exists() for script in called)


def test_nox_has_a_session_for_each_task() -> None:
    tree = ast.parse((ROOT / "noxfile.py").read_text())
    assert [node.name for node in tree.body if isinstance(node, ast.FunctionDef)] == [
        "test",
        "fast",
        "lint",
        "docs",
        "bench",
    ]


def test_options_that_nox_gives_are_those_of_the_script() -> None:
    options = re.findall(r'"bin/run-tests\.sh", "(--\w+)"', (ROOT / "noxfile.py").read_text())
    script = (ROOT / "bin" / "run-tests.sh").read_text()
    assert options == ["--fast", "--lint"] and all(f"= {option}" in script for option in options)


def test_the_workflow_runs_the_two_commands_of_the_readme() -> None:
    two = re.search(r"## Two commands\n.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert two is not None
    commands = [line.split("#")[0].strip() for line in two[1].splitlines()]
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    assert commands == ["bin/quickstart.sh", "bin/run-tests.sh"]
    assert all(f"- run: {command}\n" in workflow for command in commands)


@pytest.mark.parametrize("extra", ["docs", "dev"])
def test_tools_of_contributors_are_pinned(extra: str) -> None:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    packages = parser["options.extras_require"][extra].split("\n")
    assert all(
        re.fullmatch(r"[\w-]+==[\d.]+", package) for package in packages if package and not package.startswith("#")
    )


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text()
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")]
    assert [page for page in pages if not page.startswith("decisions/") and page not in navigation] == []
