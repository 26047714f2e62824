"""What `pip install kafkapy` leaves out: it is named when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec


class MissingExtra(ModuleNotFoundError):
    """An optional part of kafkapy needs a package that is not installed; the sentence says how it is."""


@cache
def need(extra: str, *packages: str, by: str) -> None:
    """Raises MissingExtra unless these are installed. `by`: who needs them, for the sentence."""
    for package in packages:
        try:
            found = find_spec(package) is not None
        except ValueError:  # in sys.modules without a spec: somebody put it there
            found = True
        except ModuleNotFoundError:
            found = False
        if not found:
            raise MissingExtra(
                f"{by} needs {package}, which is not installed: pip install 'kafkapy[{extra}]'", name=package
            )
