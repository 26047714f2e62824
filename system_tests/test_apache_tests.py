"""Apache Kafka's own integration tests of brokers, clients and tools, in ZooKeeper mode: with kafkapy's brokers they pass, too.

What they look at inside of a JVM broker can't be had from here, and some ask for what kafkapy does not have (yet); these tests
are named below with the reason. They must fail: one that passes is taken off the list.

Needs a JDK and Maven.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from system_tests.apache_tests.junit import run
from system_tests.conftest import Note

pytestmark = [pytest.mark.long, pytest.mark.timeout(1900)]
