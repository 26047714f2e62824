"""Each example in a docstring of the package says what is true."""

from __future__ import annotations

import pytest

from kafkapy.testing import KafkaCluster
from tests.docstring_examples import Example, examples

WITHOUT_BROKER = [example for example in examples() if not example.needs_broker]
WITH_BROKER = [example for example in examples() if example.needs_broker]


@pytest.mark.parametrize("example", WITHOUT_BROKER, ids=lambda example: example.whole_name)
def test_example(example: Example) -> None:
    assert not example.run()


@pytest.mark.integration
@pytest.mark.parametrize("example", WITH_BROKER, ids=lambda example: example.whole_name)
def test_example_with_a_broker(example: Example, kafka: KafkaCluster) -> None:
    assert not example.run(kafka.bootstrap_servers)
