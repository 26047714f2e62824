"""The two tools, from an empty folder to a wheel, a jar, a catalogue, and a plan."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("thriftpy2")
pytest.importorskip("grpc_tools")
pytest.importorskip("proto_schema_parser")

from kafkapy.bus.schemas.jars import has_jdk
from kafkapy.bus.topics.declaration import DeclarationError, load, retention_ms, routing_of
from kafkapy.bus.topics.plan import Action, ActionKind, ActualTopic, Danger, config_danger, make_plan
from kafkapy.schemas import SchemaRegistryClient
from kafkapy.tools import bus, schemas
from tests.bus.events import BOOKING, DRAWN, MOVED, PAID, avro
from tests.schemas.registry_server import running_registry

SOLD = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
enum Means { CASH = 0; CARD = 1; }
message Sold {
  message Line { string article = 1; int64 cents = 2; }
  string id = 1;
  repeated Line lines = 2;
  optional string note = 3;
  map<string, int32> counts = 4;
  Means means = 5;
  google.protobuf.Timestamp at = 6;
}
"""
FILES = {
    "shop.BookingCreated/next.avsc": BOOKING,
    "shop.Paid/next.json": PAID,
    "shapes.Drawn/next.avsc": DRAWN,
    "shop.Moved/next.thrift": MOVED,
    "shop.Sold/next.proto": SOLD,
}
TOPICS = {
    "bookings": 'owner="shop"\nmeaning="A booking <b>."\nrouter="user_id"\npartitions=3\nretention="7d"\n'
    'accepts=["shop.BookingCreated"]\nvalidate=true\n',
    "others": 'owner="all"\nmeaning="The rest."\naccepts=["shop.Paid","shapes.Drawn","shop.Moved","shop.Sold"]\n',
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        path = tmp_path / "schemas" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    for name, text in TOPICS.items():
        path = tmp_path / "topics" / f"{name}.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


@pytest.fixture
def registry() -> Iterator[SchemaRegistryClient]:
    with running_registry() as server, SchemaRegistryClient(server.url, max_retries=0) as client:
        yield client


USES = """
from datetime import UTC, datetime

from shopevents import BookingCreated, Drawn, Moved, Paid, Sold
from shopevents.drawn import Circle, Colour
from shopevents.moved import Means, Place
from shopevents.sold import Means as Paying, SoldLine

EVENTS: list[BookingCreated | Drawn | Moved | Paid | Sold] = [
    BookingCreated(booking_id="b", user_id=7),
    Drawn(at=datetime(2026, 1, 1, tzinfo=UTC), colour=Colour.RED, shapes=[Circle(radius=1.0)]),
    Moved(user="u", place=Place(lat=1.0, lon=2.0), means=Means.CAR),
    Paid(order="o", cents=1),
    Sold(
        id="s", lines=[SoldLine(article="a", cents=5)], counts={"a": 1}, means=Paying.CARD,
        at=datetime(2026, 1, 1, tzinfo=UTC),
    ),
]
"""


def test_from_files_to_typed_classes(
    place: Path, registry: SchemaRegistryClient, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(place / "schemas")
    assert schemas.main(["bump", folder]) == 0
    assert "shop.Sold 1.0.0: a MODEL (it is the first version)" in capsys.readouterr().out
    assert schemas.main(["check", folder]) == 0
    assert (
        schemas.main(
            ["build", folder, "--topics", str(place / "topics"), "--out", str(place / "out"), "--package", "shopevents"]
        )
        == 0
    )
    wheel = place / "out" / "shopevents-5.0.0-py3-none-any.whl"
    assert str(wheel) in capsys.readouterr().out
    library = place / "library"
    zipfile.ZipFile(wheel).extractall(library)
    (library / "uses.py").write_text(USES)
    root = str(Path(__file__).parents[2])
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--cache-dir", str(place / "cache"), "uses.py"],
        cwd=library, capture_output=True, text=True, env={"PYTHONPATH": root, "MYPYPATH": root},
        check=False,
    )  # fmt: skip
    assert checked.returncode == 0, checked.stdout
    _round_trip(library, registry, monkeypatch)
    if has_jdk():
        names = zipfile.ZipFile(place / "out" / "shopevents-5.0.0.jar").namelist()
        assert {"shop/BookingCreated.class", "shop/Sold$SoldLine.class", "schemas/shop.Paid/1.0.0.json"} <= set(names)


def _round_trip(library: Path, registry: SchemaRegistryClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from kafkapy.bus.codecs import codec_of
    from kafkapy.bus.outbox import Outbox

    monkeypatch.syspath_prepend(str(library))
    import importlib

    events = importlib.import_module("uses").EVENTS
    outbox = Outbox(registry, "tests", waits=True, auto_register=True)
    for event in events:
        outgoing = outbox.prepare(event)
        codec = codec_of(type(event), registry, auto_register=False, waits=True)
        assert codec.deserializer.deserialize(outgoing.topic, (), outgoing.value) == event
        assert outgoing.topic == ("bookings" if type(event).__name__ == "BookingCreated" else "others")


def test_changes_are_explained_and_refused(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(place / "schemas")
    assert schemas.main(["bump", folder]) == 0
    coming = place / "schemas/shop.BookingCreated/next.avsc"
    coming.write_text(
        avro("shop.BookingCreated", {"name": "booking_id", "type": "string"}, {"name": "city", "type": "string"})
    )
    capsys.readouterr()
    assert schemas.main(["diff", folder, "shop.BookingCreated"]) == 0
    told = capsys.readouterr().out
    assert "+ city: string" in told and "- user_id: long" in told
    assert "This is a MODEL: the version after 1.0.0 is 2.0.0." in told
    assert schemas.main(["bump", folder, "shop.BookingCreated", "--version", "1.1.0"]) == 1
    assert "cannot become 1.1.0" in capsys.readouterr().err
    coming.rename(coming.with_name("1.0.1.avsc"))
    assert schemas.main(["check", folder]) == 1
    assert "says that it is an ADDITION" in capsys.readouterr().out


def test_publish(place: Path, registry: SchemaRegistryClient, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(place / "schemas")
    schemas.main(["bump", folder])
    assert schemas.main(["publish", folder, "shop.BookingCreated", "--registry", registry.urls[0]]) == 0
    assert schemas.main(["publish", folder, "shop.BookingCreated", "--registry", registry.urls[0]]) == 0
    told = capsys.readouterr().out
    assert "published, subject shop.BookingCreated-v1" in told and "was there, subject shop.BookingCreated-v1" in told
    assert registry.get_compatibility("shop.BookingCreated-v1") == "BACKWARD_TRANSITIVE"


def test_the_catalogue(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schemas.main(["bump", str(place / "schemas")])
    out = place / "pages"
    assert bus.main(["docs", str(place / "topics"), "--schemas", str(place / "schemas"), "--out", str(out)]) == 0
    index = (out / "index.html").read_text()
    assert "A booking &lt;b&gt;." in index and "<b>." not in index
    page = (out / "event-shop.BookingCreated.html").read_text()
    assert "<td>user_id</td><td>long</td>" in page and "1.0.0" in page and "owned by shop" in page
    for file in out.iterdir():
        for link in file.read_text().split('href="')[1:]:
            assert (out / link.partition('"')[0]).exists()


@pytest.mark.parametrize(
    ("tool", "words", "sentence"),
    [
        (schemas, ["check", "/nowhere"], "is no folder"),
        (schemas, ["frob"], "invalid choice"),
        (schemas, ["bump", "{schemas}", "a.B"], "There is no event a.B"),
        (schemas, ["bump", "{schemas}", "--version", "1"], "is no version"),
        (schemas, ["publish", "{schemas}"], "--registry"),
        (schemas, ["diff", "{schemas}", "shop.Paid"], "no version yet"),
        (bus, ["docs", "/nowhere", "--out", "{schemas}"], "is no folder"),
        (bus, ["plan", "{schemas}", "--bootstrap-server", "localhost:1"], "has no .toml files"),
    ],
)
def test_bad_input_is_a_sentence(
    place: Path, capsys: pytest.CaptureFixture[str], tool: object, words: list[str], sentence: str
) -> None:
    main = getattr(tool, "main")  # noqa: B009
    assert main([word.replace("{schemas}", str(place / "schemas")) for word in words]) == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("owner = 1", "must be of type str"),
        ("oner = 'x'", "oner is unknown"),
        ("owner = 'x'", "meaning is missing"),
        ("owner = 'x'\nmeaning = 'y'\nretention = '7 days'", "no time to keep events"),
        ("owner = 'x'\nmeaning = 'y'\npartitions = 0", "at least 1"),
        ("owner = 'x'\nmeaning = 'y'\nvalidate = true", "needs accepts"),
        ("owner = 'x'\nmeaning = 'y'\nrouter = 'a b'", "is no router"),
        ("owner = ", "is no TOML"),
        ("owner = 'x'\nmeaning = 'y'\n[configs]\ncleanup.policy = 'compact'", "written in quotes"),
    ],
)
def test_declarations_that_make_no_sense(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "t.toml").write_text(text)
    with pytest.raises(DeclarationError, match=sentence):
        load(tmp_path)


def test_an_event_belongs_to_one_topic(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text("owner = 'x'\nmeaning = 'y'\naccepts = ['s.E']")
    with pytest.raises(DeclarationError, match=r"a and b both accept s\.E"):
        routing_of(load(tmp_path))


def test_the_plan(tmp_path: Path) -> None:
    for name, text in {
        "new": "partitions = 2",
        "gone": "absent = true",
        "more": "partitions = 4\nrouter = 'id'",
        "less": "partitions = 1",
        "shorter": "retention = '1d'\n[configs]\n'cleanup.policy' = 'compact,delete'",
        "same": "partitions = 3\nretention = '7d'",
    }.items():
        (tmp_path / f"{name}.toml").write_text(f"owner = 'x'\nmeaning = 'y'\n{text}")
    defaults = {"retention.ms": "604800000", "cleanup.policy": "delete"}
    actual = {name: ActualTopic(3, 1, {}, defaults) for name in ("gone", "more", "less", "shorter", "same", "strange")}
    plan = make_plan(load(tmp_path), actual)
    assert plan.actions == [
        Action("gone", ActionKind.DELETE, danger=Danger.LOSES_DATA, why="its events are gone then"),
        Action("more", ActionKind.ADD_PARTITIONS, "", "3", "4", Danger.MOVES_KEYS, "keys go to other partitions from then on"),
        Action("new", ActionKind.CREATE, after="2 partitions, replicas as the brokers have it"),
        Action(
            "shorter", ActionKind.SET_CONFIG, "cleanup.policy", None, "compact,delete", Danger.LOSES_DATA,
            "the policy compact takes events away",
        ),
        Action("shorter", ActionKind.SET_CONFIG, "retention.ms", None, "86400000", Danger.LOSES_DATA, "older events are deleted"),
    ]  # fmt: skip
    assert [each.partition(":")[0] for each in plan.problems] == ["less has 3 partitions, and 1 are declared"]
    assert plan.notes == ["strange is not declared, and is left as it is"]
    assert len(plan.refused(frozenset())) == 4
    assert [each.topic for each in plan.refused(frozenset({Danger.LOSES_DATA}))] == ["more"]


def test_what_keeps_more_is_no_danger() -> None:
    assert retention_ms("90m") == 5_400_000 and retention_ms("forever") == -1
    assert config_danger("retention.ms", "1000", "-1")[0] is Danger.NONE
    assert config_danger("retention.ms", "-1", "1000")[0] is Danger.LOSES_DATA
    assert config_danger("retention.bytes", None, "1000")[0] is Danger.LOSES_DATA
    assert config_danger("cleanup.policy", "compact,delete", "delete")[0] is Danger.NONE
