"""The part of kafka-dump-log that prints offset and time indexes and checks them against their log."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Sequence

from kafkapy.log.files.file_batches import BatchHeader, find_offset, headers, read_batch
from kafkapy.log.index.offset_index import OffsetIndex
from kafkapy.log.index.time_index import TimeIndex
from kafkapy.tools.common.command_line import Options, ToolError
from kafkapy.tools.dump_log.text import base_offset


class SegmentLog:
    """The .log file of an index file, open for reading."""

    def __init__(self, index_path: str) -> None:
        self.path = os.path.splitext(index_path)[0] + ".log"

    def __enter__(self) -> SegmentLog:
        self.fd = os.open(self.path, os.O_RDONLY)
        self.size = os.fstat(self.fd).st_size
        return self

    def __exit__(self, *exc_info: object) -> None:
        os.close(self.fd)

    def batch_at(self, position: int, max_size: int) -> BatchHeader | None:
        """The batch at that position; None if there is none, or only one larger than `max_size` bytes."""
        return next(headers(self.fd, position, min(self.size, position + max_size)), None)


def read_entries(path: str, entry: struct.Struct) -> list[tuple[int, int]]:
    """The entries of an index up to the zeros of its preallocated end. Raises ToolError if the last entry is
    incomplete."""
    with open(path, "rb") as file:
        content = file.read()
    if len(content) % entry.size:
        raise ToolError(
            f"Index file {path} is corrupt, found {len(content)} bytes which is not positive or not a "
            f"multiple of {entry.size}."
        )
    return [(first, second) for first, second in entry.iter_unpack(content) if first or second]


def dump_index(path: str, options: Options) -> int:
    base = base_offset(path)
    entries = [(base + relative, position) for relative, position in read_entries(path, OffsetIndex.ENTRY)]
    if not entries:
        print(f"{path} is empty.")
        return 0
    if options.has("index-sanity-check"):
        check_ascending(path, [offset for offset, _ in entries], base)
        print(f"{path} passed sanity check.")
        return 0
    mismatches = []
    with SegmentLog(path) as log:
        for offset, position in entries:
            batch = log.batch_at(position, options.value("max-message-size"))
            if batch is None:
                raise ToolError(
                    f"{log.path} has no whole batch at position {position}, where offset {offset} should be"
                )
            if batch.last_offset != offset:
                mismatches.append(f"  Index offset: {offset}, log offset: {batch.last_offset}")
            if not options.has("verify-index-only"):
                print(f"offset: {offset} position: {position}")
    return print_findings(f"Mismatches in :{os.path.abspath(path)}", mismatches)


def dump_time_index(path: str, options: Options) -> int:
    base = base_offset(path)
    entries = [(timestamp, base + relative) for timestamp, relative in read_entries(path, TimeIndex.ENTRY)]
    if options.has("index-sanity-check"):
        check_ascending(path, [offset for _, offset in entries], base)
        check_ascending(path, [timestamp for timestamp, _ in entries], 0)
        print(f"{path} passed sanity check.")
        return 0
    index_path = os.path.splitext(path)[0] + ".index"
    positions = [(base + relative, position) for relative, position in read_entries(index_path, OffsetIndex.ENTRY)]
    mismatches, out_of_order, not_found = [], [], []
    previous = -1
    with SegmentLog(path) as log:
        for timestamp, offset in entries:
            start = max((position for indexed, position in positions if indexed <= offset), default=0)
            header = find_offset(log.fd, start, log.size, offset)
            if header is None or header.last_offset != offset:
                found = -1 if header is None else header.last_offset
                not_found.append(f"Indexed offset: {offset}, found log offset: {found}")
            else:
                newest = max((record.timestamp for record in read_batch(log.fd, header).records()), default=-1)
                if newest != timestamp:
                    mismatches.append(f"  Index timestamp: {timestamp}, log timestamp: {newest}")
                if previous >= timestamp:
                    out_of_order.append(f"  Index timestamp: {timestamp}, Previously indexed timestamp: {previous}")
            if not options.has("verify-index-only"):
                print(f"timestamp: {timestamp} offset: {offset}")
            previous = timestamp
    absolute = os.path.abspath(path)
    return max(
        print_findings(f"Found timestamp mismatch in :{absolute}", mismatches),
        print_findings(f"Found out of order timestamp in :{absolute}", out_of_order),
        print_findings("The following indexed offsets are not found in the log.", not_found),
    )


def check_ascending(path: str, values: Sequence[int], lowest: int) -> None:
    """Raise ToolError unless the values ascend from `lowest` on."""
    for before, after in zip([lowest, *values], values, strict=False):
        if after < before:
            raise ToolError(f"Corrupt index found, index file ({path}) has {after} where at least {before} is expected")


def print_findings(title: str, findings: Sequence[str]) -> int:
    """Print the problems on stderr; 1 if there are any."""
    sys.stdout.flush()
    for line in [title, *findings] if findings else ():
        print(line, file=sys.stderr)
    return int(bool(findings))
