"""What it costs the broker to look at the schemas of a topic's records (`kafkapy.value.schema.validation`): µs of CPU a record.

    python -m benchmarks.schema_gate [--records N] [--size BYTES]

A batch goes through `LogValidator` again and again, by turns for a topic without the config and one with it, whose schemas are
known. The least of ten rounds counts.
"""

from __future__ import annotations

import argparse
import struct
import time

from kafkapy import compiled
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log import schema_configs
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_validator import LogValidator
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.server.registry_gate import RegistryGate

ROUNDS = 10


def batch(records: int, size: int) -> bytes:
    builder = MemoryRecordsBuilder()
    for number in range(records):
        value = struct.pack(">bi", 0, 1 + number % 3) + b"x" * (size - 5)
        builder.append(1_700_000_000_000, None, value)
    return bytes(builder.build())


def seconds(validator: LogValidator, data: bytes, times: int) -> float:
    """Of CPU, of one batch."""
    begin = time.process_time()
    for _ in range(times):
        validator.validate(bytearray(data), 0, 1_700_000_000_000, 0)
    return (time.process_time() - begin) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=1_000)
    parser.add_argument("--size", type=int, default=100)
    given = parser.parse_args()
    schema_configs.install(RegistryGate(lambda schema_id: ["t-value"]))
    data = batch(given.records, given.size)
    place = TopicPartition("t", 0)
    subjects = {"off": None, "on": ("{topic}-value",)}
    validators = {
        name: LogValidator(place, LogConfig({}, value_schema_subjects=wanted)) for name, wanted in subjects.items()
    }
    best = {name: float("inf") for name in validators}
    for _ in range(ROUNDS):
        for name, validator in validators.items():
            best[name] = min(best[name], seconds(validator, data, max(1, 20_000 // given.records)))
    used = "machine code" if compiled.is_used() else "plain Python"
    print(f"{given.records:,} records of {given.size} bytes, {used}")
    for name, spent in best.items():
        print(f"{name}: {spent / given.records * 1e6:.3f} µs a record")
    print(f"for looking at schemas: {(best['on'] - best['off']) / given.records * 1e6:.3f} µs a record")


if __name__ == "__main__":
    main()
