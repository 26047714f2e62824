"""The HTTP server: bounded bodies, authentication, CORS, errors, TLS; listeners and users as their configs say."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.threads import deferToThread

from kafkapy.common.config_def import ConfigException
from kafkapy.http.basic_auth import BasicAuth, read_users
from kafkapy.http.content_types import accepted
from kafkapy.http.listeners import parse_listeners
from kafkapy.http.messages import HttpAnswer, HttpRequest, json_answer
from kafkapy.http.server_config import HttpServerConfig
from kafkapy.http.serving import listen
from tests.waiting import HANG_SECONDS

Ask = Callable[..., "Deferred[tuple[int, dict[str, str], bytes]]"]


def echo(request: HttpRequest) -> HttpAnswer:
    if request.path == "/bug":
        raise KeyError("bug")
    return json_answer(
        200, [request.method, request.parts, dict(request.query), len(request.body), request.user], "application/json"
    )


class Server:
    def __init__(self, **properties: str) -> None:
        from twisted.internet import reactor

        named = {"listeners": "http://127.0.0.1:0"} | {
            name.replace("_", "."): value for name, value in properties.items()
        }
        (self._port,) = listen(reactor, HttpServerConfig.of(named, ""), echo, "application/json")
        self.port: int = self._port.getHost().port

    def ask(
        self, method: str, path: str, body: Any = b"", tls: ssl.SSLContext | None = None, **headers: str
    ) -> Deferred[Any]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}

        def send() -> tuple[int, dict[str, str], bytes]:
            connection: http.client.HTTPConnection
            if tls is None:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG_SECONDS)
            else:
                connection = http.client.HTTPSConnection("localhost", self.port, timeout=HANG_SECONDS, context=tls)
            connection.request(method, path, body, named, encode_chunked=not isinstance(body, bytes))
            response = connection.getresponse()
            answer = response.status, {name.lower(): value for name, value in response.headers.items()}, response.read()
            connection.close()
            return answer

        return deferToThread(send)

    def stop(self) -> Any:
        return self._port.stopListening()


def served(**properties: str) -> Callable[[Callable[[Server], Any]], Callable[[], Any]]:
    """A test with a server."""

    def decorate(test: Callable[[Server], Any]) -> Callable[[], Any]:
        @pytest_twisted.ensureDeferred
        async def run() -> None:
            server = Server(**properties)
            try:
                await test(server)
            finally:
                await server.stop()

        run.__name__ = test.__name__
        decorated: Callable[[], Any] = run
        return decorated

    return decorate


@served(kafkapy_max_body_bytes="1000")
async def test_bodies_are_bounded(server: Server) -> None:
    assert (await server.ask("POST", "/a%2Fb/c?x=1&y=", b"x" * 1000))[::2] == (
        200,
        b'["POST",["a/b","c"],{"x":"1","y":""},1000,null]',
    )
    for size in (1001, 5000):
        status, _, body = await server.ask("POST", "/a", b"x" * size)
        assert (status, json.loads(body)["error_code"]) == (413, 413)

    def chunks() -> Iterator[bytes]:
        for _ in range(3):
            yield b"y" * 600

    status, _, body = await server.ask("POST", "/a", chunks(), transfer_encoding="chunked")
    assert status == 413


@served()
async def test_a_bug_is_500_without_a_trace(server: Server) -> None:
    status, _, body = await server.ask("GET", "/bug")
    assert (status, b"KeyError" in body) == (500, False)


@served(access_control_allow_origin="https://one.example", response_http_headers_config="set X-Frame-Options: DENY")
async def test_cors_and_headers(server: Server) -> None:
    _, headers, _ = await server.ask("GET", "/", origin="https://one.example")
    assert headers["access-control-allow-origin"] == "https://one.example"
    assert headers["x-frame-options"] == "DENY"
    _, headers, _ = await server.ask("GET", "/", origin="https://two.example")
    assert "access-control-allow-origin" not in headers
    status, headers, _ = await server.ask(
        "OPTIONS", "/", origin="https://one.example", access_control_request_method="POST"
    )
    assert (status, "POST" in headers["access-control-allow-methods"]) == (204, True)


def basic(name: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"


def test_users(tmp_path: Path) -> None:
    file = tmp_path / "users.properties"
    hashed = hashlib.sha256(b"geheim").hexdigest()
    file.write_text(f"ann: secret,admin\nbob: SHA256:{hashed},reader\n")
    properties = {"authentication.method": "BASIC", "kafkapy.authentication.users.file": str(file)}
    auth = BasicAuth.of(properties)
    assert auth is not None
    assert auth.user(basic("ann", "secret")) == "ann"
    assert auth.user(basic("bob", "geheim")) == "bob"
    for wrong in (None, "Basic !", "Bearer x", basic("ann", "wrong"), basic("eve", ""), basic("bob", hashed)):
        assert auth.user(wrong) is None
    admins = BasicAuth.of(properties | {"authentication.roles": "admin"})
    assert admins is not None
    assert (admins.user(basic("ann", "secret")), admins.user(basic("bob", "geheim"))) == ("ann", None)
    assert BasicAuth.of({}) is None
    for bad in ({"authentication.method": "KERBEROS"}, {"authentication.method": "BASIC"}):
        with pytest.raises(ConfigException, match=r"authentication\.(method|users)"):
            BasicAuth.of(bad)
    file.write_text("ann: OBF:1u2a\n")
    with pytest.raises(ConfigException, match="obfuscated"):
        read_users(file)


@pytest_twisted.ensureDeferred
async def test_authentication(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("ann: secret\n")
    server = Server(
        authentication_method="BASIC", kafkapy_authentication_users_file=str(file), authentication_realm="here"
    )
    try:
        status, headers, _ = await server.ask("GET", "/")
        assert (status, headers["www-authenticate"]) == (401, 'Basic realm="here"')
        status, _, body = await server.ask("GET", "/", authorization=basic("ann", "secret"))
        assert (status, json.loads(body)[-1]) == (200, "ann")
    finally:
        await server.stop()


@pytest_twisted.ensureDeferred
async def test_tls(tmp_path: Path) -> None:
    pem = tmp_path / "server.pem"
    pem.write_bytes(self_signed("localhost"))
    server = Server(listeners="https://127.0.0.1:0", ssl_keystore_type="PEM", ssl_keystore_location=str(pem))
    try:
        context = ssl.create_default_context(cafile=str(pem))
        assert (await server.ask("GET", "/", tls=context))[0] == 200
        context.set_alpn_protocols(["h2", "http/1.1"])  # as curl
        assert (await server.ask("GET", "/", tls=context))[0] == 200
    finally:
        await server.stop()


def self_signed(name: str) -> bytes:
    """Key and certificate in PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain) + certificate.public_bytes(encoding)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://0.0.0.0:8081", ["http://0.0.0.0:8081"]),
        ("https://[::1]:1, http://:2", ["https://[::1]:1", "http://0.0.0.0:2"]),
    ],
)
def test_listeners(text: str, expected: list[str]) -> None:
    assert list(map(str, parse_listeners(text))) == expected


@pytest.mark.parametrize("text", ["", "localhost:80", "http://localhost", "ftp://a:1", "http://a:x", "http://a:1/path"])
def test_what_is_no_listener(text: str) -> None:
    with pytest.raises(ConfigException, match="listeners"):
        parse_listeners(text)


@pytest.mark.parametrize(
    "properties",
    [
        {"listeners": "https://:0"},
        {"listeners": "https://:0", "ssl.keystore.location": "/nowhere.pem", "ssl.keystore.type": "PEM"},
        {"listeners": "https://:0", "ssl.keystore.location": __file__, "ssl.keystore.type": "PEM"},
        {"listeners": "https://:0", "ssl.keystore.location": __file__},
        {"kafkapy.max.body.bytes": "much"},
        {"response.http.headers.config": "X-Header"},
    ],
)
def test_bad_configs(properties: dict[str, str]) -> None:
    with pytest.raises(ConfigException, match=r"ssl\.keystore|nowhere|no PEM|key store password|max\.body|headers"):
        HttpServerConfig.of(properties, "http://:0")


def test_content_types() -> None:
    offered = ("a/one", "a/two")
    assert accepted(None, offered) == "a/one"
    assert accepted("a/two", offered) == "a/two"
    assert accepted("a/one;q=0.1, a/two;q=0.9", offered) == "a/two"
    assert accepted("b/*, */*;q=0.1", offered) == "a/one"
    assert accepted("b/one", offered) is None
    for quality in ("nan", "inf", "1_0", "٣", "-1", "2", "1e3", "x", ""):
        assert accepted(f"a/one;q={quality}, a/two;q=0.001", offered) == "a/two"
