from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.properties import dump, load, load_file


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
        (r"a=shop-\ud83d\ude80", {"a": "shop-\U0001f680"}),
        (r"a=\uD83D\uDE80\uD83D\uDE80", {"a": "\U0001f680" * 2}),
        ("a=\\uD8\\\n  3D\\uDE80", {"a": "\U0001f680"}),
        (r"\ud83d\ude80=k", {"\U0001f680": "k"}),
        (r"a=\ud83d", {"a": "?"}),
        (r"a=\ude80\ud83d", {"a": "??"}),
        (r"a=\ud83dx\ude80", {"a": "?x?"}),
        (r"a=\ud83d\ud83d\ude80", {"a": "?\U0001f680"}),
        ("a\fb", {"a": "b"}),
        ("a=b\\\f c", {"a": "b\f c"}),
        ("a\vb=c\x85d", {"a\vb": "c\x85d"}),
        ("a\\\n=b", {"a": "b"}),
        ("#a\\\nb=c", {"b": "c"}),
        ("\\\n# a comment\na=1", {"a": "1"}),
        ("a=x\\\n\n b=2", {"a": "x", "b": "2"}),
        (r"a=\x41\0", {"a": "x410"}),
        ("=v", {"": "v"}),
    ],
)
def test_properties_are_read_as_java_reads_them(text: str, expected: dict[str, str]) -> None:
    assert load(text) == expected


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"))))
def test_what_is_written_is_read_back(properties: dict[str, str]) -> None:
    text = dump(properties)
    assert text.isascii()
    assert load(text) == properties


def test_what_is_written_is_for_people_where_it_can_be() -> None:
    assert dump({"log.dirs": "/srv/jörg \U0001f680", "port": 9092, "url": "http://h:1/?a=b"}) == (
        "log.dirs=/srv/j\\u00f6rg \\ud83d\\ude80\nport=9092\nurl=http://h:1/?a=b\n"
    )


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
