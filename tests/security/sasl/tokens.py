"""Makes tokens and key sets for tests."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

_HASHES = {"256": hashes.SHA256(), "384": hashes.SHA384(), "512": hashes.SHA512()}
_CURVES = {"ES256": (ec.SECP256R1(), "P-256"), "ES384": (ec.SECP384R1(), "P-384"), "ES512": (ec.SECP521R1(), "P-521")}


def encoded(value: bytes | dict[str, Any]) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unsecured(claims: dict[str, Any], alg: str = "none") -> str:
    return f"{encoded({'alg': alg})}.{encoded(claims)}."


@cache
def private_key(algorithm: str, number: int = 0) -> Any:
    if algorithm in _CURVES:
        return ec.generate_private_key(_CURVES[algorithm][0])
    if algorithm == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, 2048)


def family(algorithm: str) -> str:
    """One RSA key serves for all algorithms of RSA."""
    return "RSA" if algorithm[:2] in ("RS", "PS") else algorithm


def jwk(algorithm: str, kid: str | None = "k", number: int = 0, **more: Any) -> dict[str, Any]:
    public = private_key(family(algorithm), number).public_key()
    entry: dict[str, Any]
    if isinstance(public, rsa.RSAPublicKey):
        numbers = public.public_numbers()
        entry = {"kty": "RSA", "n": _integer(numbers.n), "e": _integer(numbers.e)}
    elif isinstance(public, ec.EllipticCurvePublicKey):
        point = public.public_numbers()
        entry = {"kty": "EC", "crv": _CURVES[algorithm][1], "x": _integer(point.x), "y": _integer(point.y)}
    else:
        entry = {"kty": "OKP", "crv": "Ed25519", "x": encoded(public.public_bytes_raw())}
    return {**entry, **({"kid": kid} if kid is not None else {}), **more}


def jwks(*entries: Any) -> bytes:
    return json.dumps({"keys": list(entries)}).encode()


def signed(
    claims: dict[str, Any], algorithm: str = "RS256", kid: str | None = "k", number: int = 0, **header: Any
) -> str:
    head = {"alg": algorithm, **({"kid": kid} if kid is not None else {}), **header}
    message = f"{encoded(head)}.{encoded(claims)}"
    return f"{message}.{encoded(_signature(private_key(family(algorithm), number), algorithm, message.encode()))}"


def _signature(key: Any, algorithm: str, message: bytes) -> bytes:
    if algorithm == "EdDSA":
        return bytes(key.sign(message))
    hash_ = _HASHES[algorithm[2:]]
    if algorithm.startswith("RS"):
        return bytes(key.sign(message, padding.PKCS1v15(), hash_))
    if algorithm.startswith("PS"):
        return bytes(key.sign(message, padding.PSS(padding.MGF1(hash_), hash_.digest_size), hash_))
    r, s = decode_dss_signature(key.sign(message, ec.ECDSA(hash_)))
    size = (key.curve.key_size + 7) // 8
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def _integer(value: int) -> str:
    return encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
