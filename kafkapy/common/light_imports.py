"""Imports of third-party modules without their unneeded dependencies."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


@contextmanager
def hide_packages(*packages: str) -> Iterator[None]:
    """Hide these packages from imports in the block, unless they are imported already."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be imported
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


class _Postponed(ModuleType):
    """A module that is executed on first access. (The modules of `LazyLoader` are executed by any later `import`.)"""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def import_lazily(name: str) -> None:
    """Execute this module of the standard library only when one of its names is first used.

    Not safe if two threads use it for the first time at once.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    sys.modules[name] = module = module_from_spec(spec)
    module.__class__ = _Postponed
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


def import_extension_module(package: str, name: str) -> Any:
    """Import one extension module of a package without executing the package's `__init__`.

    If there is no such module, return the package.
    """
    found = find_spec(package)
    spec = found and PathFinder.find_spec(f"{package}.{name}", found.submodule_search_locations)
    if spec is None or spec.loader is None:
        return import_module(package)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
