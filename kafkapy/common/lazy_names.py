"""Names of a package that are imported when they are first asked for, so that a program pays for none that it does not use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, names: Mapping[str, str], modules: str = "") -> tuple[list[str], Callable[[str], Any]]:
    """The package's `__all__` and its `__getattr__`.

    Args:
        package: Its name.
        names: Module of the package -> the names it has, with blanks between; a name that is the module's own means the module.
            With a dot before it a module stands beside the package.
        modules: Modules of the package, with blanks between, that can be asked for and are not in `__all__`.

    Where types are checked there must be no `__getattr__`: then names that are not there are errors. There the package imports
    each name under itself (`from … import Name as Name`), which hands it on.
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
