"""The catalogue: static web pages of topics and events, with owners and the history of schemas. They have no scripts
and load nothing from other sites."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path

from kafkapy.bus.schemas.changes import classify
from kafkapy.bus.schemas.model import model_of
from kafkapy.bus.schemas.repository import EventSchemas
from kafkapy.bus.topics.declaration import TopicDeclaration

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: #1c2733; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; border-bottom: 1px solid #d5dde5; padding: .35rem .6rem; vertical-align: top; }
pre { background: #f3f6f9; padding: 1rem; overflow: auto; }
.kind { font-size: 85%; padding: .1rem .4rem; border-radius: .3rem; background: #e4ecf4; }
"""


def pages(events: Mapping[str, EventSchemas], topics: Mapping[str, TopicDeclaration]) -> dict[str, str]:
    """File name -> page. Raises RepositoryError."""
    where = {event: topic for topic in topics.values() if not topic.absent for event in topic.accepts}
    found = {"index.html": _index(events, topics, where)}
    for topic in topics.values():
        if not topic.absent:
            found[f"topic-{topic.name}.html"] = _topic(topic, events)
    for event in events.values():
        found[f"event-{event.name}.html"] = _event(event, where.get(event.name))
    return found


def write_pages(directory: Path, found: Mapping[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, page in found.items():
        (directory / name).write_text(page, "utf-8")


def _index(
    events: Mapping[str, EventSchemas], topics: Mapping[str, TopicDeclaration], where: Mapping[str, TopicDeclaration]
) -> str:
    rows = []
    for topic in topics.values():
        if not topic.absent:
            accepted = ", ".join(_link("event", event) for event in topic.accepts)
            rows.append([_link("topic", topic.name), escape(topic.owner), escape(topic.meaning), accepted])
    body = (
        "<h1>Topics and events</h1>" + _table(["topic", "owner", "meaning", "events"], rows)
        if topics
        else "<h1>Events</h1>"
    )
    rows = []
    for event in events.values():
        home = where.get(event.name)
        latest = str(event.latest.version) if event.latest is not None else "none yet"
        rows.append(
            [
                _link("event", event.name),
                latest,
                event.kind,
                "no topic" if home is None else _link("topic", home.name),
            ]
        )
    return _page("Topics and events", body + _table(["event", "version", "kind", "topic"], rows))


def _topic(topic: TopicDeclaration, events: Mapping[str, EventSchemas]) -> str:
    rows = [
        ["owner", escape(topic.owner)],
        ["partitions", str(topic.partitions) if topic.partitions > 0 else "as the brokers have it"],
        ["replicas", str(topic.replicas) if topic.replicas > 0 else "as the brokers have it"],
        ["router", escape(topic.router or "none: events are spread, and keep no order")],
        ["time", escape(topic.time or "when an event is sent")],
        ["other records", "refused by the broker" if topic.validate else "not refused"],
        *([escape(key), escape(value)] for key, value in sorted(topic.configs.items())),
    ]
    accepted = [[_link("event", name) if name in events else escape(name)] for name in topic.accepts]
    body = f"<h1>{escape(topic.name)}</h1><p>{escape(topic.meaning)}</p>{_table(['', ''], rows)}"
    return _page(topic.name, body + "<h2>Events</h2>" + _table(["event"], accepted))


def _event(event: EventSchemas, topic: TopicDeclaration | None) -> str:
    body = [f"<h1>{escape(event.name)}</h1>"]
    if topic is not None:
        body.append(
            f"<p>{escape(topic.meaning)}<br>In topic {_link('topic', topic.name)}, owned by {escape(topic.owner)}.</p>"
        )
    if event.latest is not None:
        model = model_of(event.kind, event.latest.text, event.name)
        for record in (model.root, *(each for each in model.records if each != model.root)):
            rows = [
                [escape(each.name), escape(each.schema_type), escape(each.schema_default or ""), escape(each.doc)]
                for each in record.fields
            ]
            fields = _table(["field", "type", "default", ""], rows)
            body.append(f"<h2>{escape(record.schema_name)}</h2>{_paragraph(record.doc)}{fields}")
        for enum in model.enums:
            body.append(f"<h2>{escape(enum.name)}</h2><p>One of {escape(', '.join(enum.symbols))}.</p>")
    body.append("<h2>History</h2>")
    for position in reversed(range(len(event.versions))):
        file = event.versions[position]
        change = classify(event.kind, event.versions[:position], file.text)
        lines = "".join(f"<li><code>{escape(line)}</code></li>" for line in change.fields)
        reasons = "; ".join(change.reasons)
        body.append(
            f'<h3>{file.version} <span class="kind">{change.kind.name}</span></h3><p>{escape(reasons)}</p><ul>{lines}</ul>'
            f"<details><summary>{escape(file.path.name)}</summary><pre>{escape(file.text)}</pre></details>"
        )
    return _page(event.name, "".join(body))


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>" if text else ""


def _link(kind: str, name: str) -> str:
    return f'<a href="{kind}-{escape(name, quote=True)}.html">{escape(name)}</a>'


def _table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{each}</th>" for each in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _page(title: str, body: str) -> str:
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<style>{_STYLE}</style></head><body><p><a href="index.html">all</a></p>{body}</body></html>\n'
    )
