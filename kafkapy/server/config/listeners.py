"""Parses `listeners` and the like to end points (Kafka's `CoreUtils.listenerListToEndPoints`)."""

from __future__ import annotations

import re
import socket
from collections import defaultdict
from collections.abc import Mapping

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException

MAX_PORT = 65535
SECURITY_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_COMMA = re.compile(r"\s*,\s*")
_URI = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


def csv_list(text: str | None) -> list[str]:
    """Return the non-empty parts between commas."""
    return [part for part in _COMMA.split(text) if part] if text else []


def csv_map(name: str, text: str) -> dict[str, str]:
    """Parse `a:1,b:2`; the last colon splits, so the key may be an IPv6 address. `ConfigException` names the config."""
    pairs: dict[str, str] = {}
    for part in _COMMA.split(text) if text else ():
        key, colon, value = part.rpartition(":")
        if not colon:
            raise ConfigException(f"Error parsing configuration property '{name}': {part} is not a key:value pair")
        pairs[key.strip()] = value.strip()
    return pairs


def security_protocol_map(name: str, text: str) -> dict[str, str]:
    """Return listener name (upper case) -> security protocol."""
    protocols: dict[str, str] = {}
    for listener, protocol in csv_map(name, text).items():
        if protocol.upper() not in SECURITY_PROTOCOLS:
            raise ConfigException(f"Invalid security protocol `{protocol}` defined in {name}")
        protocols[listener.upper()] = protocol.upper()
    return protocols


def parse_end_points(text: str, protocols: Mapping[str, str], require_distinct_ports: bool = True) -> list[EndPoint]:
    """Parse `NAME://host:port,...`; names become upper case; an empty host becomes None: every interface.

    `ConfigException` if a part is malformed, a name is not in `protocols` or occurs twice, or two share a port.
    """
    end_points = [_parse_end_point(part, text, protocols) for part in csv_list(text.strip())]
    if len({e.listener_name for e in end_points}) != len(end_points):
        raise ConfigException(
            f"Each listener must have a different name, listeners: {text}",
            "Name them e.g. INTERNAL and EXTERNAL, both of them in listener.security.protocol.map, and one of them in "
            "inter.broker.listener.name",
        )
    if require_distinct_ports:
        by_port: dict[int, list[EndPoint]] = defaultdict(list)
        for end_point in end_points:
            if end_point.port != 0:
                by_port[end_point.port].append(end_point)
        for port, sharing in by_port.items():
            if len(sharing) > 1:
                _check_shared_port(port, sharing, text)
    return end_points


def _parse_end_point(part: str, text: str, protocols: Mapping[str, str]) -> EndPoint:
    problem = f"Error creating broker listeners from '{text}': "
    match = _URI.fullmatch(part)
    if not match:
        raise ConfigException(
            f"{problem}Unable to parse {part} to a broker endpoint",
            "A listener is NAME://host:port, e.g. PLAINTEXT://:9092 for all addresses of this machine",
        )
    name, host, port = match[1].upper(), match[2] or None, int(match[3][:12])
    if not 0 <= port <= MAX_PORT:
        raise ConfigException(f"{problem}{match[3]} is no port: it is a number from 0 to {MAX_PORT}")
    if name not in protocols:
        raise ConfigException(
            f"{problem}No security protocol defined for listener {name}",
            f"Call it PLAINTEXT, or give the name a protocol: listener.security.protocol.map={name}:PLAINTEXT",
        )
    return EndPoint(host, port, name, protocols[name])


def _check_shared_port(port: int, sharing: list[EndPoint], text: str) -> None:
    """Two listeners may share a port only if one is on an IPv4 and the other on an IPv6 address (KIP-797)."""
    families = [_ip_family(end_point.host) for end_point in sharing]
    with_address = [family for family in families if family is not None]
    if families.count(None) > 1 or not with_address:
        raise ConfigException(f"Each listener must have a different port, listeners: {text}")
    if len(with_address) > 2:
        raise ConfigException(
            "Each listener must have a different port unless exactly one listener has an IPv4 address and the other "
            f"IPv6 address, listeners: {text}, port: {port}"
        )
    if len(with_address) == 2 and (with_address[0] == with_address[1] or None in families):
        raise ConfigException(
            "If you have two listeners on the same port then one needs to be IPv4 and the other IPv6, "
            f"listeners: {text}, port: {port}"
        )


def _ip_family(host: str | None) -> int | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host or "")
            return family
        except OSError:
            continue
    return None
