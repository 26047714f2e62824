"""What the drivers promise, on real sockets, and on all loops alike."""

from __future__ import annotations

import asyncio
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from queue import SimpleQueue
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor, selectreactor, task

from kafkapy.clients import socket_transport
from kafkapy.clients.asyncio_driver import AsyncioDriver
from kafkapy.clients.caller_driver import CallerDriver
from kafkapy.clients.config import ClientConfig
from kafkapy.clients.network_client import NetworkClient
from kafkapy.clients.selector_loop import SelectorLoop
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.clients.twisted_driver import TwistedDriver
from kafkapy.errors import IllegalStateError, KafkaConnectionError, KafkaTimeoutError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkapy.runtime.completion import Completion, spawn
from tests.fake_broker import FakeBroker
from tests.waiting import HANG_SECONDS, wait_until

Work = Callable[[Any], Coroutine[Any, Any, Any]]


def on_thread(work: Work) -> Any:
    driver = ThreadDriver()
    driver.start()
    try:
        return driver.call(work, driver, timeout_ms=HANG_SECONDS * 1000)
    finally:
        driver.stop()


def on_asyncio(work: Work, loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None) -> Any:
    from kafkapy.aio.base import ask

    async def main() -> Any:
        return await ask(work(AsyncioDriver()))

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(main())


class NoReaders(asyncio.SelectorEventLoop):
    """As Windows' default loop."""

    def add_reader(self, *_: Any) -> None:  # type: ignore[override]
        raise NotImplementedError

    add_writer = remove_reader = remove_writer = add_reader  # type: ignore[assignment]


def on_asyncio_without_readers(work: Work) -> Any:
    return on_asyncio(work, NoReaders)


def on_twisted(work: Work) -> Any:
    from kafkapy.tx.base import run

    reactor = selectreactor.SelectReactor()
    results: list[Any] = []

    def main(reactor: Any) -> Any:
        return run(work(TwistedDriver(reactor))).addCallback(results.append)

    try:
        task.react(main, _reactor=reactor)
    except SystemExit as end:
        assert end.code == 0
    return results[0]


def on_caller(work: Work) -> Any:
    driver = CallerDriver()
    try:
        return driver.run(work, driver, timeout_ms=HANG_SECONDS * 1000)
    finally:
        driver.close()


LOOPS = {
    "thread": on_thread,
    "asyncio": on_asyncio,
    "asyncio without readers": on_asyncio_without_readers,
    "twisted": on_twisted,
    "caller": on_caller,
}


@pytest.fixture(params=list(LOOPS.values()), ids=list(LOOPS))
def run_on(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker({ApiKey.HEARTBEAT: lambda request: HeartbeatResponse(error_code=request.generation_id)}) as broker:
        yield broker


def client_of(driver: Any, broker: FakeBroker, **options: Any) -> NetworkClient:
    return NetworkClient(driver, ClientConfig(bootstrap_servers=f"localhost:{broker.port}", **options))


def test_requests_and_responses(run_on: Any, broker: FakeBroker) -> None:
    async def work(driver: Any) -> list[int]:
        client = client_of(driver, broker)
        await client.bootstrap()
        sent = [client.send(0, HeartbeatRequest(generation_id=i)) for i in range(50)]
        codes = [(await answer).error_code for answer in sent]
        client.close()
        return codes

    assert run_on(work) == list(range(50))


def test_large_responses_are_views_of_memory_of_their_own(run_on: Any, broker: FakeBroker) -> None:
    def answer(request: Any) -> FetchResponse:
        records = bytes([request.max_wait_ms]) * request.max_bytes
        part = FetchResponse.PartitionData(records=records)
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[part])])

    broker.handlers[ApiKey.FETCH] = answer
    sizes = [10, 100_000, 3_000_000, 7, 1_200_000]

    async def work(driver: Any) -> list[Any]:
        client = client_of(driver, broker)
        await client.bootstrap()
        requests = [FetchRequest(replica_id=-1, max_wait_ms=i, max_bytes=size) for i, size in enumerate(sizes)]
        sent = [client.send(0, request, max_version=12) for request in requests]
        responses = [await answer for answer in sent]
        client.close()
        return [response.responses[0].partitions[0].records for response in responses]

    for i, (records, size) in enumerate(zip(run_on(work), sizes, strict=True)):
        assert isinstance(records, memoryview)
        assert records == bytes([i]) * size


def test_large_requests_go_out_as_the_kernel_takes_them(run_on: Any, broker: FakeBroker) -> None:
    async def work(driver: Any) -> int:
        client = client_of(driver, broker)
        await client.bootstrap()
        await client.send(0, HeartbeatRequest(member_id="x"))
        sent = [client.send(0, HeartbeatRequest(member_id="x" * 32_000, generation_id=i)) for i in range(200)]
        codes = [(await answer).error_code for answer in sent]
        client.close()
        return codes == list(range(200))

    assert run_on(work)


def test_large_requests_where_the_kernel_takes_one_buffer_at_a_time(
    run_on: Any, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket_transport, "_GATHERS", False)
    test_large_requests_go_out_as_the_kernel_takes_them(run_on, broker)


def test_refused_and_cut(run_on: Any, broker: FakeBroker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        nobody = probe.getsockname()[1]

    async def work(driver: Any) -> str:
        client = client_of(driver, broker, reconnect_backoff_ms=10)
        await client.bootstrap()
        await client.send(0, HeartbeatRequest())
        broker.handlers[ApiKey.HEARTBEAT] = lambda request: None
        with pytest.raises(KafkaConnectionError):
            await client.send(0, HeartbeatRequest())
        broker.handlers[ApiKey.HEARTBEAT] = lambda request: HeartbeatResponse()
        assert (await client.send(0, HeartbeatRequest())).error_code == 0
        client.close()
        lonely = NetworkClient(driver, ClientConfig(bootstrap_servers=f"127.0.0.1:{nobody}"))
        with pytest.raises(KafkaTimeoutError, match="Connection refused"):
            await lonely.bootstrap(200)
        lonely.close()
        return "done"

    assert run_on(work) == "done"


def test_unknown_hosts(run_on: Any) -> None:
    async def work(driver: Any) -> str:
        client = NetworkClient(driver, ClientConfig(bootstrap_servers="no.such.host.invalid:9092"))
        with pytest.raises(KafkaTimeoutError, match=r"no\.such\.host\.invalid cannot be resolved"):
            await client.bootstrap(400)
        client.close()
        return "done"

    assert run_on(work) == "done"


def test_a_name_with_several_addresses_is_tried_through(
    run_on: Any, broker: FakeBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", broker.port))
    nowhere = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.2", 1))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: [nowhere, here])

    async def work(driver: Any) -> str:
        client = client_of(driver, broker)
        await client.bootstrap(5000)
        client.close()
        return str(client.metadata.cluster.cluster_id)

    assert run_on(work) == "fake"


def test_timers_and_threads(run_on: Any) -> None:
    async def work(driver: Any) -> list[str]:
        steps: list[str] = []
        driver.call_later(40, lambda: steps.append("second"))
        driver.call_later(20, lambda: steps.append("first"))
        driver.call_later(30, lambda: steps.append("never")).cancel()
        driver.call_soon(lambda: steps.append("soon"))
        thread = threading.Thread(target=lambda: driver.call_soon_threadsafe(lambda: steps.append("thread")))
        thread.start()
        await driver.run_in_thread(thread.join)
        assert await driver.run_in_thread(threading.get_ident) != threading.get_ident()
        with pytest.raises(ZeroDivisionError):
            await driver.run_in_thread(lambda: 1 / 0)
        await driver.sleep(80)
        return steps

    steps = run_on(work)
    assert [step for step in steps if step not in ("soon", "thread")] == ["first", "second"]
    assert {"soon", "thread"} <= set(steps)


# --- the driver with a thread


@pytest.fixture
def driver() -> Iterator[ThreadDriver]:
    driver = ThreadDriver()
    driver.start()
    yield driver
    driver.stop()


def test_call_gives_values_errors_and_time_outs(driver: ThreadDriver) -> None:
    assert driver.call(lambda a, b: a + b, 1, 2) == 3
    with pytest.raises(ZeroDivisionError):
        driver.call(lambda: 1 / 0)
    cancelled = threading.Event()

    async def forever() -> None:
        try:
            await Completion[None]()
        finally:
            cancelled.set()

    with pytest.raises(KafkaTimeoutError, match="Timed out after 30 ms"):
        driver.call(forever, timeout_ms=30)
    assert cancelled.wait(HANG_SECONDS)


def test_a_blocking_call_on_the_drivers_own_thread_is_refused(driver: ThreadDriver) -> None:
    with pytest.raises(IllegalStateError, match="on the client's own thread"):
        driver.call(lambda: driver.call(lambda: 1))


def test_a_call_keeps_its_time_out_while_a_callback_takes_its_time(driver: ThreadDriver) -> None:
    entered, leave = threading.Event(), threading.Event()

    def take_time() -> None:
        entered.set()
        leave.wait(HANG_SECONDS)

    driver.call_soon_threadsafe(take_time)
    assert entered.wait(HANG_SECONDS)
    began: list[int] = []
    outcomes: SimpleQueue[object] = SimpleQueue()

    def call() -> None:
        try:
            outcomes.put(driver.call(began.append, 1, timeout_ms=30))
        except KafkaTimeoutError as error:
            outcomes.put(str(error))

    try:
        threading.Thread(target=call, daemon=True).start()
        call()  # in the main thread, where there may be signal handlers, all is left to the driver's thread
        assert [outcomes.get(timeout=HANG_SECONDS) for _ in range(2)] == ["Timed out after 30 ms"] * 2
    finally:
        leave.set()
    assert driver.call(lambda: 2) == 2
    assert began == []


def test_stop_ends_calls_that_wait(driver: ThreadDriver) -> None:
    failures: list[BaseException] = []

    def wait() -> None:
        try:
            driver.call(Completion)
        except IllegalStateError as error:
            failures.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    while not driver._waiters:
        time.sleep(0.001)
    driver.stop()
    thread.join(HANG_SECONDS)
    assert str(failures[0]) == "The Kafka client was closed"
    with pytest.raises(IllegalStateError, match="The Kafka client is closed"):
        driver.call(lambda: 1)


def test_a_child_of_fork_gets_a_clear_error(driver: ThreadDriver) -> None:
    driver.call(lambda: 1)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            driver.call(lambda: 1)
        except IllegalStateError as error:
            os.write(writer, str(error).encode())
        driver.stop()
        os._exit(0)
    os.waitpid(pid, 0)
    assert b"made before the process forked" in os.read(reader, 1000)
    assert driver.call(lambda: 2) == 2


@pytest.fixture
def no_handlers() -> Iterator[None]:
    """pytest-timeout has one, and reactors leave theirs behind: the tests' own, too, which starts with the first test."""
    pytest_twisted.blockon(task.deferLater(reactor, 0))
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before.items():
        if callable(handler):
            signal.signal(number, handler)


@pytest.mark.usefixtures("no_handlers")
def test_who_waits_turns_the_loop_himself(driver: ThreadDriver) -> None:
    """And several may wait; the rest is the daemon thread's."""
    threads: list[int] = []

    async def wait(ms: float) -> int:
        await driver.sleep(ms)
        threads.append(threading.get_ident())
        return threading.get_ident()

    wait_until(lambda: driver.call(lambda: spawn(wait(5))) == threading.get_ident())
    threads.clear()
    others = [threading.Thread(target=driver.call, args=(wait, 5 + i)) for i in range(4)]
    for other in others:
        other.start()
    driver.call(wait, 1)
    for other in others:
        other.join(HANG_SECONDS)
    assert len(threads) == 5
    later: SimpleQueue[int] = SimpleQueue()
    driver.call(lambda: driver.call_later(300, lambda: later.put(threading.get_ident())))
    assert later.get(timeout=HANG_SECONDS) != threading.get_ident()


@pytest.mark.usefixtures("no_handlers")
def test_who_only_calls_keeps_nobody_waiting(driver: ThreadDriver) -> None:
    """Sockets and timers have their turn, though a thread never leaves the client for long."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    seen: list[str] = []

    def read() -> None:
        seen.append("socket")
        ours.recv(10)

    driver.call(driver.add_reader, ours, read)
    driver.call(driver.call_later, 1, lambda: seen.append("timer"))
    theirs.send(b"x")
    deadline = time.monotonic() + HANG_SECONDS
    while set(seen) != {"socket", "timer"}:
        driver.call(lambda: None)
        assert time.monotonic() < deadline, seen
    driver.call(driver.remove_reader, ours)
    ours.close()
    theirs.close()


@pytest.mark.usefixtures("no_handlers")
def test_call_now_or_soon(driver: ThreadDriver) -> None:
    ran: SimpleQueue[tuple[str, int]] = SimpleQueue()
    driver.call_now_or_soon(lambda: ran.put(("free", threading.get_ident())))
    assert ran.get(timeout=HANG_SECONDS) == ("free", threading.get_ident())

    def busy() -> None:
        driver.call_now_or_soon(lambda: ran.put(("soon", threading.get_ident())))
        ran.put(("first", threading.get_ident()))

    driver.call(busy)
    assert [ran.get(timeout=HANG_SECONDS)[0] for _ in range(2)] == ["first", "soon"]


def test_a_callback_that_stops_its_own_client(driver: ThreadDriver) -> None:
    def stop_soon() -> Completion[None]:
        driver.call_soon(driver.stop)
        return Completion()

    with pytest.raises(IllegalStateError, match="was closed"):
        driver.call(stop_soon)
    assert driver._thread is not None
    driver._thread.join(HANG_SECONDS)
    assert not driver.running


@pytest.mark.usefixtures("no_handlers")
def test_an_interrupt_waits_for_the_work_at_hand(driver: ThreadDriver) -> None:
    """And the handler of Ctrl-C is what it was."""
    done = []

    def work() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(1)

    with pytest.raises(KeyboardInterrupt):
        driver.call(work)
    assert done == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert driver.call(lambda: 2) == 2


class Selector(selectors.SelectSelector):
    """One that no two threads may enter at once, as poll's."""

    entered: threading.Lock
    crowded = False

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Lock()

    def select(self, timeout: float | None = None) -> Any:
        if not self.entered.acquire(blocking=False):
            Selector.crowded = True
            raise RuntimeError("concurrent poll() invocation")
        try:
            return super().select(timeout)
        finally:
            self.entered.release()


def test_no_selector_is_entered_by_two_threads_at_once(monkeypatch: pytest.MonkeyPatch, broker: FakeBroker) -> None:
    monkeypatch.setattr(selectors, "DefaultSelector", Selector)

    async def work(driver: Any) -> None:
        client = client_of(driver, broker)
        await client.bootstrap()
        for i in range(20):
            await client.send(0, HeartbeatRequest(generation_id=i))
        client.close()

    def call_and_call(driver: ThreadDriver) -> None:
        for _ in range(500):
            driver.call(lambda: None)  # while another thread sleeps in the selector
        driver.call(work, driver, timeout_ms=HANG_SECONDS * 1000)

    driver = ThreadDriver()
    driver.start()
    try:
        threads = [threading.Thread(target=call_and_call, args=(driver,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        driver.stop()
    assert not Selector.crowded


def test_a_program_with_handlers_of_its_own_leaves_the_work_to_the_other_thread(driver: ThreadDriver) -> None:
    before = signal.signal(signal.SIGTERM, lambda number, frame: None)
    try:
        assert driver.call(threading.get_ident) != threading.get_ident()
        driver.call_now_or_soon(lambda: None)
    finally:
        signal.signal(signal.SIGTERM, before)


PROGRAM = """
import sys
from kafkapy.clients.thread_driver import ThreadDriver
from kafkapy.runtime.completion import Completion, spawn
driver = ThreadDriver()
driver.start()
try:
    print("ready", flush=True)
    {body}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_ctrl_c_works_at_once() -> None:
    program = PROGRAM.format(body="driver.call(Completion)")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=HANG_SECONDS)[0] == "interrupted\n"
    assert process.returncode == 0


def test_a_program_that_forgets_to_close_ends() -> None:
    program = PROGRAM.format(body="driver.call(lambda: driver.connect('127.0.0.1', 1, None) and None)")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_SECONDS)
    assert (done.returncode, done.stdout) == (0, "ready\n")


def test_a_socket_may_be_let_go_after_the_loop_is_closed() -> None:
    """A connection that is dropped by whoever forgets a client comes later than the loop's end."""
    loop = SelectorLoop()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        loop.add_reader(ours, lambda: None)
        loop.close()
        loop.remove_reader(ours)
        assert ours.fileno() == -1
