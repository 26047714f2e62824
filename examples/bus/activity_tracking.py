"""Activity tracking: what visitors of a site do, counted by page as it happens. Events of a visitor keep their order."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from examples.bus.running import avro_event, make_topics, run, running, until
from kafkapy.bus.aio import Bus, Dispatcher


@avro_event("site.PageViewed", "page-views", "visitor", visitor="string", page="string")
@dataclass(frozen=True, kw_only=True)
class PageViewed:
    visitor: str
    page: str


async def main(broker: str, registry: str) -> dict[str, int]:
    make_topics(broker, "page-views")
    views: Counter[str] = Counter()
    paths: dict[str, list[str]] = {}
    dispatcher = Dispatcher(broker, registry, group="page-counter")

    @dispatcher.on(PageViewed)
    async def count(view: PageViewed) -> None:
        views[view.page] += 1
        paths.setdefault(view.visitor, []).append(view.page)

    walk = ["/", "/rooms", "/rooms/7", "/book"]
    async with Bus(broker, registry, application="site", auto_register=True) as bus, running(dispatcher):
        await bus.send_many(PageViewed(visitor=f"v{n}", page=page) for page in walk for n in range(25))
        await until(lambda: views.total() == 100)
    assert all(path == walk for path in paths.values())
    return dict(views)


if __name__ == "__main__":
    run(main)
