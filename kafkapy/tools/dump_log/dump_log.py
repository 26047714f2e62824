"""kafka-dump-log: prints the files of a log (after Kafka's `DumpLogSegments`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafkapy.common.capabilities import require_server_support
from kafkapy.tools.common.command_line import OptionParser, Options, ToolError, ToolOption, guard, integer, run
from kafkapy.tools.dump_log.text import base_offset, optional_long

if TYPE_CHECKING:
    from kafkapy.log.producers.producer_state import RetainedBatch

STRING_DECODER = "org.apache.kafka.tools.api.StringDecoder"

PARSER = OptionParser(
    "This tool helps to parse a log file and dump its contents to the console, "
    "useful for debugging a seemingly corrupt log segment.",
    ToolOption("print-data-log", "Print the records' keys and values too; any decoder option implies it."),
    ToolOption("verify-index-only", "Only check indexes against their log, without printing them."),
    ToolOption("index-sanity-check", "Only check whether indexes make sense by themselves, as a broker does at start."),
    ToolOption("files", "REQUIRED: files of a log: .log, .index, .timeindex, .snapshot, .txnindex", "file1,file2,..."),
    ToolOption(
        "max-message-size", "Size of the largest batch that an index may point to.", "size", integer, 5 * 1024 * 1024
    ),
    ToolOption("max-bytes", "Read no more than this of a .log file.", "size", integer, 2**31 - 1),
    ToolOption("deep-iteration", "Print the records of each batch, not only its header; --print-data-log implies it."),
    ToolOption(
        "value-decoder-class",
        "How to show values: String-, Integer-, Long- or DefaultDecoder of org.apache.kafka.tools.api.",
        "class",
        default=STRING_DECODER,
        optional_argument=True,
    ),
    ToolOption(
        "key-decoder-class",
        "How to show keys, as --value-decoder-class.",
        "class",
        default=STRING_DECODER,
        optional_argument=True,
    ),
    ToolOption("offsets-decoder", "Show the records as those of __consumer_offsets."),
    ToolOption("transaction-log-decoder", "Show the records as those of __transaction_state."),
    ToolOption("cluster-metadata-decoder", "Not supported: a cluster with ZooKeeper has no metadata log."),
    ToolOption("remote-log-metadata-decoder", "Not supported: there is no tiered storage."),
    ToolOption("skip-record-metadata", "Print only keys and values of records."),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    options.require("files")
    require_server_support("kafka-dump-log")
    for refused in ("cluster-metadata-decoder", "remote-log-metadata-decoder"):
        if options.has(refused):
            raise ToolError(f"--{refused} is not supported: there are no such logs in a cluster with ZooKeeper")
    statuses = []
    for path in options.value("files").split(","):
        print(f"Dumping {path}")
        statuses.append(guard(partial(dump, path, options)))
    return max(statuses)


def dump(path: str, options: Options) -> int:
    """Print one file; 1 if the file is damaged."""
    suffix = os.path.splitext(path)[1]
    if suffix == ".log":
        from kafkapy.tools.dump_log.records import dump_log

        return dump_log(path, options)
    if suffix in (".index", ".timeindex"):
        from kafkapy.tools.dump_log.indexes import dump_index, dump_time_index

        return dump_index(path, options) if suffix == ".index" else dump_time_index(path, options)
    if suffix == ".txnindex":
        return dump_transaction_index(path)
    if suffix == ".snapshot":
        return dump_producer_snapshot(path)
    print(f"Ignoring unknown file {path}", file=sys.stderr)
    return 0


def dump_producer_snapshot(path: str) -> int:
    from kafkapy.log.producers.producer_snapshot import read_snapshot

    for entry in read_snapshot(path):
        producer = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {optional_long(entry.current_txn_first_offset)} "
        )
        for batch in entry.batches[:-1]:
            print(f"{producer}lastTimestamp: {batch.timestamp} {_batch(batch)}")
        print(f"{producer}lastTimestamp: {entry.last_timestamp} " + "".join(map(_batch, entry.batches[-1:])))
    return 0


def _batch(batch: RetainedBatch) -> str:
    return (
        f"firstSequence: {batch.first_seq} lastSequence: {batch.last_seq} lastOffset: {batch.last_offset} "
        f"offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
    )


def dump_transaction_index(path: str) -> int:
    from kafkapy.log.index.transaction_index import TransactionIndex

    os.stat(path)
    for txn in TransactionIndex(path, base_offset(path), exists=True).entries():
        print(
            f"version: 0 producerId: {txn.producer_id} firstOffset: {txn.first_offset} lastOffset: {txn.last_offset} "
            f"lastStableOffset: {txn.last_stable_offset}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
