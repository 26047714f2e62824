"""All logs of a broker: dirs and locks, start and stop, checkpoints, deletion, dirs that fail."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.log_files import sync_file_system
from kafkapy.log.files.sync_queue import SYNC_DELAY_MS
from kafkapy.log.log import Log
from kafkapy.log.manager import log_manager
from kafkapy.log.manager.log_dirs import LogDirError
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.log.manager.log_manager_config import LogManagerConfig
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.config.kafka_config import KafkaConfig
from tests.log.log_support import NOW, batch, log_config, offsets
from tests.waiting import HANG_SECONDS

SIZE = len(batch())
T0, T1, T2 = (TopicPartition("topic-with-dash", n) for n in range(3))


class Broker:
    """A log manager that can be stopped, killed and started again on the same dirs."""

    def __init__(self, root: Path, dirs: int = 1, **config: Any) -> None:
        self.dirs = [str(root / f"dir{n}") for n in range(dirs)]
        self.config = log_config(**config)
        self.topic_configs: dict[str, dict[str, str]] = {}
        self.time = MockTime(NOW)
        self.scheduler = MockScheduler(self.time)
        self.failures: list[tuple[str, list[TopicPartition]]] = []
        self.settings: dict[str, Any] = {}
        self.make_cleaner: Any = None

    def start(self) -> LogManager:
        self.scheduler = MockScheduler(self.time)
        self.manager = LogManager(
            self.dirs,
            self.config,
            self.topic_configs,
            self.scheduler,
            self.time,
            LogManagerConfig(**self.settings),
            self.make_cleaner,
        )
        self.manager.dir_failure_listeners.append(lambda *failure: self.failures.append(failure))
        self.manager.startup()
        return self.manager

    def kill(self) -> None:
        """The process dies: nothing is written any more, the locks go."""
        self.manager._dirs.release()

    def read(self, name: str, number: int = 0) -> str:
        return (Path(self.dirs[number]) / name).read_text()

    def names(self, number: int = 0) -> list[str]:
        return sorted(os.listdir(self.dirs[number]))


@pytest.fixture
def broker(tmp_path: Path) -> Iterable[Broker]:
    one = Broker(tmp_path)
    yield one
    one.kill()


@pytest.fixture
def two_dirs(tmp_path: Path) -> Iterable[Broker]:
    one = Broker(tmp_path, 2)
    yield one
    one.kill()


def _fill(log: Log, count: int = 1) -> None:
    for _ in range(count):
        log.append_as_leader(batch(), 0)


def test_a_clean_stop_and_start(broker: Broker) -> None:
    manager = broker.start()
    assert broker.names() == [".lock"]
    log = manager.get_or_create_log(T1, b"0123456789abcdef", is_new=True)
    assert manager.get_or_create_log(T1) is manager.get_log(T1) is log
    _fill(log, 2)
    manager.shutdown()
    assert broker.names() == [
        ".kafka_cleanshutdown", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint", "topic-with-dash-1",
    ]  # fmt: skip
    assert broker.read("recovery-point-offset-checkpoint") == "0\n1\ntopic-with-dash 1 6\n"
    assert broker.read("log-start-offset-checkpoint") == "0\n0\n"
    manager = broker.start()
    assert ".kafka_cleanshutdown" not in broker.names()
    log = manager.get_or_create_log(T1, b"0123456789abcdef")
    assert (log.log_end_offset, log.recovery_point, offsets(log)) == (6, 6, list(range(6)))
    with pytest.raises(KafkaError) as info:
        manager.get_or_create_log(T1, b"x" * 16)
    assert info.value.error is Errors.INCONSISTENT_TOPIC_ID


class SlowOpener:
    """The files of one partition's log are made, and then it takes until `go_on` before it is there."""

    def __init__(self, manager: LogManager, slow: TopicPartition, monkeypatch: pytest.MonkeyPatch) -> None:
        self.made, self.go_on = threading.Event(), threading.Event()
        opener = manager._opener
        open_now = opener.open

        def open_slowly(path: str, *arguments: Any) -> Log:
            log = open_now(path, *arguments)
            if log.topic_partition == slow:
                self.made.set()
                assert self.go_on.wait(HANG_SECONDS)
            return log

        monkeypatch.setattr(opener, "open", open_slowly)


def test_logs_are_made_by_several_threads(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wants the one that is being made waits for it; others are made meanwhile, and configs may change."""
    manager = broker.start()
    slow = SlowOpener(manager, T0, monkeypatch)
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(manager.get_or_create_log, T0, b"x" * 16)
        assert slow.made.wait(HANG_SECONDS)
        other = manager.get_or_create_log(T1)
        assert manager.get_log(T0) is None
        second = pool.submit(manager.get_or_create_log, T0, b"x" * 16)
        deleted = pool.submit(manager.async_delete, T0)
        manager.update_topic_config(T0.topic, {"retention.ms": "77"})
        assert not first.done() and not second.done() and not deleted.done()
        slow.go_on.set()
        assert first.result(HANG_SECONDS).config.retention_ms == other.config.retention_ms == 77
        # Either of the two that have waited may be the first.
        assert deleted.result(HANG_SECONDS) is first.result()
        assert (second.result(HANG_SECONDS) is first.result()) == (manager.get_log(T0) is None)


def test_a_dir_that_fails_while_a_log_is_made_in_it(two_dirs: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is made in the next one. If there is none, it is refused."""
    manager = two_dirs.start()
    slow = SlowOpener(manager, T0, monkeypatch)

    def make_while_the_dir_fails() -> Log:
        with ThreadPoolExecutor(1) as pool:
            making = pool.submit(manager.get_or_create_log, T0, is_new=True)
            assert slow.made.wait(HANG_SECONDS)
            manager.handle_log_dir_failure(manager.live_log_dirs[0], "it is gone", OSError("no disk"))
            slow.go_on.set()
            return making.result(HANG_SECONDS)

    assert make_while_the_dir_fails().parent_dir == two_dirs.dirs[1]
    manager.async_delete(T0)
    slow.made.clear()
    slow.go_on.clear()
    with pytest.raises(KafkaError) as info:
        make_while_the_dir_fails()
    assert info.value.error is Errors.KAFKA_STORAGE_ERROR
    assert manager.get_log(T0) is None


def test_logs_that_are_being_made_count_for_their_dir(two_dirs: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = two_dirs.start()
    slow = SlowOpener(manager, T0, monkeypatch)
    with ThreadPoolExecutor(1) as pool:
        making = pool.submit(manager.get_or_create_log, T0)
        assert slow.made.wait(HANG_SECONDS)
        other = manager.get_or_create_log(T1)
        slow.go_on.set()
        assert {making.result(HANG_SECONDS).parent_dir, other.parent_dir} == set(two_dirs.dirs)


def test_a_new_log_is_synced_once(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its topic id, its first epoch, its directory: a topic of thousands of partitions waits for each."""
    manager = broker.start()
    log = manager.get_or_create_log(T0, b"x" * 16)
    log.maybe_assign_epoch_start_offset(0, 0)
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))))
    broker.scheduler.advance(SYNC_DELAY_MS)
    assert synced == ["partition.metadata", "leader-epoch-checkpoint", log.name]
    manager.get_or_create_log(T1, b"x" * 16)
    broker.scheduler.advance(SYNC_DELAY_MS)
    assert synced[3:] == ["partition.metadata", "topic-with-dash-1"]


def test_many_logs_are_synced_at_once_when_it_stops(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those that a kill leaves as they were are not written again by the next start."""
    monkeypatch.setattr(log_manager, "MAX_SINGLE_SYNCS", 5)
    manager = broker.start()
    partitions = [TopicPartition("many", number) for number in range(6)]
    for partition in partitions:
        _fill(manager.get_or_create_log(partition))
    synced: list[str] = []
    file_systems: list[str] = []

    def sync(directory: str) -> None:
        file_systems.append(directory)
        sync_file_system(directory)

    monkeypatch.setattr(log_manager, "sync_file_system", sync)
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    manager.shutdown()
    assert file_systems == broker.dirs
    assert not [path for path in synced if "/many-" in path]
    assert broker.read("recovery-point-offset-checkpoint").splitlines()[2:] == [f"many {n} 3" for n in range(6)]
    assert ".kafka_cleanshutdown" in broker.names()

    manager = broker.start()
    broker.kill()
    files = list(Path(broker.dirs[0]).glob("many-*/*"))
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in files}
    assert {path.suffix for path in files} >= {".log", ".index", ".timeindex", ".snapshot"}
    manager = broker.start()
    assert [manager.logs[partition].log_end_offset for partition in partitions] == [3] * 6
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()) for path in files} == before


@pytest.mark.parametrize("threads", [1, 4])
def test_a_start_after_a_kill_recovers(broker: Broker, threads: int) -> None:
    broker.settings = {"recovery_threads_per_data_dir": threads}
    manager = broker.start()
    for partition in (T0, T1, T2):
        _fill(manager.get_or_create_log(partition), 1 + partition.partition)
    broker.kill()
    torn = Path(broker.dirs[0]) / "topic-with-dash-2" / "00000000000000000000.log"
    os.truncate(torn, 3 * SIZE - 1)
    manager = broker.start()
    found = [manager.get_log(p) for p in (T0, T1, T2)]
    assert [log and log.log_end_offset for log in found] == [3, 6, 6]
    manager.shutdown()
    assert ".kafka_cleanshutdown" in broker.names()


def test_two_brokers_cannot_share_a_dir(broker: Broker) -> None:
    broker.start()
    with pytest.raises(
        LogDirError, match=r"Failed to acquire lock on file .lock in .*dir0. A Kafka instance in another"
    ):
        LogManager(broker.dirs, broker.config, {}, broker.scheduler, broker.time)
    other_process = (
        "import sys; from kafkapy.log.manager.log_dirs import *\n"
        f"try: DirLock({broker.dirs[0]!r}).acquire()\n"
        "except LogDirError: sys.exit(7)"
    )
    assert subprocess.run([sys.executable, "-c", other_process], check=False).returncode == 7
    broker.manager.shutdown()
    assert ".lock" not in broker.names()
    assert subprocess.run([sys.executable, "-c", other_process], check=False).returncode == 0


def test_dirs_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "dir0").write_text("a file")
    (tmp_path / "dir1").write_text("a file")
    broker = Broker(tmp_path, 2)
    with pytest.raises(LogDirError, match=r"None of the specified log dirs from .*dir0, .*dir1 can be created"):
        broker.start()
    os.unlink(tmp_path / "dir1")
    manager = broker.start()
    assert (manager.live_log_dirs, manager.offline_log_dirs) == (broker.dirs[1:], broker.dirs[:1])
    broker.kill()
    with pytest.raises(LogDirError, match="Duplicate log directory found"):
        LogManager([broker.dirs[1], broker.dirs[1] + "/."], broker.config, {}, broker.scheduler, broker.time)


def test_a_foreign_directory_stops_the_start(broker: Broker) -> None:
    os.makedirs(broker.dirs[0] + "/lost+found")
    with pytest.raises(LogDirError, match=r"Found directory .*lost\+found, 'lost\+found' is not in the form of"):
        broker.start()


def test_new_logs_go_to_the_dir_with_the_fewest(two_dirs: Broker) -> None:
    manager = two_dirs.start()
    for number in range(5):
        manager.get_or_create_log(TopicPartition("t", number))
    counts = [sum(name.startswith("t-") for name in two_dirs.names(n)) for n in (0, 1)]
    assert sorted(counts) == [2, 3]
    assert all(manager.is_log_dir_online(directory) for directory in two_dirs.dirs)
    with pytest.raises(KafkaError):
        manager.is_log_dir_online("/elsewhere")


def test_a_log_in_both_dirs_stops_the_start(two_dirs: Broker) -> None:
    for directory in two_dirs.dirs:
        os.makedirs(directory + "/t-0")
    with pytest.raises(LogDirError, match="Duplicate log directories for t-0 are found in both"):
        two_dirs.start()


def test_a_deleted_log_is_renamed_at_once_and_removed_later(broker: Broker) -> None:
    manager = broker.start()
    log = manager.get_or_create_log(T0)
    _fill(log)
    assert manager.async_delete(T0) is log
    assert manager.get_log(T0) is None
    (renamed,) = [name for name in broker.names() if name.endswith("-delete")]
    assert renamed.startswith("topic-with-dash-0.") and len(renamed) == len("topic-with-dash-0.") + 32 + len("-delete")
    again = manager.get_or_create_log(T0)
    assert again.log_end_offset == 0, "the name is free at once"
    broker.scheduler.advance(100)
    assert broker.read("recovery-point-offset-checkpoint") == "0\n1\ntopic-with-dash 0 0\n"
    broker.scheduler.advance(59_899)
    assert renamed in broker.names()
    broker.scheduler.advance(1)
    assert renamed not in broker.names()
    assert manager.async_delete(T2) is None


def test_logs_are_removed_one_after_the_other(broker: Broker) -> None:
    """Each when it is due, and one that cannot be removed holds no other up."""
    manager = broker.start()
    logs = {name: manager.get_or_create_log(name) for name in (T1, T2)}
    before = broker.scheduler.pending
    manager._deleter.delete_later(lambda: 1 / 0, "a directory")
    manager.async_delete(T1)
    assert broker.scheduler.pending == before + 2, "one removes all; one clears the checkpoints"
    broker.scheduler.advance(1000)
    manager.async_delete(T2)
    left = [(59_000, [T2]), (999, [T2]), (1, [])]
    for ms, names in left:
        broker.scheduler.advance(ms)
        found = [name for name in (T1, T2) if os.path.exists(logs[name].directory)]
        assert found == names


def test_deleting_a_log_waits_for_no_disk(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reactor deletes a topic's thousand logs; what they need of the disk is done once for all of them, in the background."""
    manager = broker.start()
    for partition in (T0, T1):
        _fill(manager.get_or_create_log(partition))
    synced: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.readlink(f"/proc/self/fd/{fd}")))
    for partition in (T0, T1):
        manager.async_delete(partition)
    assert synced == []
    broker.scheduler.advance(100)
    assert synced.count(broker.dirs[0]) == 2, "with its new names, after either checkpoint"


def test_names_of_deleted_logs_are_cut_to_255_characters(broker: Broker) -> None:
    manager = broker.start()
    partition = TopicPartition("t" * 249, 12)
    manager.get_or_create_log(partition)
    manager.async_delete(partition)
    (renamed,) = [name for name in broker.names() if name.endswith("-delete")]
    assert len(renamed) == 255 and "-12." in renamed


def test_removal_goes_on_after_a_restart(broker: Broker) -> None:
    manager = broker.start()
    _fill(manager.get_or_create_log(T0))
    manager.async_delete(T0)
    manager.shutdown()
    broker.scheduler.advance(60_000)
    assert any(name.endswith("-delete") for name in broker.names()), "a stop waits for no removals"
    manager = broker.start()
    assert manager.get_log(T0) is None
    broker.scheduler.advance(60_000)
    assert not any(name.endswith("-delete") for name in broker.names())


def test_stray_logs_are_left_alone(broker: Broker) -> None:
    os.makedirs(f"{broker.dirs[0]}/t-0.0123456789abcdef0123456789abcdef-stray")
    assert broker.start().all_logs() == []
    broker.scheduler.advance(100_000)
    assert len([name for name in broker.names() if name.startswith("t-")]) == 1


def test_checkpoints_are_written_periodically(broker: Broker) -> None:
    manager = broker.start()
    log = manager.get_or_create_log(T0)
    _fill(log, 3)
    log.flush()
    log.update_high_watermark(9)
    log.maybe_increment_log_start_offset(4)
    broker.scheduler.advance(30_000)
    assert broker.read("recovery-point-offset-checkpoint") == "0\n1\ntopic-with-dash 0 9\n"
    assert broker.read("log-start-offset-checkpoint") == "0\n1\ntopic-with-dash 0 4\n"
    _fill(log)
    broker.kill()
    log = broker.start().get_or_create_log(T0)
    assert (log.log_start_offset, log.log_end_offset, log.recovery_point) == (4, 12, 9)


def test_a_malformed_checkpoint_counts_as_empty(broker: Broker) -> None:
    _fill(broker.start().get_or_create_log(T0))
    broker.kill()
    (Path(broker.dirs[0]) / "recovery-point-offset-checkpoint").write_text("nonsense")
    log = broker.start().get_log(T0)
    assert log is not None and (log.recovery_point, log.log_end_offset) == (0, 3)


def test_a_malformed_log_start_checkpoint_brings_no_deleted_records_back(broker: Broker) -> None:
    log = broker.start().get_or_create_log(T0)
    _fill(log)
    log.update_high_watermark(3)
    log.maybe_increment_log_start_offset(2)
    broker.manager.shutdown()
    (Path(broker.dirs[0]) / "log-start-offset-checkpoint").write_text("0\n1\ntopic-with-dash 0 two\n")
    with pytest.raises(
        LogDirError,
        match=r"log-start-offset-checkpoint: 'two' is no number .* Restore it .*, or remove it: without it records",
    ):
        broker.start()


MALFORMED_IN_A_PARTITION = {
    "leader-epoch-checkpoint": "0\n1\n0 zero\n",
    "partition.metadata": "version: 0\ntopic_id: x",
}


@pytest.mark.parametrize("name", MALFORMED_IN_A_PARTITION)
def test_a_start_ends_when_the_last_dir_fails_while_it_is_loaded(broker: Broker, name: str) -> None:
    broker.start().get_or_create_log(T0)
    broker.manager.shutdown()
    file = Path(broker.dirs[0]) / "topic-with-dash-0" / name
    file.write_text(MALFORMED_IN_A_PARTITION[name])
    with pytest.raises(LogDirError) as info:
        broker.start()
    assert re.fullmatch(
        f"All log dirs have failed: .*{file}: .* or remove it: .*start the broker again.", str(info.value)
    )


def test_a_start_goes_on_when_one_dir_of_two_fails_while_it_is_loaded(two_dirs: Broker) -> None:
    manager = two_dirs.start()
    logs = [manager.get_or_create_log(name) for name in (T0, T1)]
    manager.shutdown()
    (Path(logs[0].directory) / "leader-epoch-checkpoint").mkdir()
    manager = two_dirs.start()
    assert manager.offline_log_dirs == [logs[0].parent_dir]
    assert (manager.get_log(T0), manager.get_log(T1) is not None) == (None, True)
    manager.check_live()


def test_a_future_log_beside_its_current_log_is_left_alone(two_dirs: Broker, caplog: pytest.LogCaptureFixture) -> None:
    log = two_dirs.start().get_or_create_log(T0)
    other = next(directory for directory in two_dirs.dirs if directory != log.parent_dir)
    two_dirs.manager.shutdown()
    beside, elsewhere = (f"{directory}/topic-with-dash-0.{'0' * 32}-future" for directory in (log.parent_dir, other))
    shutil.copytree(log.directory, beside)
    manager = two_dirs.start()
    assert manager.get_log(T0) is not None and manager.future.get(T0) is None
    assert f"Directory {beside} is left alone" in caplog.text and Path(beside).is_dir()
    manager.shutdown()
    shutil.move(beside, elsewhere)
    future = two_dirs.start().future.get(T0)
    assert future is not None and future.directory == elsewhere


@pytest.mark.parametrize("name", ["foo.log", "12.index", "-0000000000000000001.log", "9" * 20 + ".snapshot"])
def test_a_file_that_is_named_as_no_segment_stops_the_start(broker: Broker, name: str) -> None:
    log = broker.start().get_or_create_log(T0)
    broker.manager.shutdown()
    (Path(log.directory) / name).touch()
    with pytest.raises(LogDirError, match=f"-0 in .* can't be loaded: The file {name} is none .* Move it away"):
        broker.start()


def test_retention_runs_periodically_on_what_is_not_compacted(broker: Broker) -> None:
    broker.topic_configs = {"compacted": {"cleanup.policy": "compact", "retention.ms": "0", "segment.bytes": str(SIZE)}}
    broker.config = log_config(retention_ms=0, segment_bytes=SIZE)
    manager = broker.start()
    logs = [manager.get_or_create_log(TopicPartition(topic, 0)) for topic in ("compacted", "deleted")]
    for log in logs:
        _fill(log, 2)
        log.update_high_watermark(6)
    broker.scheduler.advance(30_000)
    assert [log.log_start_offset for log in logs] == [0, 6]


def test_flush_ms(broker: Broker) -> None:
    broker.config = log_config(flush_ms=5000)
    broker.settings = {"flush_check_ms": 1000, "initial_task_delay_ms": 0}
    log = broker.start().get_or_create_log(T0)
    _fill(log)
    broker.scheduler.advance(4999)
    assert log.recovery_point == 0
    broker.scheduler.advance(1001)
    assert log.recovery_point == 3


def test_idle_producers_are_forgotten(broker: Broker) -> None:
    broker.settings = {"producer_id_expiration_ms": 1000, "producer_id_expiration_check_interval_ms": 500}
    log = broker.start().get_or_create_log(T0)
    log.append_as_leader(batch(producer=(1, 0, 0)), 0)
    broker.scheduler.advance(999)
    assert log.active_producers()
    broker.scheduler.advance(501)
    assert not log.active_producers()


def test_topic_configs_take_effect_on_open_and_new_logs(broker: Broker) -> None:
    manager = broker.start()
    log = manager.get_or_create_log(T0)
    manager.update_topic_config(T0.topic, {"segment.bytes": str(SIZE), "max.message.bytes": str(SIZE)})
    _fill(log, 3)
    assert len(log.segments) == 3
    with pytest.raises(KafkaError):
        log.append_as_leader(batch(values=[b"x"] * 9), 0)
    assert manager.get_or_create_log(T1).config.segment_bytes == SIZE
    assert manager.get_or_create_log(TopicPartition("other", 0)).config.segment_bytes == 1 << 30
    manager.reconfigure_default_config(log_config(retention_ms=5))
    assert (log.config.retention_ms, log.config.segment_bytes) == (5, SIZE)
    manager.update_topic_config(T0.topic, {})
    assert (log.config.retention_ms, log.config.segment_bytes) == (5, 1 << 30)
    assert manager.get_or_create_log(TopicPartition("other", 0)).config.retention_ms == 5


@contextmanager
def at_work(log: Log) -> Iterator[None]:
    """A thread changes the log meanwhile, as where a follower's is truncated."""
    begun, over = threading.Event(), threading.Event()

    def work() -> None:
        with log._local.lock:
            begun.set()
            over.wait()

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_what_is_asked_and_configured_does_not_wait_for_a_thread(broker: Broker) -> None:
    manager = broker.start()
    busy, idle = (manager.get_or_create_log(name) for name in (T0, T1))
    busy.append_as_leader(batch(producer=(7, 0, 0)), 0)
    with at_work(busy):
        assert [state.producer_id for state in busy.active_producers()] == [7]
        manager.update_topic_config(T0.topic, {"retention.ms": "5"})
        manager.reconfigure_default_config(log_config(segment_ms=77))
        manager.update_topic_config(T0.topic, {"retention.ms": "6"})
        assert (busy.config.retention_ms, busy.config.segment_ms) != (6, 77)
        assert (idle.config.retention_ms, idle.config.segment_ms) == (6, 77)
    broker.scheduler.advance(0)
    assert busy.config is idle.config, "the thread is done: what is configured by then"


class Walked(dict[TopicPartition, Log]):
    """A map that counts how often all of it is looked at."""

    walks = 0

    def values(self) -> Any:
        self.walks += 1
        return super().values()


def test_a_topic_s_config_costs_what_the_topic_has(broker: Broker) -> None:
    """Not what all topics have: at a start each topic's config is applied."""
    manager = broker.start()
    topics = [f"topic-{number}" for number in range(20)]
    for topic in topics:
        manager.get_or_create_log(TopicPartition(topic, 0))
    walked = manager.logs = Walked(manager.logs)
    for topic in topics:
        manager.update_topic_config(topic, {"retention.ms": "5"})
    assert walked.walks == 0
    assert {log.config.retention_ms for log in walked.values()} == {5}
    assert len({id(log.config) for log in walked.values()}) == 1, "equal configs are one object"
    manager.async_delete(TopicPartition(topics[0], 0))
    assert manager.logs_by_topic(topics[0]) == []
    assert len(manager.logs_by_topic(topics[1])) == 1


def test_a_failing_dir_goes_offline_alone(two_dirs: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = two_dirs.start()
    logs = [manager.get_or_create_log(TopicPartition("t", number)) for number in range(4)]
    for log in logs:
        _fill(log)
    bad = logs[0].parent_dir

    def broken_disk(fd: int, data: bytes, position: int) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", broken_disk)
        with pytest.raises(KafkaError) as info:
            _fill(logs[0])
    assert info.value.error is Errors.KAFKA_STORAGE_ERROR
    lost = [log.topic_partition for log in logs if log.parent_dir == bad]
    assert two_dirs.failures == [(bad, lost)]
    assert manager.offline_log_dirs == [bad] and not manager.is_log_dir_online(bad)
    for log in logs:
        if log.parent_dir == bad:
            assert manager.get_log(log.topic_partition) is None
            with pytest.raises(KafkaError):
                _fill(log)
        else:
            _fill(log)
            assert manager.get_log(log.topic_partition) is log
    with pytest.raises(KafkaError):
        manager.get_or_create_log(lost[0])
    with pytest.raises(KafkaError):
        manager.async_delete(lost[0])
    assert manager.get_or_create_log(TopicPartition("new", 0), is_new=True).parent_dir != bad
    manager.shutdown()
    clean = [".kafka_cleanshutdown" in two_dirs.names(n) for n in (0, 1)]
    assert clean == [directory != bad for directory in two_dirs.dirs]


def test_a_checkpoint_that_cannot_be_written_takes_its_dir_offline(two_dirs: Broker) -> None:
    manager = two_dirs.start()
    log = manager.get_or_create_log(T0)
    os.makedirs(f"{log.parent_dir}/recovery-point-offset-checkpoint.tmp")
    manager.maintenance.checkpoint_recovery_points()
    assert two_dirs.failures == [(log.parent_dir, [T0])]


def test_truncation_writes_the_recovery_points_down(broker: Broker) -> None:
    manager = broker.start()
    log = manager.get_or_create_log(T0)
    _fill(log, 3)
    log.flush()
    manager.truncate_to({T0: 3, T2: 0})
    assert (log.log_end_offset, broker.read("recovery-point-offset-checkpoint")) == (3, "0\n1\ntopic-with-dash 0 3\n")
    manager.truncate_fully_and_start_at(T0, 70)
    assert (log.log_start_offset, log.log_end_offset) == (70, 70)
    manager.truncate_fully_and_start_at(T0, 1)
    assert broker.read("recovery-point-offset-checkpoint") == "0\n1\ntopic-with-dash 0 1\n"
    manager.truncate_fully_and_start_at(T2, 70)


def test_a_start_that_was_cut_short_leaves_no_clean_marker(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = broker.start()
    manager.get_or_create_log(T0)
    manager.shutdown()
    monkeypatch.setattr(
        "kafkapy.log.manager.log_opener.load_log", lambda *a, **k: (_ for _ in ()).throw(RuntimeError("killed"))
    )
    with pytest.raises(
        LogDirError, match=r"The log of topic-with-dash-0 in .*dir0/topic-with-dash-0 can't be loaded: killed"
    ):
        broker.start()
    assert ".kafka_cleanshutdown" not in broker.names()


class RecordingCleaner:
    """Notes what the manager asks of it."""

    def __init__(self, manager: LogManager) -> None:
        self.manager = manager
        self.calls: list[str] = []

    def pause_cleaning_for_non_compacted_partitions(self) -> list[tuple[TopicPartition, Log]]:
        self.calls.append("pause")
        return [(log.topic_partition, log) for log in self.manager.all_logs() if not log.config.compact]

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append(name)


def test_the_cleaner_is_kept_off_logs_that_change(broker: Broker) -> None:
    broker.make_cleaner = RecordingCleaner
    manager = broker.start()
    cleaner = manager.cleaner
    assert isinstance(cleaner, RecordingCleaner)
    manager.update_topic_config(T0.topic, {"cleanup.policy": "compact"})
    log = manager.get_or_create_log(T0)
    _fill(log)
    log.roll()
    _fill(log)
    manager.truncate_to({T0: 5})
    assert cleaner.calls == ["startup"], "only the active segment is cut"
    manager.truncate_to({T0: 0})
    manager.maintenance.cleanup_logs()
    manager.update_topic_config(T0.topic, {})
    manager.get_or_create_log(T1)
    manager.async_delete(T0)
    manager.async_delete(T1)
    broker.scheduler.advance(100)
    manager.shutdown()
    assert cleaner.calls == [
        "startup",
        "abort_and_pause_cleaning", "maybe_truncate_checkpoint", "resume_cleaning",
        "pause", "resume_cleaning",
        "abort_cleaning",
        "abort_cleaning", "abort_cleaning", "update_checkpoints",
        "shutdown",
    ]  # fmt: skip


def test_the_manager_of_a_broker_follows_its_config(tmp_path: Path) -> None:
    config = KafkaConfig(
        {
            "zookeeper.connect": "unused:2181",
            "log.dirs": f"{tmp_path}/a,{tmp_path}/b",
            "log.retention.ms": "77",
        }
    )
    time = MockTime(NOW)
    manager = LogManager.from_config(config, {"t": {"retention.ms": "5"}}, MockScheduler(time), time)
    manager.startup()
    try:
        assert manager.live_log_dirs == [f"{tmp_path}/a", f"{tmp_path}/b"]
        assert manager.get_or_create_log(TopicPartition("t", 0)).config.retention_ms == 5
        assert manager.get_or_create_log(TopicPartition("u", 0)).config.retention_ms == 77
    finally:
        manager.shutdown()
