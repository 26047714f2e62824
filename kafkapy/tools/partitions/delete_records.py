"""kafka-delete-records: delete the records below given offsets (after Kafka's `DeleteRecordsCommand`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.common import strict_json
from kafkapy.tools.common.command_line import (
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
    from kafkapy.tools.common.admin_access import admin_client, exception_text

    options.require("bootstrap-server", "offset-json-file")
    with open(options.value("offset-json-file"), "rb") as file:
        offsets = parse_offsets(file.read())
    with admin_client(options, options.value("bootstrap-server")) as admin:
        print("Executing records delete operation")
        results = admin.delete_records(offsets)
        print("Records delete operation completed:")
    for partition, result in results.items():
        outcome = f"error: {exception_text(result)}" if isinstance(result, KafkaError) else f"low_watermark: {result}"
        print(f"partition: {partition}\t{outcome}")
    return int(any(isinstance(result, KafkaError) for result in results.values()))


def parse_offsets(text: str | bytes) -> dict[TopicPartition, int]:
    """Parse the offsets of the JSON file. Raises ToolError."""
    from kafkapy.common.topic_partition import TopicPartition

    try:
        document = strict_json.loads(text)
    except strict_json.JsonError as error:
        raise ToolError(f"The input string is not a valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise ToolError(f"Expected JSON object, received {json.dumps(document)}")
    version = document.get("version", 1)
    if type(version) is not int or version != 1:
        raise ToolError(f"Not supported version field value {json.dumps(version)}")
    if "partitions" not in document:
        raise ToolError("Missing partitions field")
    if not isinstance(document["partitions"], list):
        raise ToolError(f"Expected JSON array, received {json.dumps(document['partitions'])}")
    offsets: dict[TopicPartition, int] = {}
    duplicates: list[str] = []
    for entry in document["partitions"]:
        partition = TopicPartition(_field(entry, "topic", str), _field(entry, "partition", int, 32))
        if partition in offsets:
            duplicates.append(str(partition))
        offsets[partition] = _field(entry, "offset", int, 64)
    if duplicates:
        raise ToolError(f"Offset json file contains duplicate topic partitions: {','.join(dict.fromkeys(duplicates))}")
    return offsets


def _field(entry: Any, name: str, type_: type, bits: int | None = None) -> Any:
    value = entry.get(name) if isinstance(entry, dict) else None
    if type(value) is not type_:
        raise ToolError(f"A partition needs a field `{name}` of type {type_.__name__}: {json.dumps(entry)}")
    if bits is not None and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise ToolError(f"The field `{name}` is a number of {bits} bits: {json.dumps(entry)}")
    return value


if __name__ == "__main__":
    sys.exit(main())
