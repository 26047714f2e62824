"""`kafkapy.connect.runtime`: offsets in a file, their writer and reader, and two stores behind each other."""

from __future__ import annotations

import stat
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from pathlib import Path

import pytest

from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.runtime.connector_offset_store import ConnectorOffsetStore
from kafkapy.connect.runtime.file_offset_store import FileOffsetStore
from kafkapy.connect.runtime.offset_storage import OffsetStorageWriter, StoredOffsetReader, validate_format
from kafkapy.connect.storage import SetCallback

PARTITION = {"filename": "a.txt"}
KEY = b'["lines",{"filename":"a.txt"}]'


class HeldStore:
    """Keeps writes and reads until the test lets them go."""

    def __init__(self) -> None:
        self.data: dict[bytes, bytes | None] = {}
        self.writes: list[tuple[dict[bytes, bytes | None], SetCallback | None, Future[None]]] = []
        self.reads: list[Future[dict[bytes, bytes | None]]] = []
        self.holds = True
        self.partitions: list[dict[str, object]] = []

    def start(self) -> None:
        pass

    def stop(self) -> None:
        pass

    def get(self, keys: Collection[bytes]) -> Future[dict[bytes, bytes | None]]:
        found: Future[dict[bytes, bytes | None]] = Future()
        self.reads.append(found)
        if not self.holds:
            found.set_result({key: self.data.get(key) for key in keys})
        return found

    def set(self, values: Mapping[bytes, bytes | None], callback: SetCallback | None = None) -> Future[None]:
        written: Future[None] = Future()
        self.writes.append((dict(values), callback, written))
        if not self.holds:
            self.finish()
        return written

    def finish(self, error: BaseException | None = None) -> None:
        values, callback, written = self.writes[-1]
        if error is None:
            self.data.update(values)
            written.set_result(None)
        else:
            written.set_exception(error)
        if callback is not None:
            callback(error)

    def connector_partitions(self, connector: str) -> list[dict[str, object]]:
        return self.partitions


def flushed(writer: OffsetStorageWriter) -> list[BaseException | None]:
    told: list[BaseException | None] = []
    writer.flush(told.append)
    return told


class TestFile:
    def test_offsets_are_there_after_a_start(self, tmp_path: Path) -> None:
        file = tmp_path / "offsets"
        FileOffsetStore(file).set({KEY: b'{"position":5}'}).result()
        again = FileOffsetStore(file)
        again.start()
        assert again.get([KEY, b"other"]).result() == {KEY: b'{"position":5}', b"other": None}
        assert again.connector_partitions("lines") == [PARTITION]
        assert [path.name for path in tmp_path.iterdir()] == ["offsets"]

    def test_a_partition_without_an_offset_is_not_listed(self, tmp_path: Path) -> None:
        store = FileOffsetStore(tmp_path / "offsets")
        store.set({KEY: b'{"position":5}'})
        store.set({KEY: None})
        assert store.connector_partitions("lines") == []

    def test_the_mode_of_the_file_stays(self, tmp_path: Path) -> None:
        file = tmp_path / "offsets"
        file.touch(0o640)
        FileOffsetStore(file).set({KEY: b"{}"}).result()
        assert stat.S_IMODE(file.stat().st_mode) == 0o640

    def test_a_file_of_another_kind_is_refused_and_kept(self, tmp_path: Path) -> None:
        file = tmp_path / "offsets"
        file.write_bytes(b"my thesis")
        with pytest.raises(ConnectException, match="cannot be read"):
            FileOffsetStore(file).start()
        assert file.read_bytes() == b"my thesis"

    def test_a_write_that_fails_is_told(self, tmp_path: Path) -> None:
        told: list[BaseException | None] = []
        written = FileOffsetStore(tmp_path / "none" / "offsets").set({KEY: b"{}"}, told.append)
        assert isinstance(written.exception(), ConnectException) and isinstance(told[0], ConnectException)


class TestWriter:
    def test_the_newest_offset_of_a_partition_is_written(self) -> None:
        store = HeldStore()
        writer = OffsetStorageWriter(store, "lines")
        writer.offset({"filename": "a.txt"}, {"position": 1})
        writer.offset({"filename": "a.txt"}, {"position": 2})
        assert writer.begin_flush()
        told = flushed(writer)
        store.finish()
        assert told == [None] and store.data == {KEY: b'{"position":2}'}
        assert not writer.begin_flush()

    def test_a_failed_flush_gives_its_offsets_back_behind_newer_ones(self) -> None:
        store = HeldStore()
        writer = OffsetStorageWriter(store, "lines")
        writer.offset(PARTITION, {"position": 1})
        writer.offset({"filename": "b.txt"}, {"position": 1})
        writer.begin_flush()
        flushed(writer)
        writer.offset(PARTITION, {"position": 2})
        store.finish(ConnectException("no"))
        assert writer.begin_flush()
        flushed(writer)
        store.finish()
        assert sorted(store.data.values(), key=str) == [b'{"position":1}', b'{"position":2}']
        assert store.data[KEY] == b'{"position":2}'

    def test_the_late_end_of_a_cancelled_flush_is_not_told(self) -> None:
        store = HeldStore()
        writer = OffsetStorageWriter(store, "lines")
        writer.offset(PARTITION, {"position": 1})
        writer.begin_flush()
        told = flushed(writer)
        writer.cancel_flush()
        store.finish()
        assert told == [] and writer.begin_flush()

    def test_a_flush_waits_for_the_one_before_it(self) -> None:
        writer = OffsetStorageWriter(HeldStore(), "lines")
        writer.offset(PARTITION, {"position": 1})
        writer.begin_flush()
        with pytest.raises(TimeoutError):
            writer.begin_flush(1)

    def test_an_offset_that_is_no_map_of_primitives_is_told(self) -> None:
        writer = OffsetStorageWriter(HeldStore(), "lines")
        writer.offset(PARTITION, {"position": [1]})
        writer.begin_flush()
        told: list[BaseException | None] = []
        assert writer.flush(told.append) is None
        assert isinstance(told[0], DataException) and "but field position contains ARRAY" in str(told[0])


class TestReader:
    def test_offsets_come_in_the_order_of_the_partitions(self) -> None:
        store = HeldStore()
        store.holds, store.data = False, {KEY: b'{"position":7}'}
        reader = StoredOffsetReader(store, "lines")
        assert reader.offsets([{"filename": "b"}, PARTITION]) == [None, {"position": 7}]

    def test_an_offset_that_cannot_be_read_counts_as_missing(self) -> None:
        store = HeldStore()
        store.holds, store.data = False, {KEY: b'{"position":'}
        assert StoredOffsetReader(store, "lines").offset(PARTITION) is None

    def test_a_closed_reader_raises(self) -> None:
        reader = StoredOffsetReader(HeldStore(), "lines")
        reader.close()
        with pytest.raises(ConnectException, match="Failed to fetch offsets"):
            reader.offset(PARTITION)


@pytest.mark.parametrize("value", [[1], {1: "a"}, {"a": {}}, {"a": object()}])
def test_offsets_are_maps_from_texts_to_primitives(value: object) -> None:
    with pytest.raises(DataException):
        validate_format(value)


class TestTwoStores:
    def test_the_connectors_own_offset_goes_first(self) -> None:
        worker, own = HeldStore(), HeldStore()
        worker.holds = own.holds = False
        worker.data, own.data = {b"a": b"1", b"b": b"1"}, {b"b": b"2"}
        found = ConnectorOffsetStore(worker, own, "own").get([b"a", b"b"]).result(5)
        assert found == {b"a": b"1", b"b": b"2"}

    def test_the_worker_gets_a_copy_after_the_connectors_store_has_it(self) -> None:
        worker, own = HeldStore(), HeldStore()
        told: list[BaseException | None] = []
        ConnectorOffsetStore(worker, own, "own").set({b"a": b"1"}, told.append)
        assert worker.writes == []
        own.finish()
        assert told == [None] and worker.writes[0][0] == {b"a": b"1"}

    def test_a_tombstone_is_in_the_workers_store_first(self) -> None:
        worker, own = HeldStore(), HeldStore()
        done = ConnectorOffsetStore(worker, own, "own").set({b"a": b"1", b"b": None})
        assert worker.writes[0][0] == {b"b": None} and own.writes == []
        worker.finish()
        own.finish()
        assert done.result(5) is None and own.data == {b"a": b"1", b"b": None}
        assert worker.writes[1][0] == {b"a": b"1"}

    def test_a_cancel_reaches_both_reads(self) -> None:
        worker, own = HeldStore(), HeldStore()
        read = ConnectorOffsetStore(worker, own, "own").get([b"a"])
        assert read.cancel() and worker.reads[0].cancelled() and own.reads[0].cancelled()

    def test_partitions_of_both_are_listed_once(self) -> None:
        worker, own = HeldStore(), HeldStore()
        worker.partitions, own.partitions = [{"f": "a"}, {"f": "b"}], [{"f": "b"}]
        assert ConnectorOffsetStore(worker, own, "own").connector_partitions("lines") == [{"f": "a"}, {"f": "b"}]
