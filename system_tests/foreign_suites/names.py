"""`import kafka` gives kafkapy, `import aiokafka` gives kafkapy.aio; what kafkapy has no part for is the library's own.

The public modules are ours, under their names. The rest, out of the checkout, is what the tests themselves are built of: the
messages that their mock brokers answer with, codecs, helpers. A library's part that imports a public name gets ours.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections import namedtuple
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

OURS = {
    "kafka": {
        "kafka.admin": ("kafkapy.admin",),
        "kafka.consumer": ("kafkapy.consumer",),
        "kafka.coordinator.assignors": ("kafkapy.coordinator.assignors",),
        "kafka.errors": ("kafkapy.errors",),
        "kafka.partitioner": ("kafkapy.partitioner",),
        "kafka.producer": ("kafkapy.producer",),
        "kafka.producer.future": ("kafkapy.producer.future",),
        "kafka.producer.kafka": ("kafkapy.producer.kafka",),
        "kafka.serializer": ("kafkapy.serializer",),
        "kafka.structs": ("kafkapy.structs",),
        "kafka.version": ("kafkapy.version",),
    },
    "aiokafka": {
        "aiokafka.abc": ("kafkapy.aio.abc",),
        "aiokafka.admin": ("kafkapy.aio.admin",),
        "aiokafka.consumer": ("kafkapy.aio.consumer",),
        "aiokafka.coordinator.assignors": ("kafkapy.coordinator.assignors",),
        "aiokafka.errors": ("kafkapy.aio.errors",),
        "aiokafka.helpers": ("kafkapy.aio.helpers",),
        "aiokafka.partitioner": ("kafkapy.partitioner",),
        "aiokafka.producer": ("kafkapy.aio.producer",),
        "aiokafka.structs": ("kafkapy.aio.structs",),
    },
}
"""Their public modules, and what stands in for each: the first that has a name gives it."""

EXTRA: Mapping[str, Mapping[str, Any]] = {
    "aiokafka.structs": {
        "BrokerMetadata": namedtuple("BrokerMetadata", "nodeId host port rack"),
        "PartitionMetadata": namedtuple("PartitionMetadata", "topic partition leader replicas isr error"),
    },
}
"""What only the library's own parts, which their tests are built of, take from public modules."""

ROOTS = {"kafka": ("kafkapy",), "aiokafka": ("kafkapy.aio",)}


class Names(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of a library: ours where there is one, else those of the checkout.

    A module of ours gets another object under the other name, which hands every name on: so both may be imported side by side.
    """

    def __init__(self, library: str, checkout: Path) -> None:
        self._library = library
        self._checkout = checkout
        self._ours: Mapping[str, tuple[str, ...]] = {library: ROOTS[library], **OURS[library]}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._ours:
            return None
        directory = self._checkout.joinpath(*name.split("."))
        spec = importlib.machinery.ModuleSpec(name, self, is_package=directory.is_dir())
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(str(directory))
        return spec

    def exec_module(self, module: ModuleType) -> None:
        places = [importlib.import_module(name) for name in self._ours[module.__name__]]

        def look_up(name: str) -> Any:
            for place in places:
                if not name.startswith("__") and hasattr(place, name):
                    return getattr(place, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        for place in reversed(places):
            names = [*vars(place), *getattr(place, "__all__", ())]
            module.__dict__.update({name: getattr(place, name) for name in names if not name.startswith("__")})
        module.__dict__.update(EXTRA.get(module.__name__, {}))
        module.__dict__["__getattr__"] = look_up  # names that ours imports when they are asked for
        module.__dict__["__version__"] = "0"


def install(library: str, checkout: Path) -> None:
    """Before anything of the library has been imported."""
    if library in sys.modules:
        raise RuntimeError(f"{library} has been imported already: its own package would be tested")
    sys.meta_path.insert(0, Names(library, checkout))
