from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.properties import load, load_file


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", {"a": "b"}),
        ("  a = b  ", {"a": "b  "}),
        ("a:b", {"a": "b"}),
        ("a b c", {"a": "b c"}),
        ("a", {"a": ""}),
        ("a==b", {"a": "=b"}),
        ("a = = b", {"a": "= b"}),
        ("# x\n! y\n\na=1", {"a": "1"}),
        ("a=1\\\n   2,\\\n3", {"a": "12,3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=x\\\n# no comment", {"a": "x# no comment"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        (r"a=\u00e9\t\n\q", {"a": "é\t\nq"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=1\na=2", {"a": "2"}),
        ("listeners=PLAINTEXT://:9092", {"listeners": "PLAINTEXT://:9092"}),
        ("a=end\\", {"a": "end"}),
        ("", {}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert load(text) == expected


def test_a_broken_unicode_escape_is_refused() -> None:
    with pytest.raises(ValueError, match="Malformed"):
        load(r"a=\u12")


def test_a_file_is_latin_1_and_named_when_it_is_malformed(tmp_path: Path) -> None:
    file = tmp_path / "x.properties"
    file.write_bytes(b"a=\xe9")
    assert load_file(file) == {"a": "é"}
    file.write_bytes(b"a=\\u1")
    with pytest.raises(ValueError, match=r"x\.properties"):
        load_file(file)


def test_the_shipped_server_properties_can_be_read() -> None:
    file = Path(__file__).parents[2] / "config" / "server.properties"
    assert load_file(file)["zookeeper.connect"] == "localhost:2181"
