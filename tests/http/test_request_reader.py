"""HTTP/1.1 as a machine: the same requests however the bytes are cut, and nothing that can be understood in two ways."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.http.messages import HttpRequest
from kafkapy.http.request_reader import MAX_HEAD_BYTES, Arrived, BadRequest, RequestReader

POST = b"POST /events/a%20b?x=1&y= HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nX-A:  two words \r\n\r\nhello"
CHUNKED = (
    b"POST /c HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n"
    b"3;name=value\r\nabc\r\n0A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"
)
GET = b"\r\nGET /d HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
UPGRADE = b"POST /u HTTP/1.1\r\nhost: h\r\nconnection: Upgrade\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\nhi"
WITH_BODIES = [
    (("POST", "/events/a%20b", ("events", "a b"), {"x": "1", "y": ""}), b"hello", True),
    (("POST", "/c", ("c",), {}), b"abc0123456789", False),
    (("GET", "/d", ("d",), {}), b"", True),
    (("POST", "/u", ("u",), {}), b"hi", True),
]


def read(*pieces: bytes, max_body_bytes: int = 100) -> list[Arrived]:
    reader = RequestReader(max_body_bytes)
    found = []
    for piece in pieces:
        reader.feed(piece)
        while (arrived := reader.next()) is not None:
            found.append(arrived)
    return found


def seen(found: list[Arrived]) -> list[object]:
    return [(tuple(each.request[:4]), each.request.body, each.keep_alive) for each in found]


@given(st.lists(st.integers(1, 60), max_size=30))
def test_bytes_may_be_cut_anywhere(sizes: list[int]) -> None:
    stream = POST + CHUNKED + GET + UPGRADE
    pieces = []
    for size in sizes:
        pieces.append(stream[:size])
        stream = stream[size:]
    assert seen(read(*pieces, stream)) == WITH_BODIES


def test_headers() -> None:
    (arrived,) = read(POST)
    assert arrived.request == HttpRequest(
        "POST",
        "/events/a%20b",
        ("events", "a b"),
        {"x": "1", "y": ""},
        {"host": "h", "content-length": "5", "x-a": "two words"},
        b"hello",
        query_string="x=1&y=",
    )


HOST = b"host: h\r\n"
BAD = [
    (b"nonsense\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n" + HOST, 400),
    (b"GET /a b HTTP/1.1\r\n" + HOST, 400),
    (b"GET / HTTP/1.1\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST * 2, 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"x : y\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"x: y\r\n folded\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"x: a\nb: c\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 1\r\ncontent-length: 2\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: +1\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 1, 1\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"transfer-encoding: gzip, chunked\r\n", 501),
    (b"POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n", 400),
    (b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 101\r\nexpect: 100-continue\r\n", 413),
]


@pytest.mark.parametrize(("head", "status"), BAD)
def test_what_is_refused(head: bytes, status: int) -> None:
    with pytest.raises(BadRequest) as refused:
        read(head + b"\r\n")
    assert refused.value.status == status


@pytest.mark.parametrize(
    "body", [b"x\r\n", b"\r\n", b"-1\r\n", b"3\r\nabcd\r\n", b"3 \nabc", b"0" * MAX_HEAD_BYTES + b"00"]
)
def test_what_is_no_chunk(body: bytes) -> None:
    with pytest.raises(BadRequest):
        read(b"POST / HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n" + body + b"\r\n")


def test_heads_are_bounded() -> None:
    for end in (b"", b"\r\n\r\n"):
        with pytest.raises(BadRequest) as refused:
            read(b"GET / HTTP/1.1\r\nx: " + b"y" * MAX_HEAD_BYTES + end)
        assert refused.value.status == 431


def test_of_bodies_that_are_too_large_nothing_is_kept_and_no_end_is_waited_for() -> None:
    head = b"POST / HTTP/1.1\r\n" + HOST
    sized = head + b"content-length: 150\r\n\r\n"
    (arrived, after) = read(sized, b"x" * 150, GET)
    assert (arrived.too_large, arrived.request.body, after.too_large) == (True, b"", False)
    (arrived,) = read(
        head + b"transfer-encoding: chunked\r\n\r\n" + b"64\r\n" + b"x" * 100 + b"\r\n1\r\ny\r\n0\r\n\r\n"
    )
    assert arrived.too_large
    with pytest.raises(BadRequest) as refused:
        read(head + b"content-length: 100000\r\n\r\n", *[b"x" * 100] * 9)
    assert refused.value.status == 413


def test_who_waits_for_continue() -> None:
    reader = RequestReader(100)
    reader.feed(b"POST / HTTP/1.1\r\n" + HOST + b"content-length: 2\r\nexpect: 100-continue\r\n\r\n")
    assert reader.next() is None
    assert reader.awaits_continue
    reader.feed(b"ok")
    arrived = reader.next()
    assert arrived is not None
    assert (arrived.request.body, reader.awaits_continue) == (b"ok", False)
