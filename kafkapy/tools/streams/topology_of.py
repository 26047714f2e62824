"""Loads the topology named by `module:name`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from kafkapy.security.import_path import ImportPathError, import_object
from kafkapy.streams.dsl.streams_builder import StreamsBuilder
from kafkapy.streams.topology.topology import Topology
from kafkapy.tools.common.command_line import ToolError


def topology_of(path: str, configs: Mapping[str, Any]) -> Topology:
    """Import and build a topology. Modules of the current directory are also found.

    Args:
        path: `module:name` of a Topology, a StreamsBuilder, or a function that returns one of them. A function with a
            parameter is called with the configs.
        configs: The application's, by Kafka's names; `topology.optimization` is one.

    Raises:
        ToolError: The name does not exist, or is not a topology.
    """
    if ":" not in path:
        raise ToolError(f"{path!r} names no topology: it must read like package.module:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found = import_object(path, "topology")
    except ImportPathError as error:
        raise ToolError(str(error)) from error
    if callable(found):
        found = _called(found, path, configs)
    if isinstance(found, StreamsBuilder):
        found = found.build(dict(configs))
    if not isinstance(found, Topology):
        raise ToolError(f"{path} is neither a Topology nor a StreamsBuilder, but of {type(found).__name__}")
    return found


def _called(function: Any, path: str, configs: Mapping[str, Any]) -> Any:
    try:
        return function(dict(configs)) if inspect.signature(function).parameters else function()
    except Exception as error:
        raise ToolError(f"{path} has failed: {type(error).__name__}: {error}") from error
