"""The agent's card: at which address, by which binding and version the agent is spoken to.

A card may name any address, and what is sent there has the adapter's credentials: only the card's
own host counts, and those that the adapter was given besides.

Source: the A2A specification 1.0, section 4.4 ("AgentCard") and 0.3, section 5.5.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote

import httpx

from agui_bridge.a2a.wire import WELL_KNOWN, as_object, as_objects, as_text
from agui_bridge.errors import NotDelivered
from agui_bridge_a2a.versions import Version

Binding = Literal["JSONRPC", "HTTP+JSON"]

OLD_WELL_KNOWN: Final = "/.well-known/agent.json"
"""Where agents of versions before 0.3 have their card, and some of 0.3 as well."""

_SPOKEN: Final[Mapping[tuple[str, Version], Binding]] = {
    ("JSONRPC", "1.0"): "JSONRPC",
    ("HTTP+JSON", "1.0"): "HTTP+JSON",
    ("JSONRPC", "0.3"): "JSONRPC",
}


@dataclass(frozen=True, slots=True)
class Interface:
    """How an agent is reached.

    Attributes:
        url: of its endpoint.
        binding: of the protocol.
        version: of the protocol.
        tenant: named with every request, "" where there is none.
        streaming: whether it streams.
        headers: credentials, as the card wants them.
        query: the same, of those that the card wants in the address.
    """

    url: str
    binding: Binding
    version: Version
    tenant: str = ""
    streaming: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)


def card_addresses(url: str) -> tuple[str, ...]:
    """Where a card may be: at the address itself, or below that of a server."""
    if httpx.URL(url).path.endswith(".json"):
        return (url,)
    base = url.rstrip("/")
    return base + WELL_KNOWN, base + OLD_WELL_KNOWN


def interface_of(
    card: Mapping[str, Any],
    address: str,
    *,
    binding: Binding | None,
    hosts: Collection[str],
    credentials: Mapping[str, str],
) -> Interface:
    """Choose how the agent is spoken to: the first way of the card that is known here.

    Args:
        card: the card.
        address: where it came from.
        binding: the only one that counts; None takes any.
        hosts: that count besides the card's own, as `host` or `host:port`.
        credentials: by the name of the card's security scheme.

    Raises:
        NotDelivered: there is none.
    """
    streaming = as_object(card.get("capabilities")).get("streaming") is True
    away = False
    for url, named, version, tenant in _offered(card):
        spoken = _SPOKEN.get((named, version))
        if spoken is None or binding not in (None, spoken):
            continue
        if not _is_home(url, address, hosts):
            away = True
            continue
        headers, query = _placed(card, credentials)
        return Interface(
            url.rstrip("/") if spoken == "HTTP+JSON" else url,
            spoken,
            version,
            tenant,
            streaming,
            headers,
            query,
        )
    if away:
        raise NotDelivered(
            "The A2A agent's card names another host than its own: nothing was sent. Name it in "
            "the adapter's `hosts` if it is the agent's."
        )
    raise NotDelivered(
        "The A2A agent's card offers no way that is spoken here: JSONRPC of A2A 1.0 or 0.3, or "
        "HTTP+JSON of 1.0."
    )


def _offered(card: Mapping[str, Any]) -> Iterator[tuple[str, str, Version, str]]:
    """Every address of a card, with its binding and version, the preferred one first."""
    for each in as_objects(card.get("supportedInterfaces")):
        version: Version = "0.3" if as_text(each.get("protocolVersion")).startswith("0.") else "1.0"
        binding, tenant = as_text(each.get("protocolBinding")), as_text(each.get("tenant"))
        yield as_text(each.get("url")), binding.upper(), version, tenant
    if url := as_text(card.get("url")):
        yield url, as_text(card.get("preferredTransport")).upper() or "JSONRPC", "0.3", ""
    for each in as_objects(card.get("additionalInterfaces")):
        yield as_text(each.get("url")), as_text(each.get("transport")).upper(), "0.3", ""


def _is_home(url: str, address: str, hosts: Collection[str]) -> bool:
    try:
        to, home = httpx.URL(url), httpx.URL(address)
    except httpx.InvalidURL:
        return False
    if to.scheme not in ("http", "https") or (home.scheme == "https" and to.scheme != "https"):
        return False
    where = to.host if to.port is None else f"{to.host}:{to.port}"
    return (to.host, to.port) == (home.host, home.port) or where in hosts


def _placed(
    card: Mapping[str, Any], credentials: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Each credential where its scheme of the card wants it: in a header, or in the address.

    Raises:
        NotDelivered: the card has no such scheme, or one that is not known here.
    """
    schemes = as_object(card.get("securitySchemes"))
    headers: dict[str, str] = {}
    query: dict[str, str] = {}
    for name, secret in credentials.items():
        scheme = as_object(schemes.get(name))
        # 1.0 has one member that names the kind, 0.3 the kind beside the members.
        kind, about = next(iter(scheme.items()), ("", {}))
        if "type" in scheme:
            kind, about = as_text(scheme["type"]), scheme
        about = as_object(about)
        match kind.removesuffix("SecurityScheme").lower():
            case "apikey":
                at, key = about.get("location") or about.get("in"), as_text(about.get("name"))
                if at == "query":
                    query[key] = secret
                elif at == "cookie":
                    headers["Cookie"] = f"{key}={quote(secret)}"
                else:
                    headers[key] = secret
            case "http" | "httpauth" if as_text(about.get("scheme")).lower() == "basic":
                headers["Authorization"] = f"Basic {base64.b64encode(secret.encode()).decode()}"
            case "http" | "httpauth" | "oauth2" | "openidconnect":
                headers["Authorization"] = f"Bearer {secret}"
            case _:
                raise NotDelivered(
                    f"The A2A agent's card has no security scheme {name!r:.60} that is known here: "
                    "see the adapter's `credentials`."
                )
    return headers, query
