"""Hot paths as machine code: the modules below, compiled by mypyc, are imported in place of their Python sources.

The sources work in both ways, and tests run both. A wheel for a platform has the compiled modules beside the sources,
where Python finds them first, without a hook. In a checkout they would hide edits of a source, so there
`kafkapy-compile` (called by bin/setup.sh) creates a build in the environment, and a hook finds it. A build is tied to
the exact content of its sources: once a source changes the build is ignored. Without machine code, or with
`KAFKAPY_COMPILED=0`, the same code runs as plain Python, only slower.
"""

from __future__ import annotations

import os
import sys
from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

HOT_MODULES = (
    "kafkapy.common.topic_partition",
    "kafkapy.protocol.api_codecs",
    "kafkapy.protocol.framing",
    "kafkapy.protocol.many",
    "kafkapy.protocol.typed_wire",
    "kafkapy.protocol.wire",
    "kafkapy.record.varint",
    "kafkapy.record.batches",
    "kafkapy.record.compression",
    "kafkapy.record.decoding",
    "kafkapy.record.file_records",
    "kafkapy.record.lz4_frame",
    "kafkapy.record.pieces",
    "kafkapy.record.record_batch",
    "kafkapy.record.record_columns",
    "kafkapy.record.record_fields",
    "kafkapy.record.record_table",
    "kafkapy.record.records_walk",
    "kafkapy.consumer.fetch.partition_records",
    "kafkapy.log.index.abstract_index",
    "kafkapy.log.cleaning.offset_map",
    "kafkapy.log.cleaning.record_sieve",
    "kafkapy.log.files.file_batches",
    "kafkapy.log.leader_epoch_cache",
    "kafkapy.log.loaded_log",
    "kafkapy.log.local_log",
    "kafkapy.log.log",
    "kafkapy.log.log_appender",
    "kafkapy.log.log_bounds",
    "kafkapy.log.log_flusher",
    "kafkapy.log.log_retention",
    "kafkapy.log.segments.log_segment",
    "kafkapy.log.segments.log_segments",
    "kafkapy.log.log_trimmer",
    "kafkapy.log.log_types",
    "kafkapy.log.log_validator",
    "kafkapy.log.record_rebuilding",
    "kafkapy.log.validation_result",
    "kafkapy.log.validation_rules",
    "kafkapy.log.index.offset_index",
    "kafkapy.log.producers.producer_state",
    "kafkapy.log.producers.producer_state_manager",
    "kafkapy.log.segments.segment_files",
    "kafkapy.log.index.time_index",
    "kafkapy.log.index.transaction_index",
    "kafkapy.network.channel",
    "kafkapy.runtime.chunks",
    "kafkapy.runtime.completion",
    "kafkapy.runtime.feedback_queue",
    "kafkapy.network.large_requests",
    "kafkapy.network.request",
    "kafkapy.network.send_queue",
    "kafkapy.runtime.stall_meter",
    "kafkapy.runtime.time_slice",
    "kafkapy.cluster.in_sync_replicas",
    "kafkapy.cluster.isr_keeper",
    "kafkapy.cluster.partition",
    "kafkapy.cluster.replica",
    "kafkapy.server.replication.delayed_fetch",
    "kafkapy.server.fetch.fetch_session",
    "kafkapy.server.purgatory.purgatory",
    "kafkapy.server.replication.fetch_params",
    "kafkapy.server.replication.hosted_partitions",
    "kafkapy.server.replication.log_reads",
    "kafkapy.server.replication.replica_manager",
    "kafkapy.server.purgatory.deadlines",
    "kafkapy.server.kafka_apis",
    "kafkapy.server.handlers.fetch",
    "kafkapy.server.handlers.list_offsets",
    "kafkapy.server.handlers.metadata",
    "kafkapy.server.handlers.produce",
)
"""The modules used by the event loop, produce, fetch, Metadata and ListOffsets, from the handlers down. Modules with
subclasses of their classes are included, and so are the base classes of those with `__slots__`.
"""

CODECS = {
    f"kafkapy.protocol.messages.{api}": f"kafkapy.protocol.messages.{api}_codecs"
    for api in ("fetch", "list_offsets", "metadata", "produce")
}
"""Modules of messages with hot versions, and the modules of their codecs, which a build generates."""

PACKAGE = Path(__file__).parent
BUILDS = Path(sys.prefix) / "lib" / "kafkapy-compiled"
"""A directory of extension modules for each build, named by a hash of its sources."""

_WRITERS = tuple(
    f"kafkapy.protocol.{name}" for name in ("api_keys", "codec_modules", "decoder", "encoder", "schema", "source")
)
MADE_OF = ("kafkapy.tools.compile", *_WRITERS, *CODECS, *HOT_MODULES)
"""The modules whose sources identify a build: the hot ones, and the generator and sources of their codecs."""

_COMMON_PART = "__mypyc"
"""The end of the name of the extension module that contains the code of all others."""


def source(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def build_directory() -> Path:
    """Return the directory of the build of these sources for this Python, if there is one."""
    made_of = sha256(EXTENSION_SUFFIXES[0].encode())
    for module in MADE_OF:
        made_of.update(b"\0%s\0" % module.encode())
        made_of.update(source(module).read_bytes())
    return BUILDS / made_of.hexdigest()[:20]


def lies_beside() -> bool:
    """Return whether there is machine code beside the sources, as in a wheel."""
    return source(HOT_MODULES[0]).with_suffix(EXTENSION_SUFFIXES[0]).exists()


def is_used() -> bool:
    """Return whether the hot modules of this process are, or would be, machine code."""
    if lies_beside():
        return not any(isinstance(finder, SourceFinder) for finder in sys.meta_path)
    return any(isinstance(finder, CompiledFinder) and finder.extensions for finder in sys.meta_path)


class CompiledFinder:
    """Finds the hot modules in the build.

    Invariant: either all of them come from one build, or none does. The build is searched when the first of them is
    imported.
    """

    def __init__(self) -> None:
        self._extensions: dict[str, Path] | None = None

    @property
    def extensions(self) -> dict[str, Path]:
        """Return the extension modules by module name; empty if there is no build."""
        if self._extensions is None:
            try:
                files = list(build_directory().iterdir())
            except OSError:  # no build; or no sources, as in a zip file
                files = []
            self._extensions = {path.name.removesuffix(EXTENSION_SUFFIXES[0]): path for path in files}
        return self._extensions

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname not in _HOT and not fullname.endswith(_COMMON_PART):
            return None
        extension = self.extensions.get(fullname)
        return None if extension is None else spec_from_file_location(fullname, extension)


class SourceFinder:
    """Finds the sources of the hot modules, even if there is machine code beside them."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(fullname, source(fullname)) if fullname in HOT_MODULES else None


_HOT = frozenset((*HOT_MODULES, *CODECS.values()))


def install() -> None:
    """Make imports find a checkout's build or, if the environment says so, sources instead of any machine code."""
    refused = os.environ.get("KAFKAPY_COMPILED") == "0"
    if lies_beside():
        if refused:
            sys.meta_path.insert(0, SourceFinder())
    elif not refused:
        sys.meta_path.insert(0, CompiledFinder())
