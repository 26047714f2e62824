"""Importing what others have written without all that it brings along."""

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
def without(*packages: str) -> Iterator[None]:
    """What is imported meanwhile finds these not installed, unless they have been imported before."""
    hidden = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: not to be imported
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


class _Postponed(ModuleType):
    """Not `LazyLoader`, whose modules are executed by any later `import` of them."""

    def __getattr__(self, name: str) -> Any:
        self.__class__ = ModuleType  # type: ignore[assignment]
        assert self.__spec__ is not None and self.__spec__.loader is not None
        self.__spec__.loader.exec_module(self)
        return getattr(self, name)


def postpone(name: str) -> None:
    """This module of Python's own is not executed before somebody uses one of its names. Two threads must not do so at the same
    time."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    sys.modules[name] = module = module_from_spec(spec)
    module.__class__ = _Postponed
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


def part_of(package: str, name: str) -> Any:
    """The extension module of this name in a package whose own code, and all that this imports, is not executed; where there
    is none, the package."""
    found = find_spec(package)
    spec = found and PathFinder.find_spec(f"{package}.{name}", found.submodule_search_locations)
    if spec is None or spec.loader is None:
        return import_module(package)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
