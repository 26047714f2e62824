"""What planning and tasks leave behind in the processes that Spark keeps for the next ones."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from kafkapy.spark.data_source import KafkaDataSource
from kafkapy.spark.worker import spare_collections

READ = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "events"}
WRITE = {"kafka.bootstrap.servers": "localhost:9092", "topic": "out"}
VALUE = StructType([StructField("value", BinaryType())])


@pytest.fixture
def thawed() -> Iterator[None]:
    spare_collections.cache_clear()
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize(
    "step",
    [
        lambda: KafkaDataSource(READ).schema(),
        lambda: KafkaDataSource(WRITE).writer(VALUE, False),
        lambda: KafkaDataSource(WRITE).writer(VALUE, False).commit([]),
    ],
    ids=["schema", "writer", "commit"],
)
def test_a_step_of_planning_spares_the_next_collections(thawed: None, step: Callable[[], object]) -> None:
    assert gc.get_freeze_count() == 0
    step()
    assert gc.get_freeze_count() > 1000
