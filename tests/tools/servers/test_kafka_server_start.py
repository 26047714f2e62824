"""What the broker's process sets before it serves."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.waiting import HANG_SECONDS

MEASURE = """
import gc
from kafkapy.runtime.garbage import configure
configure()
generations = []

def note(phase, info):
    if phase == "start":
        generations.append(info["generation"])

gc.callbacks.append(note)
frozen = gc.get_freeze_count()
kept = [[[]] for _ in range(1_500_000)]
print(len(generations), max(generations), gc.get_freeze_count() - frozen)
"""


def test_growth_alone_begins_no_full_collection_and_freezes_nothing() -> None:
    """Three million lists stay alive: young collections look at each of them twice."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    collections, oldest, frozen = map(int, done.stdout.split())
    assert collections >= 10
    assert oldest <= 1
    assert frozen == 0


IMPORT = """
import sys
from kafkapy.tools.servers.kafka_server import _install_reactor, main
assert main(["nowhere/server.properties"]) == 1
_install_reactor()
import kafkapy.server.kafka_server
burdens = "OpenSSL", "cryptography", "urllib.request", "email", "tempfile", "numpy", "_pickle", "_decimal", "bz2"
print(*(name for name in burdens if name in sys.modules))
"""


def test_a_broker_does_not_import_what_it_never_needs() -> None:
    """They would be a quarter of its memory where they are installed; `kafkapy.common.light_imports`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    command = [sys.executable, "-c", IMPORT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS, env=environment)
    assert done.stdout.split() == []


SHARE = """
import ctypes
import sys
import threading
from kafkapy.tools.servers.kafka_server import _set_scheduling
_set_scheduling()
slacks = []
thread = threading.Thread(target=lambda: slacks.append(ctypes.CDLL(None).prctl(30)))  # PR_GET_TIMERSLACK
thread.start()
thread.join()
print(sys.getswitchinterval(), *slacks)
"""


def test_threads_give_the_interpreter_back_in_time() -> None:
    """The kernel's timers, too, go off in time in all threads; they are late by 50,000 ns as a rule."""
    done = subprocess.run(
        [sys.executable, "-c", SHARE], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    )
    interval, slack = map(float, done.stdout.split())
    assert interval <= 0.0001
    assert slack <= 1000
