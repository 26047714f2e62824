"""Clicks with the country of their address, which a service is asked for: up to 100 questions at once, and order is kept.

The service here is a dict; a real one is called in the same place, for example by aiohttp.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from kafkapy.streams import StreamsBuilder, Topology

COUNTRIES = {"192.0.2.1": "at", "198.51.100.7": "jp"}


@dataclass(frozen=True)
class Click:
    page: str
    address: str
    country: str = ""


async def with_country(click: Click) -> Click:
    await asyncio.sleep(0.01)
    return replace(click, country=COUNTRIES.get(click.address, "unknown"))


def topology() -> Topology:
    builder = StreamsBuilder()
    builder.stream("clicks", key=str, value=Click).map_values(with_country).to(
        "clicks-by-country", key=str, value=Click
    )
    return builder.build()
