"""The certificate authority of test clusters."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cryptography.x509 import load_pem_x509_certificate

from kafkapy.security.tls.certificate_fields import certificate_fields
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.security.tls.pem import pem_trust_store
from tests.security.tls.pki import NOW, authority, connected, credential, keys, trust


def test_names_and_hosts() -> None:
    issued = authority().issue("CN=broker-1,OU=kafka", ["localhost", "127.0.0.1", "::1", "*.example.org", "münchen.de"])
    own, of_authority = (each.certificate for each in pem_trust_store(issued.certificate_chain, "x").trusted)
    fields = certificate_fields(own)
    assert str(fields.subject) == "CN=broker-1,OU=kafka"
    assert fields.issuer == certificate_fields(of_authority).subject
    assert fields.key_type == "EC"
    assert [str(each) for each in fields.subject_alt_names] == [
        "[2, localhost]",
        "[7, 127.0.0.1]",
        "[7, ::1]",
        "[2, *.example.org]",
        "[2, xn--mnchen-3ya.de]",
    ]


def test_validity() -> None:
    short = CertificateAuthority("CN=short", NOW, valid_days=1)
    certificate = load_pem_x509_certificate(short.issue("CN=x").certificate_chain.encode())
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=1, hours=1)


def test_an_expired_certificate_is_refused() -> None:
    old = CertificateAuthority("CN=old", NOW - timedelta(days=10), valid_days=5)
    _, client = connected(keys(old.issue("CN=x", ["localhost"])), trust(old))
    assert client.failure is not None
    assert client.failure.alert == "certificate_expired"
    assert "renew it, or check the clocks" in client.failure.sentence


def test_rsa() -> None:
    rsa = CertificateAuthority("CN=rsa-ca", NOW, rsa_bits=2048)
    server, client = connected(
        keys(rsa.issue("CN=rsa", ["localhost"], password="key-secret"), "key-secret"), trust(rsa)
    )
    assert client.peer_name() == "CN=rsa"
    assert server.handshake_complete


def test_keys_are_hidden() -> None:
    issued = credential()
    assert "PRIVATE KEY" in issued.store
    assert repr(issued) == "Credential([hidden])"


def test_a_name_that_is_none() -> None:
    with pytest.raises(ValueError, match="is no distinguished name"):
        authority().issue("broker")
