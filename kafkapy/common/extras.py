"""Optional dependencies, which are checked when they are first needed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec


class MissingExtra(ModuleNotFoundError):
    """An optional part of kafkapy needs a package that is not installed; the message says how to install it."""


@cache
def need(extra: str, *packages: str, by: str) -> None:
    """Raise MissingExtra unless these packages are installed. `by`: what needs them, for the message."""
    for package in packages:
        try:
            found = find_spec(package) is not None
        except ValueError:  # in sys.modules without a spec: another module put it there
            found = True
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtra(
                f"{by} needs {package}, which is not installed: pip install 'kafkapy[{extra}]'", name=package
            )
