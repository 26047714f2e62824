"""Lazy imports of a package's names, so that programs import only what they use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, names: Mapping[str, str], modules: str = "") -> tuple[list[str], Callable[[str], Any]]:
    """Return the package's `__all__` and its `__getattr__`.

    Args:
        package: Its name.
        names: Module of the package -> its names, separated by blanks. A name equal to the module's stands for the
            module. A leading dot refers to a module beside the package.
        modules: More modules of the package, separated by blanks, that can be accessed but are not in `__all__`.

    For type checkers there must be no `__getattr__`, so that unknown names are errors. For them the package re-exports
    each name (`from … import Name as Name`).
    """
    homes = {name: home for home, words in names.items() for name in words.split()}
    known = homes | {name: name for name in modules.split()}

    def find(name: str) -> Any:
        home = known.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f".{home}", package)
        value = module if name == home else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), find
