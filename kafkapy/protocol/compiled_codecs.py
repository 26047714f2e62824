"""Finds the codecs that were compiled with the other hot modules, if any (see `codec_modules`)."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from kafkapy import compiled


def compiled_codec(module: str, name: str) -> Any | None:
    """Return the function of this name in the codecs of a module of messages; None if there is none."""
    return getattr(_codecs_of(module), name, None)


@cache
def _codecs_of(module: str) -> ModuleType | None:
    codecs = compiled.CODECS.get(module)
    return import_module(codecs) if codecs and compiled.is_used() else None
