"""Where clients for Twisted can't be made."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.waiting import HANG_SECONDS

_IN_A_THREAD = """
from twisted.internet import reactor, threads
from kafkapy.tx import KafkaProducer

def ended(failure):
    print(failure.type.__name__, failure.value)
    reactor.stop()

reactor.callWhenRunning(lambda: threads.deferToThread(KafkaProducer).addErrback(ended))
reactor.run()
"""
_UNDER_ASYNCIO = """
import asyncio
from kafkapy.tx import KafkaConsumer

async def main():
    try:
        KafkaConsumer()
    except RuntimeError as error:
        print(type(error).__name__, error)

asyncio.run(main())
"""
_BEFORE_THE_REACTOR_RUNS = """
from kafkapy.tx import KafkaConsumer, KafkaProducer

KafkaConsumer()
KafkaProducer()
print("made")
"""
_ON_ASYNCIOS_REACTOR = """
import asyncio
from twisted.internet import asyncioreactor

async def main():
    asyncioreactor.install(asyncio.get_running_loop())
    from kafkapy.tx import KafkaConsumer

    KafkaConsumer()
    print("made")

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (_IN_A_THREAD, "RuntimeError Clients for Twisted are made in the reactor's thread"),
        (_UNDER_ASYNCIO, "RuntimeError Clients for Twisted need its reactor, and here only asyncio's loop runs"),
        (_BEFORE_THE_REACTOR_RUNS, "made"),
        (_ON_ASYNCIOS_REACTOR, "made"),
    ],
)
def test_where_a_client_is_made(program: str, says: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )
    assert ended.stdout.startswith(says), ended.stderr
