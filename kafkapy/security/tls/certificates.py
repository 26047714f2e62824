"""A certificate authority: for test clusters and for `kafka-cluster-local.sh --secure`.

Not for production: private keys are created by the authority, and nothing is revoked.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkapy.common.extras import need

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

VALID_DAYS: Final = 3650
_BACKDATED = timedelta(hours=1)  # for clocks that differ


class Credential(NamedTuple):
    """A private key and its certificates as PEM text; repr does not show the key."""

    private_key: str
    """PKCS#8, encrypted if a password was given."""
    certificate_chain: str
    """The key's certificate first, the authority's last."""

    def __repr__(self) -> str:
        return "Credential([hidden])"

    @property
    def store(self) -> str:
        """Return key and chain in one text, as for `ssl.keystore.location` with `ssl.keystore.type=PEM`."""
        return self.private_key + self.certificate_chain


class CertificateAuthority:
    """Signs certificates of brokers and clients.

    Example:
        >>> from datetime import datetime, timezone
        >>> authority = CertificateAuthority("CN=kit-ca", datetime.now(timezone.utc))
        >>> authority.issue("CN=broker-0,OU=kafka", ["localhost", "127.0.0.1"]).certificate_chain[:27]
        '-----BEGIN CERTIFICATE-----'
    """

    def __init__(self, name: str, now: datetime, *, valid_days: int = VALID_DAYS, rsa_bits: int | None = None) -> None:
        """
        Parameters:
            name: Its distinguished name (RFC 4514): `CN=my-ca`.
            now: When it begins to be valid, with a time zone; the certificates that it signs, too.
            valid_days: How long all of them are valid.
            rsa_bits: Of RSA keys; None makes keys of the curve P-256, which are faster in every way.

        Raises:
            ValueError: It is no distinguished name.
            MissingExtra: `cryptography` is not installed.
        """
        need("security", "cryptography", by="Making certificates")
        from cryptography import x509

        self._from = now - _BACKDATED
        self._until = now + timedelta(days=valid_days)
        self._rsa_bits = rsa_bits
        self._key = self._new_key()
        self._name = _distinguished_name(name)
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=True), critical=True)
        self._certificate = self._sign(builder)

    @property
    def certificate(self) -> str:
        """Return the authority's certificate as PEM, for a trust store (`ssl.truststore.type=PEM`)."""
        return _pem(self._certificate)

    def issue(self, name: str, hosts: Sequence[str] = (), *, password: str | None = None) -> Credential:
        """A new key and its certificate, which may be a server's and a client's.

        Parameters:
            name: The distinguished name (RFC 4514): the principal, if no rule maps it.
            hosts: Host names and IP addresses at which a server is reached.
            password: Encrypts the key (PBES2, AES-256).

        Raises:
            ValueError: It is no distinguished name, or a host is none.
        """
        from cryptography import x509
        from cryptography.x509.oid import ExtendedKeyUsageOID

        key = self._new_key()
        builder = self._builder(_distinguished_name(name), key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(signs_certificates=False), critical=True)
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if hosts:
            builder = builder.add_extension(x509.SubjectAlternativeName(list(map(_host, hosts))), critical=False)
        return Credential(_key_pem(key, password), _pem(self._sign(builder)) + self.certificate)

    def _builder(self, name: x509.Name, public_key: RSAPublicKey | EllipticCurvePublicKey) -> x509.CertificateBuilder:
        from cryptography import x509

        return (
            x509.CertificateBuilder()
            .issuer_name(self._name)
            .subject_name(name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._from)
            .not_valid_after(self._until)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )

    def _sign(self, builder: x509.CertificateBuilder) -> x509.Certificate:
        from cryptography.hazmat.primitives.hashes import SHA256

        return builder.sign(self._key, SHA256())

    def _new_key(self) -> RSAPrivateKey | EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        if self._rsa_bits is None:
            return ec.generate_private_key(ec.SECP256R1())
        return rsa.generate_private_key(public_exponent=65537, key_size=self._rsa_bits)


def _distinguished_name(text: str) -> x509.Name:
    from cryptography import x509

    try:
        return x509.Name.from_rfc4514_string(text)
    except ValueError:
        raise ValueError(f"{text!r} is no distinguished name; CN=broker-0,OU=kafka is one") from None


def _host(host: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host.encode("idna").decode() if not host.startswith("*.") else host)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    from cryptography import x509

    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: RSAPrivateKey | EllipticCurvePrivateKey, password: str | None) -> str:
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        KeySerializationEncryption,
        NoEncryption,
        PrivateFormat,
    )

    sealed: KeySerializationEncryption = (
        NoEncryption() if password is None else BestAvailableEncryption(password.encode())
    )
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, sealed).decode()
