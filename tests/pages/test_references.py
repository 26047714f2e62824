"""Files, commands, modules, extras, links and identifiers that the pages name are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pages.references import ROOT, Reference, anchors, exists, missing, references


def test_what_pages_name_exists() -> None:
    assert [str(reference) for reference in missing()] == []


def test_what_is_a_reference(tmp_path: Path) -> None:
    page = tmp_path / "decisions" / "page.md"
    page.parent.mkdir()
    page.write_text(
        '`log/log.py` and [a link](other.md#top), `pip install "kafkapy[spark,arrow]"`, `kafka-topics --list`,\n'
        "`lanes.py`, `Log.fence`, not [code](https://example.com)\n```sh\nbin/setup.sh\npython -m tests.words docs\n```\n"
    )
    assert {(reference.kind, reference.name) for reference in references(page)} == {
        ("path", "log/log.py"),
        ("link", "other.md#top"),
        ("extra", "spark"),
        ("extra", "arrow"),
        ("command", "kafka-topics"),
        ("file", "lanes.py"),
        ("identifier", "lanes.py"),
        ("identifier", "Log.fence"),
        ("script", "setup"),
        ("module", "tests.words"),
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("path", "log/no_such_file.py"),
        ("link", "no_such_page.md"),
        ("link", "index.md#no-such-heading"),
        ("extra", "no-such-extra"),
        ("command", "kafka-no-such-command"),
        ("file", "no_such_file.py"),
        ("identifier", "Log." + "such_no"[::-1] + "_at_all"),
        ("script", "no-such-script"),
        ("module", "tests.no_such_module"),
    ],
)
def test_what_is_missing_is_found(kind: str, name: str) -> None:
    assert not exists(Reference(ROOT / "docs" / "architecture" / "index.md", kind, name))


def test_anchors_are_those_of_headings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The title: a, b\n## Karapace's own tests\n```sh\n# no heading\n```\n")
    assert anchors(page) == {"the-title-a-b", "karapaces-own-tests"}
