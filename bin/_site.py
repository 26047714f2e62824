"""Hooks of the documentation's site (mkdocs.yml): the pages of the Python API, one for each public package, and their navigation.

A page lists the names that a package exports, as its `__init__.py` shows them to type checkers. mkdocstrings fills in signatures
and docstrings.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent

PACKAGES = {
    "kafkapy": "Blocking clients",
    "kafkapy.aio": "Clients for asyncio",
    "kafkapy.tx": "Clients for Twisted",
    "kafkapy.producer": "Results of a producer",
    "kafkapy.consumer": "Consumer",
    "kafkapy.admin": "Administration",
    "kafkapy.structs": "Values",
    "kafkapy.serializer": "Serializers",
    "kafkapy.partitioner": "Partitioners",
    "kafkapy.schemas": "Schemas",
    "kafkapy.bus": "Message bus",
    "kafkapy.streams": "Streams",
    "kafkapy.streams.testing": "Testing topologies",
    "kafkapy.spark": "Spark",
    "kafkapy.testing": "Testing",
}
"""The packages that programs import, with the titles of their pages."""


def on_config(config: Any) -> None:
    """Fill the two lists of the navigation that mkdocs.yml leaves empty."""
    decisions = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md") if path.stem != "index")
    lists = {
        "Python API": ["api/index.md", *({package: f"api/{page_of(package)}"} for package in PACKAGES)],
        "Decisions": [f"decisions/{name}" for name in ("index.md", *decisions)],
    }
    _fill(config["nav"], lists)


def _fill(entries: list[Any], lists: dict[str, list[Any]]) -> None:
    for entry in entries:
        if isinstance(entry, dict):
            for title, content in entry.items():
                if title in lists:
                    entry[title] = lists[title]
                elif isinstance(content, list):
                    _fill(content, lists)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the API to those of docs/."""
    for package in PACKAGES:
        files.append(File.generated(config, f"api/{page_of(package)}", content=content_of(package)))
    files.append(File.generated(config, "api/index.md", content=overview()))
    return files


def page_of(package: str) -> str:
    """The name of the package's page."""
    return f"{package.replace('.', '_')}.md"


def overview() -> str:
    """The page that leads to the others."""
    rows = [f"| [`{package}`]({page_of(package)}) | {title} |" for package, title in PACKAGES.items()]
    return "\n".join(["# Python API\n", "| package | what it has |", "| --- | --- |", *rows, ""])


def content_of(package: str) -> str:
    """The page of one package: each exported name."""
    options = "    options:\n      show_root_full_path: false\n"
    names = sorted(exported(package))
    return f"# {PACKAGES[package]}: {package}\n\n" + "\n".join(f"::: {package}.{name}\n{options}" for name in names)


def exported(package: str) -> Iterator[str]:
    """The classes and functions that a package shows, or that a module defines; no modules, no dunder names."""
    init = ROOT.joinpath(*package.split("."), "__init__.py")
    if not init.exists():
        module = ast.parse(init.parent.with_suffix(".py").read_text(encoding="utf-8"))
        yield from (
            node.name
            for node in module.body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
        )
        return
    for node in ast.walk(ast.parse(init.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kafkapy."):
            for alias in node.names:
                if alias.asname and not alias.name.startswith("_") and not _is_module(f"{node.module}.{alias.name}"):
                    yield alias.asname


def _is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").exists()
