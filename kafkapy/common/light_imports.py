"""Importing what others have written without all that it brings along."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import LazyLoader, find_spec, module_from_spec
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


def postpone(package: str, name: str) -> None:
    """The module of this name in a package of Python's own is not executed before somebody uses one of its names."""
    full_name = f"{package}.{name}"
    spec = None if full_name in sys.modules else find_spec(full_name)
    if spec is None or spec.loader is None:
        return
    spec.loader = loader = LazyLoader(spec.loader)
    sys.modules[full_name] = module = module_from_spec(spec)
    loader.exec_module(module)
    setattr(sys.modules[package], name, module)


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
