"""Stores that are replaced while a listener runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.security.tls.certificates import Credential
from kafkapy.security.tls.key_store import KeyStore, TrustedEntry
from kafkapy.security.tls.pem import pem_trust_store
from kafkapy.security.tls.session import TlsSession
from kafkapy.security.tls.ssl_factory import NOT_VERIFIABLE, SslFactory, check_compatible
from kafkapy.security.tls.store_watch import StoreWatch
from tests.security.tls.pki import authority, credential, exchange, keys, trust

BROKER = "CN=broker,OU=kafka,O=kit"
HOSTS = ("localhost", "127.0.0.1")
REFUSED = "Validation of dynamic config update of SSLFactory failed: org.apache.kafka.common.config.ConfigException: "


class Files:
    """A file system of texts with times."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self.times: dict[str, int] = {}
        self.looks = 0
        self.reads = 0

    def put(self, path: str, content: str) -> None:
        self.contents[path] = content.encode()
        self.times[path] = self.times.get(path, 0) + 1

    def stat(self, path: str) -> Any:
        self.looks += 1
        if path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", path)
        return SimpleNamespace(st_mtime_ns=self.times[path], st_size=len(self.contents[path]), st_ino=1)

    def read(self, path: str) -> bytes:
        self.reads += 1
        if path not in self.contents:
            raise FileNotFoundError(2, "No such file or directory", path)
        return self.contents[path]


CONFIGS = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": "keys.pem",
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": "trust.pem",
}


def issued(name: str = BROKER, hosts: tuple[str, ...] = HOSTS) -> Credential:
    return authority().issue(name, hosts)


def watched(**more: Any) -> tuple[Files, StoreWatch]:
    files = Files()
    files.put("keys.pem", issued().store)
    files.put("trust.pem", authority().certificate)
    configs = {**CONFIGS, **{name.replace("_", "."): value for name, value in more.items() if name.startswith("ssl")}}
    verifiable = bool(more.get("verifiable"))
    return files, StoreWatch(configs, verifiable=verifiable, stat=files.stat, read_file=files.read)


def presented(watch: StoreWatch) -> bytes | None:
    server = TlsSession(watch.context, server_side=True)
    client = TlsSession(SslFactory(trust(), server_side=False).context, server_hostname="localhost")
    exchange(server, client)
    return client.peer_certificate()


def test_nothing_has_changed() -> None:
    files, watch = watched()
    reads = files.reads
    context = watch.context
    assert not watch.changed()
    assert not watch.refresh()
    assert files.reads == reads
    assert watch.context is context


def test_a_new_certificate_for_new_connections() -> None:
    files, watch = watched()
    before, context = presented(watch), watch.context
    old = TlsSession(context, server_side=True)
    files.put("keys.pem", issued().store)
    assert watch.changed()
    assert watch.refresh()
    assert not watch.changed()
    assert presented(watch) != before
    assert watch.context is not context
    client = TlsSession(SslFactory(trust(), server_side=False).context, server_hostname="localhost")
    exchange(old, client)
    assert client.peer_certificate() == before


def test_a_touched_file_is_read_again() -> None:
    files, watch = watched()
    files.times["trust.pem"] += 1
    assert watch.refresh()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "Failed to load SSL keystore keys.pem of type PEM: No such file or directory"),
        ("half a file", "keys.pem (ssl.keystore.location): it has no private key"),
        ("dn", "Keystore DistinguishedName does not match:  existing={alias=kafka, DN=CN=broker, OU=kafka, O=kit}, "
               "new={alias=kafka, DN=CN=other, OU=kafka}"),
        ("san", "Keystore SubjectAltNames do not match:  existing={alias=kafka, SAN=[[2, localhost], [7, 127.0.0.1]]}, "
                "new={alias=kafka, SAN=[[2, localhost]]}"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_once(content: str | None, sentence: str) -> None:
    files, watch = watched()
    context = watch.context
    if content is None:
        del files.contents["keys.pem"]
    else:
        made = {
            "dn": lambda: issued("CN=other,OU=kafka").store,
            "san": lambda: issued(hosts=("localhost",)).store,
        }
        files.put("keys.pem", made.get(content, lambda: content)())
    with pytest.raises(ConfigException) as caught:
        watch.refresh()
    assert str(caught.value).startswith(REFUSED + sentence)
    assert not watch.refresh()
    assert watch.context is context
    files.put("keys.pem", issued().store)
    assert watch.refresh()


def test_names_may_be_added_and_spelled_otherwise() -> None:
    files, watch = watched()
    files.put("keys.pem", issued("CN=Broker,OU=kafka,O=Kit", (*HOSTS, "more.example.org")).store)
    assert watch.refresh()


def test_changes_that_are_allowed() -> None:
    files, watch = watched(ssl_allow_dn_changes=True, ssl_allow_san_changes="true")
    files.put("keys.pem", issued("CN=other", ("elsewhere",)).store)
    assert watch.refresh()
    files, watch = watched(ssl_allow_dn_changes=True)
    files.put("keys.pem", issued("CN=other").store)
    assert watch.refresh()
    files.put("keys.pem", issued("CN=other", ("elsewhere",)).store)
    with pytest.raises(ConfigException, match="SubjectAltNames do not match"):
        watch.refresh()


def test_the_number_of_entries() -> None:
    one, two = (pem_trust_store(issued(f"CN={n}").certificate_chain, "x") for n in (1, 2))
    fewer = KeyStore("x", (), (TrustedEntry("kafka0", one.trusted[0].certificate),), ("kafka0",))
    with pytest.raises(ConfigException) as caught:
        check_compatible(fewer, two, allow_dn_changes=False, allow_san_changes=True)
    assert str(caught.value) == (
        "Keystore entries do not match, existing store contains 2 entries, new store contains 1 entries"
    )
    check_compatible(fewer, two, allow_dn_changes=True, allow_san_changes=True)


def test_other_configs() -> None:
    files, watch = watched()
    files.put("new.pem", issued().store)
    new = {**CONFIGS, "ssl.keystore.location": "new.pem"}
    context = watch.context
    watch.validate(new)
    assert watch.context is context
    watch.reconfigure(new)
    assert watch.context is not context
    files.put("keys.pem", "of no interest")
    assert not watch.changed()
    files.put("new.pem", issued().store)
    assert watch.refresh()
    with pytest.raises(ConfigException, match="No such file"):
        watch.reconfigure({**CONFIGS, "ssl.keystore.location": "/missing.pem"})
    assert not watch.changed()


def test_stores_do_not_come_and_go() -> None:
    of_client = SslFactory(trust(), server_side=False)
    with pytest.raises(ConfigException, match="Cannot add SSL keystore to an existing listener"):
        of_client.rebuilt({**trust(), **keys(credential())})
    with_keys = SslFactory(keys(credential()), server_side=False)
    with pytest.raises(ConfigException, match="Cannot remove the SSL keystore from an existing listener"):
        with_keys.rebuilt({})
    with pytest.raises(ConfigException, match="Cannot add SSL truststore to an existing listener"):
        with_keys.rebuilt({**keys(credential()), **trust()})


def test_a_listener_between_brokers_must_trust_itself() -> None:
    files, watch = watched(verifiable=True, ssl_client_auth="required")
    other = authority("CN=other-ca")
    with pytest.raises(ConfigException) as caught:
        SslFactory({**keys(credential()), **trust(other)}, verifiable=True)
    assert str(caught.value) == NOT_VERIFIABLE
    files.put("keys.pem", other.issue(BROKER, HOSTS).store)
    with pytest.raises(ConfigException) as caught:
        watch.refresh()
    assert str(caught.value) == REFUSED + NOT_VERIFIABLE
    files.put("trust.pem", authority().certificate + other.certificate)
    with pytest.raises(ConfigException) as caught:  # brokers that have not changed yet would not trust the new key
        watch.refresh()
    assert str(caught.value) == REFUSED + NOT_VERIFIABLE
    files.put("keys.pem", issued().store)
    assert watch.refresh()
    files.put("keys.pem", other.issue(BROKER, HOSTS).store)
    assert watch.refresh()
    files.put("trust.pem", other.certificate)
    assert watch.refresh()


def test_nothing_secret_in_a_repr() -> None:
    _, watch = watched()
    assert "PRIVATE" not in repr(watch.factory) + repr(watch) + repr(watch.factory.keystore)
