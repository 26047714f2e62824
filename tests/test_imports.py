"""The first import from several threads: a package must not import modules of its own while it is imported.

Else one thread holds the package's lock and waits for a module's, while another, which imports that module, holds the module's
lock and waits for the package's: Python ends that with a `_DeadlockError`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "kafkapy"
PACKAGES = sorted(
    ".".join(("kafkapy", *path.parent.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("__init__.py")
)

_OWN_MODULES = """
import sys
from importlib import import_module

for package in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "kafkapy"]:
        del sys.modules[name]
    try:
        import_module(package)
    except ImportError:
        continue  # of an extra that is not installed
    own = [name for name in sys.modules if name.startswith(package + ".")]
    own = [name for name in own if name != "kafkapy.compiled"]  # which the package loads without an import
    if own:
        print(package, own)
"""

_THREADS = """
import sys, threading, traceback

statements = sys.argv[1:]
start = threading.Barrier(len(statements))
failed = []

def run(statement):
    start.wait()
    try:
        exec(statement, {})
    except BaseException:
        failed.append(statement + chr(10) + traceback.format_exc())

sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=run, args=(statement,)) for statement in statements]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.exit(chr(10).join(failed) or 0)
"""

FACES = [
    "from kafkapy import KafkaProducer",
    "from kafkapy.aio import KafkaProducer",
    "from kafkapy.tx import KafkaConsumer",
    "from kafkapy.admin import KafkaAdminClient, NewTopic",
    "import kafkapy.errors",
    "from kafkapy.structs import TopicPartition",
]
PARTS = [
    "from kafkapy import *",
    "from kafkapy.common.topic_partition import TopicPartition",
    "from kafkapy.record.varint import read_varint",
    "from kafkapy.compiled import is_used; is_used()",
    "from kafkapy.producer.future import RecordMetadata",
    "from kafkapy.producer import *",
    "from kafkapy.partitioner.default import DefaultPartitioner",
    "from kafkapy.partitioner import murmur2; murmur2(b'key')",
    "from kafkapy.consumer.assignors.sticky import StickyPartitionAssignor",
    "from kafkapy.consumer.assignors import *",
    "from kafkapy.admin.kafka_python.acls import AclMethods",
    "from kafkapy.admin.kafka_python.core import KafkaPythonCore",
    "from kafkapy.registry.formats.references import Documents",
    "from kafkapy.registry.formats import parse",
    "from kafkapy.registry.compatibility import SchemaParseError",
    "from kafkapy.aio import errors, helpers, structs",
]


def test_no_package_imports_modules_of_its_own() -> None:
    command = [sys.executable, "-c", _OWN_MODULES, *PACKAGES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("statements", [FACES, FACES[:2], PARTS, PARTS[::-1]])
def test_threads_may_import_first(statements: list[str]) -> None:
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _THREADS, *statements], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_name_is_what_it_was_whatever_was_imported_before() -> None:
    """A module must not hide a function of its name."""
    program = "import kafkapy.partitioner.hashing; from kafkapy.partitioner import murmur2; print(murmur2(b'key'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout)
