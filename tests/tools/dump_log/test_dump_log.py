"""kafka-dump-log on files that Apache Kafka wrote; the expected output is that of Apache's tool."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest

from kafkapy.record.compression import CompressionType
from kafkapy.record.records_builder import MemoryRecordsBuilder
from kafkapy.tools.dump_log import dump_log

DUMPS = Path(__file__).parents[1] / "data" / "dumps"
LOGS = Path(__file__).parents[2] / "log" / "data"
FIRST, SECOND = "00000000000000000000", "00000000000000000001"

FILES = {
    "d-none-0": {f"{FIRST}.log": LOGS / "d-none-0" / f"{FIRST}.log"},
    "d-idem-0": {f"{FIRST}.log": LOGS / "d-idem-0" / f"{FIRST}.log"},
    "d-txn-0": {f"{SECOND}{s}": LOGS / "d-txn-0" / f"{SECOND}{s}" for s in (".log", ".txnindex", ".snapshot")},
    "d-idx-0": {
        f"{FIRST}.index": LOGS / "d-idx-0" / "index.first24",
        f"{FIRST}.timeindex": LOGS / "d-idx-0" / "timeindex.first36",
        f"{FIRST}.log": LOGS / "d-idx-0" / f"{FIRST}.log",
    },
    "offsets": {f"{FIRST}.log": DUMPS / "consumer-offsets.log"},
    "transactions": {f"{FIRST}.log": DUMPS / "transaction-state.log"},
}


@pytest.fixture
def segment(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A copy of one of FILES."""
    for name, source in FILES[request.param].items():
        shutil.copy(source, tmp_path / name)
    return tmp_path


def dump(directory: Path, *names: str, options: str = "") -> int:
    files = ",".join(str(directory / name) for name in names)
    return dump_log.main(["--files", files, *options.split()])


@pytest.mark.parametrize(
    ("segment", "suffixes", "options", "golden"),
    [
        ("d-none-0", [".log"], "--print-data-log", "none"),
        ("d-idem-0", [".log"], "", "idempotent"),
        ("d-txn-0", [".log", ".txnindex", ".snapshot"], "--deep-iteration", "transaction"),
        ("d-idx-0", [".index", ".timeindex"], "", "indexes"),
        ("offsets", [".log"], "--offsets-decoder", "offsets"),
        ("transactions", [".log"], "--transaction-log-decoder", "transactions"),
    ],
    indirect=["segment"],
)
def test_apaches_output(
    segment: Path, suffixes: list[str], options: str, golden: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = SECOND if golden == "transaction" else FIRST
    assert dump(segment, *(base + suffix for suffix in suffixes), options=options) == 0
    printed = capsys.readouterr().out.replace(str(segment), "DIR").splitlines()
    expected = (DUMPS / f"{golden}.out").read_text().splitlines()
    # The partitions of a transaction come out of a Java HashSet.
    assert [sorted(line.split(",")) for line in map(_without_brackets, printed)] == [
        sorted(line.split(",")) for line in map(_without_brackets, expected)
    ]


def _without_brackets(line: str) -> str:
    return line.replace("partitions=[", "partitions=,").replace("],txn", ",txn") if "partitions=[" in line else line


@pytest.mark.parametrize("segment", ["d-idx-0"], indirect=True)
class TestIndexes:
    def test_sanity_check(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.index", f"{FIRST}.timeindex", options="--index-sanity-check") == 0
        assert capsys.readouterr().out.count("passed sanity check.") == 2

    def test_verify_only_prints_no_entries(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.index", f"{FIRST}.timeindex", options="--verify-index-only") == 0
        assert "offset:" not in capsys.readouterr().out

    def test_zeros_at_the_end_are_no_entries(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        with open(segment / f"{FIRST}.index", "ab") as file:
            file.write(bytes(80))
        assert dump(segment, f"{FIRST}.index") == 0
        assert capsys.readouterr().out.count("offset:") == 2

    def test_a_preallocated_index_is_empty(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (segment / f"{FIRST}.index").write_bytes(bytes(800))
        assert dump(segment, f"{FIRST}.index") == 0
        assert capsys.readouterr().out.endswith("is empty.\n")

    def test_an_entry_that_points_to_another_batch(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (segment / f"{FIRST}.index").write_bytes(struct.pack(">ii", 1, 6140))
        assert dump(segment, f"{FIRST}.index") == 1
        assert "  Index offset: 1, log offset: 2" in capsys.readouterr().err

    def test_an_entry_that_points_into_nothing(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (segment / f"{FIRST}.index").write_bytes(struct.pack(">ii", 1, 99_999))
        assert dump(segment, f"{FIRST}.index") == 1
        assert "no whole batch at position 99999, where offset 1 should be" in capsys.readouterr().err

    def test_a_batch_larger_than_max_message_size(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.index", options="--max-message-size 100") == 1
        assert "no whole batch at position 6140" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("entries", "sentence"),
        [
            ([(1_800_000_000_021, 2)], "  Index timestamp: 1800000000021, log timestamp: 1800000000020"),
            ([(1_800_000_000_020, 99)], "Indexed offset: 99, found log offset: -1"),
            (
                [(1_800_000_000_030, 3), (1_800_000_000_020, 2)],
                "  Index timestamp: 1800000000020, Previously indexed timestamp: 1800000000030",
            ),
        ],
    )
    def test_a_time_index_that_is_wrong(
        self, segment: Path, entries: list[tuple[int, int]], sentence: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (segment / f"{FIRST}.timeindex").write_bytes(b"".join(struct.pack(">qi", *entry) for entry in entries))
        assert dump(segment, f"{FIRST}.timeindex") == 1
        assert sentence in capsys.readouterr().err.splitlines()

    def test_indexes_that_do_not_ascend_fail_the_sanity_check(
        self, segment: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (segment / f"{FIRST}.index").write_bytes(struct.pack(">iiii", 5, 100, 4, 200))
        assert dump(segment, f"{FIRST}.index", options="--index-sanity-check") == 1
        assert "Corrupt index found" in capsys.readouterr().err

    def test_a_torn_entry(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (segment / f"{FIRST}.index").write_bytes(bytes(9))
        assert dump(segment, f"{FIRST}.index", options="--index-sanity-check") == 1
        assert "is corrupt, found 9 bytes" in capsys.readouterr().err


@pytest.mark.parametrize("segment", ["d-none-0"], indirect=True)
class TestLogs:
    def test_without_record_metadata(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.log", options="--print-data-log --skip-record-metadata") == 0
        assert capsys.readouterr().out.splitlines()[3:] == [
            "| key: k0 payload: value-0",
            " payload: value-1",  # as Kafka's: the bar belongs to what comes before the payload
            "| key: k2 payload: value-2",
        ]

    def test_a_torn_end(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = segment / f"{FIRST}.log"
        log.write_bytes(log.read_bytes() * 2 + b"\0" * 16)
        assert dump(segment, log.name) == 0
        assert capsys.readouterr().out.endswith(f"Found 16 invalid bytes at the end of {log.name}\n")

    def test_garbage_at_the_end(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = segment / f"{FIRST}.log"
        log.write_bytes(log.read_bytes() + b"\0" * 100)
        assert dump(segment, log.name) == 1
        printed = capsys.readouterr()
        assert "baseOffset: 0 lastOffset: 2" in printed.out
        assert f"{log} cannot be read from position 112 on" in printed.err

    def test_a_wrong_crc(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = segment / f"{FIRST}.log"
        content = bytearray(log.read_bytes())
        content[-1] ^= 1
        log.write_bytes(content)
        assert dump(segment, log.name) == 0
        assert capsys.readouterr().out.endswith("isvalid: false\n")

    def test_offsets_with_a_gap(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = segment / f"{FIRST}.log"
        content = log.read_bytes()
        log.write_bytes(content + struct.pack(">q", 7) + content[8:])
        assert dump(segment, log.name, options="--deep-iteration") == 1
        assert "  2 is followed by 7" in capsys.readouterr().err.splitlines()

    def test_max_bytes_reads_whole_batches_only(self, segment: Path, capsys: pytest.CaptureFixture[str]) -> None:
        log = segment / f"{FIRST}.log"
        log.write_bytes(log.read_bytes() * 2)
        assert dump(segment, log.name, options="--max-bytes 150") == 0
        printed = capsys.readouterr().out
        assert printed.count("baseOffset") == 1
        assert "invalid bytes" not in printed

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ("--value-decoder-class org.apache.kafka.tools.api.DefaultDecoder", "payload: 76616c75652d30"),
            ("--value-decoder-class kafka.serializer.StringDecoder", "payload: value-0"),
            ("--key-decoder-class", "key: k0"),
        ],
    )
    def test_decoders(self, segment: Path, options: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.log", options=options) == 0
        assert text in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "sentence"),
        [
            ("--value-decoder-class foo.Bar", "The decoder class foo.Bar is not known here."),
            ("--value-decoder-class org.apache.kafka.tools.api.LongDecoder", "is 7 bytes, not 8"),
            ("--transaction-log-decoder", "is none of a transaction log"),
            ("--cluster-metadata-decoder", "--cluster-metadata-decoder is not supported"),
        ],
    )
    def test_refusals(self, segment: Path, options: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert dump(segment, f"{FIRST}.log", options=options) == 1
        error = capsys.readouterr().err
        assert sentence in error
        assert error.count("\n") == 1

    def test_what_is_no_offsets_record_is_told_and_skipped(
        self, segment: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert dump(segment, f"{FIRST}.log", options="--offsets-decoder") == 1  # the second record has no key
        assert "key: Unknown record type 27440 at offset 0, skipping." in capsys.readouterr().out


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_old_formats(magic: int, codec: CompressionType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = MemoryRecordsBuilder(magic=magic, compression_type=codec)
    builder.append(-1 if magic == 0 else 1000, b"k", b"v")
    (tmp_path / f"{FIRST}.log").write_bytes(builder.build())
    assert dump(tmp_path, f"{FIRST}.log", options="--print-data-log") == 0
    batch, record = capsys.readouterr().out.splitlines()[2:]
    assert batch.startswith("offset: 0 position: 0 ")
    assert f"magic: {magic} compresscodec: {codec.text} " in batch
    assert "keySize: 1 valueSize: 1 isValid: true crc: " in record
    assert record.endswith("} key: k payload: v")


def test_files_of_other_kinds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "leader-epoch-checkpoint").write_text("0\n0\n")
    (tmp_path / f"{FIRST}.snapshot").write_bytes(b"\0\1torn")
    names = ("leader-epoch-checkpoint", f"{FIRST}.snapshot", "nope.log", f"{FIRST}.log")
    assert dump(tmp_path, *names) == 1
    ignored, torn, nope, missing = capsys.readouterr().err.splitlines()
    assert ignored == f"Ignoring unknown file {tmp_path}/leader-epoch-checkpoint"
    assert "is corrupt" in torn
    assert "its name does not begin with an offset" in nope
    assert missing == f"{tmp_path}/{FIRST}.log: No such file or directory"
