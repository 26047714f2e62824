"""Finds a worker's plugin classes by name (Kafka's `Plugins`).

A name may be one of Kafka's, an alias, an entry point of an installed package, or an import path
`package.module:Class`. A package provides a connector by an entry point of the group `kafkapy.connect`. The entry
point's name can be the Java class
that the connector replaces, so that a config for that class works here:

    [project.entry-points."kafkapy.connect"]
    "org.example.OrdersConnector" = "orders.connector:OrdersConnector"
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from kafkapy.connect import java_classes
from kafkapy.connect.connector import Connector
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.sink import SinkConnector
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.transforms.transformation import Predicate, Transformation

log = logging.getLogger("kafkapy.connect.plugins")

ENTRY_POINTS: Final = "kafkapy.connect"
"""The group of entry points."""

KINDS: Final[dict[str, type]] = {
    "sink": SinkConnector,
    "source": SourceConnector,
    "converter": Converter,
    "header_converter": HeaderConverter,
    "transformation": Transformation,
    "predicate": Predicate,
}
"""The kinds of plugins, in the order of REST's list, and their bases."""

UNDEFINED: Final = "undefined"
"""The version of a plugin that has none."""

_Class = type[Any]
_SUFFIXES: Final = {
    "sink": "Connector",
    "source": "Connector",
    "converter": "Converter",
    "header_converter": "HeaderConverter",
    "transformation": "Transformation",
    "predicate": "Predicate",
}


@dataclass(frozen=True)
class Plugin:
    """A plugin class of one kind (Kafka's `PluginDesc`); a class of two kinds has two. `class_name`: Java's name,
    the entry point's, or the import path."""

    class_name: str
    type: str
    version: str
    plugin_class: _Class

    def __str__(self) -> str:
        return (
            f"PluginDesc{{klass=class {self.class_name}, name='{self.class_name}', version='{self.version}', "
            f"encodedVersion={self.version}, type={self.type}, typeName='{self.type}', location='classpath'}}"
        )


class Plugins:
    """Finds and instantiates plugins. Thread-safe.

    Invariant: the table of plugins is built once, under `_lock`, when it is first needed; import paths are not in it.

    Example:
        >>> plugins = Plugins()
        >>> plugins.find_class("org.apache.kafka.connect.json.JsonConverter").__name__
        'JsonConverter'
        >>> plugins.find_class("TopicNameMatches").__name__, plugins.find_class("collections:OrderedDict").__name__
        ('TopicNameMatches', 'OrderedDict')
    """

    def __init__(self, plugin_path: Iterable[str] = (), connectors: Sequence[type[Connector]] = ()) -> None:
        """
        Args:
            plugin_path: Folders with Python packages, and modules whose plugins are listed (`plugin.path`). Default:
                only installed packages.
            connectors: More classes that are listed, for tests and embedded workers. Default: none.
        """
        self._paths = [path for path in plugin_path if path]
        self._extra = list(connectors)
        self._lock = threading.Lock()
        self._plugins: Sequence[Plugin] | None = None
        self._aliases: dict[str, str] = {}
        self._names: dict[str, type] = {}
        for path in self._paths:
            if os.path.isdir(path) and path not in sys.path:
                sys.path.append(path)

    # -- for the herder, the REST interface and the worker

    def find_class(self, name: str) -> Any:
        """Return the class of a Java name, an alias, an entry point's name or an import path. Raises LookupError."""
        self._scan()
        name = self._aliases.get(name, name)
        found = self._names.get(name)
        if found is not None:
            return found
        if ":" in name:
            return _imported(name)
        try:
            return java_classes.class_of(name)
        except LookupError:
            pass
        other = _other_java_classes().get(name)
        if other is None:
            raise LookupError(f"There is no class {name}")
        return other

    def classes(self, kind: str) -> Sequence[type]:
        """Return the classes of one of `KINDS` that a config recommends: Kafka's, and those of installed packages."""
        return [plugin.plugin_class for plugin in self._of_kind(kind) if plugin.class_name not in java_classes.FOREIGN]

    def list(self) -> Sequence[Plugin]:
        """Return all plugins, sorted by kind and name."""
        return [plugin for kind in KINDS for plugin in self._of_kind(kind)]

    def connector_class(self, name: str) -> type[Connector]:
        """Return the class of a connector. Raises ConnectException."""
        try:
            found = self.find_class(name)
        except LookupError as error:
            if ":" in name:
                raise ConnectException(f"Failed to find the connector {name}: {error}") from error
            found = None
        if isinstance(found, type) and issubclass(found, Connector):
            return found
        known = [plugin for plugin in self.list() if plugin.type in ("sink", "source")]
        matches = [plugin for plugin in known if _simple_name(plugin.class_name) in (name, f"{name}Connector")]
        available = ", ".join(map(str, sorted(known, key=lambda plugin: plugin.class_name)))
        if len(matches) > 1:
            raise ConnectException(
                f"More than one connector matches alias {name}. Please use full package and class name instead. "
                f"Classes found: {available}"
            )
        if not matches:
            raise ConnectException(
                f"Failed to find any class that implements Connector and which name matches {name}, available connectors "
                f"are: {available}"
            )
        found = matches[0].plugin_class
        assert issubclass(found, Connector)
        return found

    def new_connector(self, name: str) -> Connector:
        """Create a connector. Raises ConnectException."""
        found = self.connector_class(name)
        try:
            return found()
        except Exception as error:
            raise ConnectException("Instantiation error") from error

    def new_plugin(self, name: str) -> Any:
        """Create a plugin of any kind. Raises LookupError, ConnectException."""
        found = self.find_class(name)
        try:
            return found()
        except Exception as error:
            raise ConnectException("Instantiation error") from error

    # -- the table

    def _of_kind(self, kind: str) -> Sequence[Plugin]:
        return [plugin for plugin in self._scan() if plugin.type == kind]

    def _scan(self) -> Sequence[Plugin]:
        with self._lock:
            if self._plugins is None:
                self._plugins = self._found()
                self._names.update({plugin.class_name: plugin.plugin_class for plugin in self._plugins})
                self._aliases = _aliases_of(self._plugins)
            return self._plugins

    def _found(self) -> Sequence[Plugin]:
        classes: dict[str, type] = {}
        for name in java_classes.ALL:
            try:
                classes[name] = java_classes.class_of(name)
            except Exception as error:
                log.debug("The class for %s cannot be loaded: %s", name, error)
        for point in entry_points(group=ENTRY_POINTS):
            self._add_entry_point(point, classes)
        for path in self._paths:
            if not os.path.isdir(path):
                add_module(path, classes)
        for extra in self._extra:
            classes[class_name_of(extra)] = extra
        plugins = [plugin for name, found in classes.items() for plugin in plugins_of(name, found)]
        return sorted(plugins, key=lambda plugin: (plugin.class_name, plugin.type))

    def _add_entry_point(self, point: EntryPoint, classes: dict[str, type]) -> None:
        try:
            found = point.load()
        except Exception as error:
            log.error("The entry point %s = %s cannot be loaded: %s", point.name, point.value, error)
            return
        if isinstance(found, type):
            is_java = isinstance(getattr(found, "java_class", None), str)
            classes[class_name_of(found) if is_java else point.name] = found
            self._names[point.name] = found


def plugins_of(name: str, found: type) -> list[Plugin]:
    """Return the plugins of a class, one of each of its kinds. `name`: Java's, or the import path."""
    version = _version_of(found)
    return [Plugin(name, kind, version, found) for kind, base in KINDS.items() if issubclass(found, base)]


def _version_of(found: type) -> str:
    if not issubclass(found, Connector):
        version = getattr(found, "version", None)
        if isinstance(version, str):
            return version
        return java_classes.VERSION if class_name_of(found).startswith(java_classes.KAFKA) else UNDEFINED
    try:
        return str(found().version())
    except Exception as error:
        log.warning("The version of %s is unknown: %s", class_name_of(found), error)
        return UNDEFINED


def aliases_of(plugin: Plugin) -> tuple[str, str]:
    """Return the short names of a plugin: without its package, and without the suffix of its kind."""
    simple, suffix = _simple_name(plugin.class_name), _SUFFIXES[plugin.type]
    at = simple.rfind(suffix)
    return simple, simple[:at] if at > 0 else simple


def _aliases_of(plugins: Iterable[Plugin]) -> dict[str, str]:
    """Return the short names, except those that two classes share."""
    names: dict[str, set[str]] = {}
    for plugin in plugins:
        for alias in aliases_of(plugin):
            names.setdefault(alias, set()).add(plugin.class_name)
    return {alias: next(iter(found)) for alias, found in names.items() if len(found) == 1}


def add_module(path: str, classes: dict[str, type]) -> None:
    """Add the plugins that a module defines, by name; a module that cannot be imported is logged."""
    try:
        module = import_module(path)
    except (ImportError, ValueError) as error:
        log.warning("Element %s of plugin.path is neither a folder nor a module: %s", path, error)
        return
    for found in vars(module).values():
        if isinstance(found, type) and found.__module__ == module.__name__ and _is_plugin(found):
            classes[class_name_of(found)] = found


def _is_plugin(found: type) -> bool:
    return not getattr(found, "__abstractmethods__", None) and issubclass(found, tuple(KINDS.values()))


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing the module may raise anything
        raise LookupError(f"{path} cannot be imported: {error}") from error
    return found


def _simple_name(class_name: str) -> str:
    return class_name.replace(":", ".").replace("$", ".").rpartition(".")[2]


def class_name_of(found: type) -> str:
    """The name by which `Plugins.find_class` finds a class: Java's, or the import path."""
    java = getattr(found, "java_class", None)
    return java if isinstance(java, str) else f"{found.__module__}:{found.__qualname__}"


@cache
def _other_java_classes() -> dict[str, Any]:
    """Classes of Java that are no plugins, but can be named by mistake. Transforms that have a class for keys and one for
    values are abstract themselves."""
    from kafkapy.connect.data.struct import Struct

    sided = {name.partition("$")[0] for name in java_classes.TRANSFORMS if "$" in name}
    bases = {
        name: type(_simple_name(name), (Transformation,), {"java_class": name, "java_sides": True}) for name in sided
    }
    others = {"org.apache.kafka.connect.data.Struct": Struct, "java.lang.String": str, "java.lang.Object": object}
    return {**bases, **others}
