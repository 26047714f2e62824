"""Apache Kafka's own integration tests of brokers, clients and tools, in ZooKeeper mode, with kafkapy's brokers.

Some look at what is inside of a JVM broker, which can't be had from here, some ask for what kafkapy does not have: these are
named in `apache_tests/known.py`, with the reason.

Needs a JDK and Maven.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from system_tests.apache_tests.junit import run
from system_tests.apache_tests.known import KNOWN_FAILURES, TEST_CLASSES
from system_tests.conftest import Note

pytestmark = [pytest.mark.long, pytest.mark.timeout(1900)]


@pytest.mark.skipif(shutil.which("mvn") is None, reason="Apache's tests are fetched with Maven")
@pytest.mark.parametrize("test_class", TEST_CLASSES)
def test_passes_with_kafkapy_s_brokers(test_class: str, tmp_path: Path, note: Note) -> None:
    outcomes = run(test_class, tmp_path / "run")
    failed = {outcome.test: outcome.failure for outcome in outcomes if outcome.failure is not None}
    known = KNOWN_FAILURES.get(test_class.rpartition(".")[2], {})
    note("passed", sum(outcome.failure is None for outcome in outcomes))
    note("known to fail", sum(o.failure is not None and o.test in known for o in outcomes))
    assert outcomes
    assert {test: why for test, why in failed.items() if test not in known} == {}
