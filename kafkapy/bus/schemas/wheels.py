"""A wheel of a package of typed classes (PEP 427): the same bytes for the same schemas."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from pathlib import Path

_TIME = (1980, 1, 1, 0, 0, 0)


def write_wheel(directory: Path, package: str, version: str, files: Mapping[str, str], requires: str) -> Path:
    """Write the wheel and return its path. `requires`: the requirements of the classes, as pip takes them."""
    info = f"{package}-{version}.dist-info"
    contents = {name: text.encode() for name, text in sorted(files.items())}
    contents[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\nSummary: Events as typed classes\n"
        f"Requires-Python: >=3.11\nRequires-Dist: {requires}\n"
    ).encode()
    contents[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: kafkapy\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in contents.items()]
    contents[f"{info}/RECORD"] = ("\n".join([*rows, f"{info}/RECORD,,"]) + "\n").encode()
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
