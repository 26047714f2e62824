"""Encrypts passwords in ZooKeeper, in Kafka's text format (`EncryptingPasswordEncoder`, KIP-226).

The text is `name:value`, separated by commas. It contains everything except the secret: key factory, cipher, lengths,
iterations, salt, initialization vector, and the encrypted password.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kafkapy.common.config_def import ConfigException, Password
from kafkapy.common.extras import need
from kafkapy.common.java_hash_order import hash_map_order

DEFAULT_KEY_FACTORY: Final = "PBKDF2WithHmacSHA512"
DEFAULT_CIPHER: Final = "AES/CBC/PKCS5Padding"
DEFAULT_KEY_LENGTH: Final = 128
DEFAULT_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 2_000_000
"""About a second of work. A text in ZooKeeper that requires more is refused, because it would block the broker."""

_KEY_FACTORIES: Final = {f"PBKDF2WithHmacSHA{size}": f"sha{size}" for size in (1, 224, 256, 384, 512)}
_MODES: Final = ("CBC", "CFB", "OFB", "CTR", "GCM")
_KEY_LENGTHS: Final = (128, 192, 256)
_SALT_BYTES = 256
_BLOCK = 16
_GCM_IV_BYTES = 12
_TAG_BITS = 128
_MAX_TEXT = 1 << 20


class PasswordDecodeError(ConfigException):
    """A text that cannot be decoded: it is malformed, or was encoded with another secret. The message contains no
    secret.
    """


class PasswordEncoder:
    """Encodes with one set of algorithms; decodes any supported ones, as named in the text.

    Its repr shows no secret.

    Args:
        secret: `password.encoder.secret`.
        key_factory: `password.encoder.keyfactory.algorithm`; None is PBKDF2WithHmacSHA512.
        cipher: `password.encoder.cipher.algorithm`.
        key_length: `password.encoder.key.length`, bits.
        iterations: `password.encoder.iterations`.
        random_bytes: Creates salt and initialization vector; replaced in tests.

    Raises:
        ConfigException: An unknown algorithm, or lengths that do not fit it.

    Example:
        >>> encoder = PasswordEncoder(Password("secret"))
        >>> encoder.decode(encoder.encode(Password("store-pw"))).value
        'store-pw'
    """

    def __init__(
        self,
        secret: Password,
        key_factory: str | None = None,
        cipher: str = DEFAULT_CIPHER,
        key_length: int = DEFAULT_KEY_LENGTH,
        iterations: int = DEFAULT_ITERATIONS,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._secret = secret
        self._key_factory = key_factory or DEFAULT_KEY_FACTORY
        self._cipher = _AesCipher.of(cipher)
        self._key_length = key_length
        self._iterations = iterations
        self._random_bytes = random_bytes
        _hash_of(self._key_factory)
        if key_length not in _KEY_LENGTHS:
            raise ConfigException.invalid(
                "password.encoder.key.length", key_length, f"AES has keys of {', '.join(map(str, _KEY_LENGTHS))} bits"
            )
        if not 1 <= iterations <= MAX_ITERATIONS:
            raise ConfigException.invalid("password.encoder.iterations", iterations, f"{MAX_ITERATIONS} at most")

    def __repr__(self) -> str:
        return f"PasswordEncoder({self._key_factory}, {self._cipher.name})"

    def encode(self, password: Password) -> str:
        """Return the text for ZooKeeper. Takes milliseconds. Raises ConfigException if the cipher cannot encrypt it
        (NoPadding).
        """
        salt = self._random_bytes(_SALT_BYTES)
        vector = self._random_bytes(_GCM_IV_BYTES if self._cipher.mode == "GCM" else _BLOCK)
        key = self._key(self._key_factory, salt, self._iterations, self._key_length)
        encrypted = self._cipher.encrypt(key, vector, password.value.encode())
        fields = {
            "keyFactoryAlgorithm": self._key_factory,
            "cipherAlgorithm": self._cipher.name,
            "keyLength": str(self._key_length),
            "salt": _base64(salt),
            "iterations": str(self._iterations),
            "encryptedPassword": _base64(encrypted),
            "passwordLength": str(_java_length(password.value)),
            "initializationVector": _base64(vector),
        }
        if self._cipher.mode == "GCM":
            fields["authenticationTagLength"] = str(_TAG_BITS)
        return ",".join(f"{name}:{fields[name]}" for name in hash_map_order(fields))

    def decode(self, text: str) -> Password:
        """Return the password. Takes milliseconds.

        Raises:
            PasswordDecodeError: The text is malformed, or was encoded with another secret.
        """
        fields = _fields(text)
        try:
            cipher = _AesCipher.of(fields["cipherAlgorithm"])
            iterations, key_length = int(fields["iterations"]), int(fields["keyLength"])
            salt, vector, encrypted = (
                base64.b64decode(fields[name], validate=True)
                for name in ("salt", "initializationVector", "encryptedPassword")
            )
            length = int(fields["passwordLength"])
            tag_bits = int(fields.get("authenticationTagLength", _TAG_BITS))
            if not 1 <= iterations <= MAX_ITERATIONS or key_length not in _KEY_LENGTHS or not salt:
                raise ValueError("out of range")
            key = self._key(fields["keyFactoryAlgorithm"], salt, iterations, key_length)
        except (KeyError, ValueError, binascii.Error):
            raise PasswordDecodeError(
                "Password could not be decoded: its text is malformed, or its algorithm not known"
            ) from None
        try:
            password = cipher.decrypt(key, vector, encrypted, tag_bits).decode()
        except ValueError:
            raise PasswordDecodeError(
                "Password could not be decoded: is it another password.encoder.secret's?"
            ) from None
        if _java_length(password) != length:
            raise PasswordDecodeError("Password could not be decoded, sanity check of length failed")
        return Password(password)

    def _key(self, key_factory: str, salt: bytes, iterations: int, bits: int) -> bytes:
        return hashlib.pbkdf2_hmac(_hash_of(key_factory), self._secret.value.encode(), salt, iterations, bits // 8)


class _AesCipher(NamedTuple):
    """AES in a mode, with PKCS5 padding or without."""

    name: str
    mode: str
    pads: bool

    @classmethod
    def of(cls, name: str) -> _AesCipher:
        """Parse Java's name. Raises ConfigException."""
        algorithm, _, rest = name.partition("/")
        mode, _, padding = rest.partition("/")
        pads = padding == "PKCS5Padding"
        streams = mode in ("CTR", "GCM")
        if (
            algorithm != "AES"
            or mode not in _MODES
            or (padding != "NoPadding" if streams else not pads and padding != "NoPadding")
        ):
            raise ConfigException.invalid(
                "password.encoder.cipher.algorithm",
                name,
                "AES/CBC/PKCS5Padding, AES/CFB/PKCS5Padding, AES/OFB/PKCS5Padding, AES/CTR/NoPadding and AES/GCM/NoPadding "
                "are known",
            )
        return cls(name, mode, pads)

    def encrypt(self, key: bytes, vector: bytes, data: bytes) -> bytes:
        if self.mode == "GCM":
            return bytes(_aead()(key).encrypt(vector, data, None))
        if self.pads:
            count = _BLOCK - len(data) % _BLOCK
            data += bytes([count]) * count
        elif self.mode == "CBC" and len(data) % _BLOCK:
            raise ConfigException(
                f"{self.name} holds only passwords whose bytes are a multiple of {_BLOCK}: choose PKCS5Padding"
            )
        context = _cipher(self.mode, key, vector).encryptor()
        return bytes(context.update(data) + context.finalize())

    def decrypt(self, key: bytes, vector: bytes, data: bytes, tag_bits: int) -> bytes:
        """`ValueError`: the key is wrong, or the data is damaged."""
        if self.mode == "GCM":
            if tag_bits != _TAG_BITS or not _GCM_IV_BYTES <= len(vector) <= _BLOCK:
                raise ValueError("the tag has another length")
            from cryptography.exceptions import InvalidTag

            try:
                return bytes(_aead()(key).decrypt(vector, data, None))
            except InvalidTag:
                raise ValueError("the tag is another one") from None
        if len(vector) != _BLOCK:
            raise ValueError("the vector has another length")
        context = _cipher(self.mode, key, vector).decryptor()
        clear = bytes(context.update(data) + context.finalize())
        if not self.pads:
            return clear
        count = clear[-1] if clear else 0
        if not 1 <= count <= min(_BLOCK, len(clear)) or not hmac.compare_digest(clear[-count:], bytes([count]) * count):
            raise ValueError("the padding is none")
        return clear[:-count]


def _hash_of(key_factory: str) -> str:
    if key_factory not in _KEY_FACTORIES:
        raise ConfigException.invalid(
            "password.encoder.keyfactory.algorithm", key_factory, f"one of {', '.join(_KEY_FACTORIES)} is expected"
        )
    return _KEY_FACTORIES[key_factory]


def _fields(text: str) -> Mapping[str, str]:
    """Parse `name:value, name:value`, as Kafka's `Csv.parseCsvMap` does."""
    if len(text) > _MAX_TEXT:
        raise PasswordDecodeError("Password could not be decoded: its text is too long")
    fields = {}
    for part in text.split(","):
        name, _, value = part.rpartition(":")
        fields[name.strip()] = value.strip()
    return fields


def _aead() -> Any:
    need("broker", "cryptography", by="password.encoder.secret")
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM


def _cipher(mode: str, key: bytes, vector: bytes) -> Any:
    need("broker", "cryptography", by="password.encoder.secret")
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if mode in ("CFB", "OFB"):
        try:  # newer releases have obsolete algorithms there
            from cryptography.hazmat.decrepit.ciphers import modes as decrepit

            return Cipher(algorithms.AES(key), getattr(decrepit, mode)(vector))
        except (ImportError, AttributeError):
            pass
    return Cipher(algorithms.AES(key), getattr(modes, mode)(vector))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _java_length(text: str) -> int:
    """Return the length in UTF-16 units, as in Java."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
