"""kafka-delete-records: delete the records below given offsets (after Kafka's `DeleteRecordsCommand`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.tools.command_line import (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    run,
)

if TYPE_CHECKING:
    from kafkapy.common.topic_partition import TopicPartition

PARSER = OptionParser(
    "This tool helps to delete records of the given partitions down to the specified offset.",
    BOOTSTRAP_SERVER,
    ToolOption(
        "offset-json-file",
        "REQUIRED: a file that says before which offset (-1: all) to delete in each partition: "
        '{"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version":1}',
        "offset json file",
    ),
    COMMAND_CONFIG,
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common import admin_client, exception_text

    options.require("bootstrap-server", "offset-json-file")
    with open(options.value("offset-json-file"), encoding="utf-8") as file:
        offsets = parse_offsets(file.read())
    with admin_client(options, options.value("bootstrap-server")) as admin:
        print("Executing records delete operation")
        results = admin.delete_records(offsets)
        print("Records delete operation completed:")
    for partition, result in results.items():
        outcome = f"error: {exception_text(result)}" if isinstance(result, KafkaError) else f"low_watermark: {result}"
        print(f"partition: {partition}\t{outcome}")
    return int(any(isinstance(result, KafkaError) for result in results.values()))


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """The offsets of the JSON file. Raises `ToolError`."""
    from kafkapy.common.topic_partition import TopicPartition

    try:
        document = json.loads(text)
    except ValueError as error:
        raise ToolError("The input string is not a valid JSON") from error
    if not isinstance(document, dict):
        raise ToolError(f"Expected JSON object, received {json.dumps(document)}")
    version = document.get("version", 1)
    if version != 1:
        raise ToolError(f"Not supported version field value {version}")
    if "partitions" not in document:
        raise ToolError("Missing partitions field")
    offsets: dict[TopicPartition, int] = {}
    duplicates: list[str] = []
    for entry in document["partitions"]:
        partition = TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int))
        if partition in offsets:
            duplicates.append(str(partition))
        offsets[partition] = _field(entry, "offset", int)
    if duplicates:
        raise ToolError(f"Offset json file contains duplicate topic partitions: {','.join(dict.fromkeys(duplicates))}")
    return offsets


def _field(entry: Any, name: str, type_: type) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, type_) or isinstance(value, bool):
        raise ToolError(f"A partition needs a field `{name}` of type {type_.__name__}: {json.dumps(entry)}")
    return value


if __name__ == "__main__":
    sys.exit(main())
