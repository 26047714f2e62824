"""The modules of the command-line tools, by the names that the tests use for them: `get_offsets` for kafka-get-offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from configparser import ConfigParser
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[2]


def programs() -> dict[str, str]:
    """Name of a program -> `module:function`, as setup.cfg has them."""
    configuration = ConfigParser()
    configuration.read(ROOT / "setup.cfg")
    lines = configuration["options.entry_points"]["console_scripts"].strip().splitlines()
    return dict(line.split(" = ", 1) for line in lines)


@cache
def modules() -> dict[str, str]:
    """Name of a tool -> its module, of all programs in setup.cfg."""
    found = [entry.partition(":")[0] for entry in programs().values()]
    return {module.rpartition(".")[2]: module for module in found}


def main_of(tool: str) -> Callable[[Sequence[str] | None], int]:
    """The function that runs a tool in this process: it takes the arguments and returns the exit status."""
    main: Callable[[Sequence[str] | None], int] = import_module(modules()[tool]).main
    return main
