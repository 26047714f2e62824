"""Password-based encryption of keys and stores: PBES1, PBES2 (PKCS#5, RFC 8018), and PKCS#12's own (RFC 7292)."""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, NamedTuple

from kafkapy.common.extras import need
from kafkapy.security.tls.der import INTEGER, OCTET_STRING, DerError, DerValue, expect, fields_of
from kafkapy.security.tls.rc2 import rc2_cbc_decrypt, rc4

MAX_ITERATIONS: Final = 10_000_000
"""Some seconds; keytool's default is 10,000."""
_MAX_SCRYPT_BYTES = 256 << 20

_PBES2 = "1.2.840.113549.1.5.13"
_PBKDF2 = "1.2.840.113549.1.5.12"
_SCRYPT = "1.3.6.1.4.1.11591.4.11"
_PRFS = {
    "1.2.840.113549.2.7": "sha1",
    "1.2.840.113549.2.8": "sha224",
    "1.2.840.113549.2.9": "sha256",
    "1.2.840.113549.2.10": "sha384",
    "1.2.840.113549.2.11": "sha512",
}


class PbeError(ValueError):
    """Encrypted data cannot be decrypted: an unknown algorithm, or parameters out of bounds."""


class WrongPasswordError(PbeError):
    """The password is wrong, or the encrypted data is damaged, which cannot be distinguished."""


class _Cipher(NamedTuple):
    name: str
    """`aes`, `des`, `3des`, `rc2` or `rc4`."""
    key_bytes: int
    effective_bits: int = 0

    @property
    def iv_bytes(self) -> int:
        return {"aes": 16, "rc4": 0}.get(self.name, 8)

    def decrypt(self, key: bytes, iv: bytes, ciphertext: bytes) -> bytes:
        """Decrypt without removing padding. Raises WrongPasswordError."""
        if self.name == "rc4":
            return rc4(key, ciphertext)
        block = self.iv_bytes
        if not ciphertext or len(ciphertext) % block or len(iv) != block:
            raise PbeError("the ciphertext is no whole number of blocks")
        if self.name == "rc2":
            plain = rc2_cbc_decrypt(key, iv, ciphertext, self.effective_bits)
        else:
            plain = _block_cipher(self.name, key, iv, ciphertext)
        padding = plain[-1]
        if not 0 < padding <= block or plain[-padding:] != bytes((padding,)) * padding:
            raise WrongPasswordError("the password is wrong")
        return plain[:-padding]


_PBES2_CIPHERS = {
    "2.16.840.1.101.3.4.1.2": _Cipher("aes", 16),
    "2.16.840.1.101.3.4.1.22": _Cipher("aes", 24),
    "2.16.840.1.101.3.4.1.42": _Cipher("aes", 32),
    "1.2.840.113549.3.7": _Cipher("3des", 24),
    "1.3.14.3.2.7": _Cipher("des", 8),
}
_PBES1 = {
    "1.2.840.113549.1.5.3": ("md5", _Cipher("des", 8)),
    "1.2.840.113549.1.5.6": ("md5", _Cipher("rc2", 8, 64)),
    "1.2.840.113549.1.5.10": ("sha1", _Cipher("des", 8)),
    "1.2.840.113549.1.5.11": ("sha1", _Cipher("rc2", 8, 64)),
}
_PKCS12 = {
    "1.2.840.113549.1.12.1.1": _Cipher("rc4", 16),
    "1.2.840.113549.1.12.1.2": _Cipher("rc4", 5),
    "1.2.840.113549.1.12.1.3": _Cipher("3des", 24),
    "1.2.840.113549.1.12.1.4": _Cipher("3des", 16),
    "1.2.840.113549.1.12.1.5": _Cipher("rc2", 16, 128),
    "1.2.840.113549.1.12.1.6": _Cipher("rc2", 5, 40),
}


def decrypt(algorithm: DerValue, ciphertext: bytes, password: str) -> bytes:
    """What was encrypted.

    Parameters:
        algorithm: The AlgorithmIdentifier, which has salt and iteration count.
        ciphertext: What it is applied to.
        password: Its text; each algorithm has its own encoding of it.

    Raises:
        PbeError: The algorithm is not known, or asks for too much work or memory.
        WrongPasswordError: The password is wrong.
        DerError: The parameters cannot be read.
        MissingExtra: `cryptography` is not installed.
    """
    fields = fields_of(algorithm, 2)
    name = fields[0].as_oid()
    if name == _PBES2:
        return _decrypt_pbes2(fields[1], ciphertext, password)
    salt, iterations = _salt_and_iterations(fields[1])
    if name in _PBES1:
        digest, cipher = _PBES1[name]
        derived = _pbkdf1(digest, password.encode(), salt, iterations)
        return cipher.decrypt(derived[:8], derived[8:16], ciphertext)
    if name in _PKCS12:
        cipher = _PKCS12[name]
        key = pkcs12_kdf("sha1", 1, password, salt, iterations, cipher.key_bytes)
        iv = pkcs12_kdf("sha1", 2, password, salt, iterations, cipher.iv_bytes)
        return cipher.decrypt(key, iv, ciphertext)
    raise PbeError(f"it is encrypted with an algorithm that is not known ({name}); PBES2 with AES is one that is")


def is_pbes1(algorithm: DerValue) -> bool:
    """Return whether it is one of the older algorithms, most of which OpenSSL 3 lacks. Raises DerError."""
    return fields_of(algorithm, 1)[0].as_oid() != _PBES2


def pkcs12_kdf(digest: str, purpose: int, password: str, salt: bytes, iterations: int, size: int) -> bytes:
    """Derive bytes from a password: a key (`purpose` 1), an initialization vector (2) or a key of a MAC (3); RFC 7292,
    appendix B.
    """
    check_iterations(iterations)
    block = 128 if digest in ("sha384", "sha512") else 64
    diversifier = bytes((purpose,)) * block
    data = _filled(salt, block) + _filled(password.encode("utf-16-be", "surrogatepass") + b"\0\0", block)
    found = b""
    while len(found) < size:
        part = hashlib.new(digest, diversifier + data, usedforsecurity=False).digest()
        for _ in range(iterations - 1):
            part = hashlib.new(digest, part, usedforsecurity=False).digest()
        found += part
        addend = int.from_bytes(_filled(part, block)[:block], "big") + 1
        modulus = 1 << 8 * block
        data = b"".join(
            ((int.from_bytes(data[at : at + block], "big") + addend) % modulus).to_bytes(block, "big")
            for at in range(0, len(data), block)
        )
    return found[:size]


def pbkdf2(parameters: DerValue, password: str, default_bytes: int) -> bytes:
    """Return the key of PBKDF2's parameters (RFC 8018, appendix A.2). Raises PbeError, DerError."""
    salt, iterations = _salt_and_iterations(parameters)
    size, digest = default_bytes, "sha1"
    for optional in parameters.children()[2:]:
        if optional.tag == INTEGER:
            size = optional.as_int()
        else:
            prf = fields_of(optional, 1)[0].as_oid()
            if prf not in _PRFS:
                raise PbeError(f"PBKDF2 with a function that is not known ({prf})")
            digest = _PRFS[prf]
    if not 0 < size <= 1024:
        raise PbeError(f"PBKDF2 with a key of {size} bytes")
    return hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations, size)


def hmac_is(key: bytes, digest: str, data: bytes, expected: bytes) -> bool:
    """Return whether this is the HMAC of the data."""
    return hmac.compare_digest(hmac.new(key, data, digest).digest(), expected)


def check_iterations(iterations: int) -> None:
    """Raise PbeError if that is more work than allowed for a store."""
    if not 0 < iterations <= MAX_ITERATIONS:
        raise PbeError(f"it asks for {iterations} iterations, of {MAX_ITERATIONS} at most")


def _decrypt_pbes2(parameters: DerValue, ciphertext: bytes, password: str) -> bytes:
    derivation, encryption = (fields_of(each, 2) for each in fields_of(parameters, 2)[:2])
    name = encryption[0].as_oid()
    if name not in _PBES2_CIPHERS:
        raise PbeError(
            f"it is encrypted by PBES2 with a cipher that is not known ({name}); AES in CBC mode is one that is"
        )
    cipher = _PBES2_CIPHERS[name]
    method = derivation[0].as_oid()
    if method == _PBKDF2:
        key = pbkdf2(derivation[1], password, cipher.key_bytes)
    elif method == _SCRYPT:
        key = _scrypt(derivation[1], password, cipher.key_bytes)
    else:
        raise PbeError(f"PBES2 with a key derivation that is not known ({method}); PBKDF2 is one that is")
    if len(key) != cipher.key_bytes:
        raise PbeError(f"PBES2 with a key of {len(key)} bytes for a cipher that takes {cipher.key_bytes}")
    return cipher.decrypt(key, expect(encryption[1], OCTET_STRING).content, ciphertext)


def _scrypt(parameters: DerValue, password: str, size: int) -> bytes:
    fields = fields_of(parameters, 4)
    n, r, p = (each.as_int() for each in fields[1:4])
    if n < 2 or r < 1 or p < 1 or 128 * r * (n + p) > _MAX_SCRYPT_BYTES or n * r * p > 1 << 26:
        raise PbeError("scrypt with parameters that ask for too much memory or work")
    salt = expect(fields[0], OCTET_STRING).content
    try:
        return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=2 * _MAX_SCRYPT_BYTES, dklen=size)
    except ValueError as error:
        raise PbeError(f"scrypt: {error}") from None


def _salt_and_iterations(parameters: DerValue) -> tuple[bytes, int]:
    fields = fields_of(parameters, 2)
    iterations = fields[1].as_int()
    check_iterations(iterations)
    if not fields[0].content:
        raise DerError("an empty salt")
    return expect(fields[0], OCTET_STRING).content, iterations


def _pbkdf1(digest: str, password: bytes, salt: bytes, iterations: int) -> bytes:
    found = password + salt
    for _ in range(iterations):
        found = hashlib.new(digest, found, usedforsecurity=False).digest()
    return found


def _filled(data: bytes, block: int) -> bytes:
    """Repeat the data up to the next multiple of a block."""
    if not data:
        return b""
    size = -(-len(data) // block) * block
    return (data * (size // len(data) + 1))[:size]


def _block_cipher(name: str, key: bytes, iv: bytes, ciphertext: bytes) -> bytes:
    need("security", "cryptography", by="An encrypted key or a PKCS12 store")
    from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if name == "aes":
        decryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).decryptor()
    else:
        # Three times the same key is single DES; two keys are used in the order 1, 2, 1.
        keys = {8: key * 3, 16: key + key[:8], 24: key}[len(key)]
        decryptor = Cipher(TripleDES(keys), modes.CBC(iv)).decryptor()
    return decryptor.update(ciphertext) + decryptor.finalize()
