"""Compares a directory of connector files with the connectors of a cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.connect.connector_files import ConnectorFile, read_connector_file
from kafkapy.connect.errors import ConnectException
from kafkapy.tools.common.command_line import ToolError

Configs = Mapping[str, "str | None"]
_SUFFIXES: Final = (".json", ".properties")
_SECRET: Final = re.compile(r"password|secret|token|credential|jaas|private.?key|access.?key|ssl\.keystore\.key", re.I)
_HIDDEN: Final = "********"


class PlanStep(Enum):
    """What is to be done with a connector; the value is its sign in a plan."""

    CREATE = "+"
    CHANGE = "~"
    DELETE = "-"
    KEEP = "="


class PlannedConnector(NamedTuple):
    """A step of a plan.

    Attributes:
        step: What is to be done.
        name: The connector's name.
        before: Its config in the cluster. Empty: there is none.
        file: Its file. None: it is to be deleted.
    """

    step: PlanStep
    name: str
    before: Configs
    file: ConnectorFile | None

    @property
    def after(self) -> Configs:
        """Return the config of the file; empty if it is to be deleted."""
        return {} if self.file is None else self.file.config

    def lines(self) -> Iterator[str]:
        """Return the differences, one in each line. Values of secrets are hidden, unless a config provider has them."""
        for key in sorted({*self.before, *self.after}):
            before, after = _shown(key, self.before), _shown(key, self.after)
            if key not in self.before:
                yield f"+ {key} = {after}"
            elif key not in self.after:
                yield f"- {key} = {before}"
            elif self.before[key] != self.after[key]:
                yield f"~ {key} = {before} -> {after}"


def read_directory(directory: Path) -> dict[str, ConnectorFile]:
    """Return the connectors of the files `*.json` and `*.properties` of a directory, by name.

    Raises:
        ToolError: A file cannot be read, or two are of one connector.
    """
    if not directory.is_dir():
        raise ToolError(f"{directory} is no directory of connector files")
    found: dict[str, ConnectorFile] = {}
    places: dict[str, Path] = {}
    for path in sorted(path for path in directory.iterdir() if path.suffix in _SUFFIXES and path.is_file()):
        file = read_file(path)
        if file.name in found:
            raise ToolError(f"{places[file.name]} and {path} have a connector of one name: {file.name}")
        found[file.name], places[file.name] = file, path
    return found


def read_file(path: Path) -> ConnectorFile:
    """Return the connector of a file. Raises ToolError."""
    try:
        return read_connector_file(str(path))
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}") from None
    except ConnectException as error:
        raise ToolError(str(error)) from None


def make_plan(files: Iterable[ConnectorFile], cluster: Mapping[str, Configs], prune: bool) -> list[PlannedConnector]:
    """Return the steps by which the cluster gets the connectors of the files, sorted by name.

    Args:
        files: The wanted connectors.
        cluster: Name -> config of the connectors that there are.
        prune: True: connectors without a file are deleted; False: they are left alone.

    Example:
        >>> made = make_plan([ConnectorFile("a", {"topic": "t"}, None)], {"a": {"topic": "s"}, "b": {}}, prune=True)
        >>> [(each.step.name, each.name, list(each.lines())) for each in made]
        [('CHANGE', 'a', ['~ topic = s -> t']), ('DELETE', 'b', [])]
    """
    wanted = {file.name: file for file in files}
    steps = [_step(file, cluster) for file in wanted.values()]
    if prune:
        steps += [
            PlannedConnector(PlanStep.DELETE, name, cluster[name], None) for name in cluster if name not in wanted
        ]
    return sorted(steps, key=lambda step: step.name)


def _step(file: ConnectorFile, cluster: Mapping[str, Configs]) -> PlannedConnector:
    before = cluster.get(file.name)
    if before is None:
        return PlannedConnector(PlanStep.CREATE, file.name, {}, file)
    step = (
        PlanStep.KEEP
        if dict(before) == {**file.config, "name": file.name} or dict(before) == file.config
        else PlanStep.CHANGE
    )
    return PlannedConnector(step, file.name, before, file)


def _shown(key: str, config: Configs) -> str:
    value = config.get(key)
    hides = value is not None and _SECRET.search(key) is not None and not re.fullmatch(r"\$\{[^}]*\}", value)
    return _HIDDEN if hides else "null" if value is None else value
