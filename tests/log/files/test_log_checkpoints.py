"""Checkpoints and the other small files: their bytes, and what is not accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common import uuid
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import (
    BrokerMetadata,
    BrokerMetadataCheckpoint,
    CleanShutdownFile,
    LeaderEpochCheckpointFile,
    MalformedFileError,
    OffsetCheckpointFile,
    PartitionMetadataFile,
    write_atomically,
)


def test_offset_checkpoint_format(tmp_path: Path) -> None:
    file = OffsetCheckpointFile(f"{tmp_path}/recovery-point-offset-checkpoint")
    offsets = {TopicPartition("__consumer_offsets", 0): 29, TopicPartition("a-b.c", 12): 0}
    file.write(offsets)
    assert Path(file.path).read_text() == "0\n2\n__consumer_offsets 0 29\na-b.c 12 0\n"
    assert file.read() == offsets
    assert [path.name for path in tmp_path.iterdir()] == ["recovery-point-offset-checkpoint"]


def test_a_missing_or_empty_checkpoint_has_no_entries(tmp_path: Path) -> None:
    assert OffsetCheckpointFile(f"{tmp_path}/none").read() == {}
    (tmp_path / "empty").write_bytes(b"")
    assert OffsetCheckpointFile(f"{tmp_path}/empty").read() == {}


@pytest.mark.parametrize(
    "content",
    [
        "1\n0\n",
        "0\n",
        "x\n0\n",
        "0\n2\na 0 1\n",
        "0\n1\na 0\n",
        "0\n1\na 0 1 2\n",
        "0\n0\na 0 1\n",
        "0\n1\na 0 b\n",
        "\xff",
        "0\n1\na 0 1_0\n",
        "0\n1\na 0 -1\n",
        "0\n1\na 4294967296 1\n",
        "0\n1\na 0 9223372036854775808\n",
    ],
)
def test_a_malformed_checkpoint_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "file").write_bytes(content.encode("latin-1"))
    with pytest.raises(MalformedFileError, match="Malformed checkpoint file"):
        OffsetCheckpointFile(f"{tmp_path}/file").read()


def test_leader_epoch_checkpoint_format(tmp_path: Path) -> None:
    file = LeaderEpochCheckpointFile(str(tmp_path))
    file.write([(0, 0), (3, 17)], sync=False)
    assert Path(file.path).read_text() == "0\n2\n0 0\n3 17\n"
    assert file.read() == [(0, 0), (3, 17)]
    file.write([])
    assert Path(file.path).read_text() == "0\n0\n"


def test_clean_shutdown_file(tmp_path: Path) -> None:
    file = CleanShutdownFile(str(tmp_path))
    assert not file.exists()
    assert file.read() is None
    file.write()
    assert (tmp_path / ".kafka_cleanshutdown").read_text() == '{"version":0,"brokerEpoch":-1}'
    file.write(7)
    assert file.exists() and file.read() == 7
    (tmp_path / ".kafka_cleanshutdown").write_text("")
    assert file.exists() and file.read() is None, "older brokers left it empty"
    file.delete()
    file.delete()
    assert not file.exists()


def test_partition_metadata_format(tmp_path: Path) -> None:
    file = PartitionMetadataFile(str(tmp_path))
    assert file.read() is None
    topic_id = uuid.from_string("k-ceO9NgS7mKa9R5XVpq0A")
    file.write(topic_id)
    assert (tmp_path / "partition.metadata").read_bytes() == b"version: 0\ntopic_id: k-ceO9NgS7mKa9R5XVpq0A"
    assert file.read() == topic_id


def test_partition_metadata_left_empty_by_a_crash_of_the_machine_is_none(tmp_path: Path) -> None:
    (tmp_path / "partition.metadata").write_text("")
    assert PartitionMetadataFile(str(tmp_path)).read() is None


@pytest.mark.parametrize(
    "content", ["version: 1\ntopic_id: k-ceO9NgS7mKa9R5XVpq0A", "version: 0\ntopic_id: x", "version: 0"]
)
def test_malformed_partition_metadata_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "partition.metadata").write_text(content)
    with pytest.raises(MalformedFileError):
        PartitionMetadataFile(str(tmp_path)).read()


def test_meta_properties(tmp_path: Path) -> None:
    checkpoint = BrokerMetadataCheckpoint(str(tmp_path))
    assert checkpoint.read() is None
    checkpoint.write(BrokerMetadata(broker_id=1, cluster_id="3Db5QLSqSZieL3rJBUUegA"))
    lines = (tmp_path / "meta.properties").read_text().splitlines()
    assert lines[0] == "#" and lines[1].startswith("#")
    assert sorted(lines[2:]) == ["broker.id=1", "cluster.id=3Db5QLSqSZieL3rJBUUegA", "version=0"]
    assert checkpoint.read() == BrokerMetadata(1, "3Db5QLSqSZieL3rJBUUegA", 0)


def test_meta_properties_of_a_migrating_broker(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("#\nnode.id=3\ndirectory.id=abc\nversion=1\ncluster.id=x\\=y\n")
    read = BrokerMetadataCheckpoint(str(tmp_path)).read()
    assert read == BrokerMetadata(3, "x=y", 1, "abc")


def test_meta_properties_with_a_wrong_number_are_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("broker.id=one\n")
    with pytest.raises(MalformedFileError):
        BrokerMetadataCheckpoint(str(tmp_path)).read()


def test_a_stale_temporary_file_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file.tmp").write_bytes(b"a longer left-over of a crash")
    write_atomically(f"{tmp_path}/file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
