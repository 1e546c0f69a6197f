"""The card: which ways are taken, where credentials go, who must have signed it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agui_bridge import Bridge
from agui_bridge.config import bridge_from
from agui_bridge.errors import ConfigurationError, NotDelivered
from agui_bridge_a2a import A2AAdapter
from agui_bridge_a2a.card import Interface, card_addresses, interface_of
from agui_bridge_a2a.signatures import Signers, canonical
from tests.adapters.a2a.bench import agent
from tests.docs.pages import ROOT, Conversation, run_page, snippets_of

PAGE = ROOT / "docs" / "a2a.md"
HOME = "https://a.example.com/.well-known/agent-card.json"
NEW = {"url": "https://a.example.com/r/", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}
RPC = {"url": "https://a.example.com/j", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
GRPC = {**RPC, "protocolBinding": "GRPC"}
MORE = {"url": "https://a.example.com/x", "transport": "JSONRPC"}
OLD = {"url": "https://a.example.com/old", "protocolVersion": "0.3.0"}


def chosen(card: Mapping[str, Any], **options: Any) -> Interface:
    given = {"binding": None, "hosts": (), "credentials": {}, **options}
    return interface_of(card, HOME, **given)


@pytest.mark.parametrize(
    ("card", "options", "way"),
    [
        ({"supportedInterfaces": [GRPC, NEW, RPC]}, {}, ("HTTP+JSON", "1.0", "/r")),
        ({"supportedInterfaces": [NEW, RPC]}, {"binding": "JSONRPC"}, ("JSONRPC", "1.0", "/j")),
        (OLD, {}, ("JSONRPC", "0.3", "/old")),
        ({**OLD, "supportedInterfaces": [RPC]}, {}, ("JSONRPC", "1.0", "/j")),
        (
            {
                **OLD,
                "preferredTransport": "GRPC",
                "additionalInterfaces": [
                    {"url": "https://a.example.com/x", "transport": "JSONRPC"}
                ],
            },
            {},
            ("JSONRPC", "0.3", "/x"),
        ),
        (
            {"supportedInterfaces": [{**RPC, "url": "https://b.example.com/j"}]},
            {"hosts": ["b.example.com"]},
            ("JSONRPC", "1.0", "/j"),
        ),
    ],
)
def test_the_first_way_that_is_known_is_taken(
    card: Mapping[str, Any], options: dict[str, Any], way: tuple[str, str, str]
) -> None:
    to = chosen(card, **options)
    assert (to.binding, to.version, to.url.partition(".com")[2]) == way


@pytest.mark.parametrize(
    "card",
    [
        {},
        {"supportedInterfaces": [GRPC]},
        {"supportedInterfaces": [{**RPC, "url": "https://b.example.com/j"}]},
        {"supportedInterfaces": [{**RPC, "url": "http://a.example.com/j"}]},
        {"supportedInterfaces": [{**RPC, "url": "https://a.example.com:444/j"}]},
        {"supportedInterfaces": [{**RPC, "url": "file:///etc/passwd"}]},
        {"supportedInterfaces": [{**RPC, "url": "https://a.example.com@b.example.com/j"}]},
        {**OLD, "preferredTransport": "HTTP+JSON"},
    ],
)
def test_nothing_is_sent_where_no_way_is_known_or_it_leads_away(card: Mapping[str, Any]) -> None:
    with pytest.raises(NotDelivered):
        chosen(card)


@pytest.mark.parametrize(
    ("scheme", "headers", "query"),
    [
        (
            {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            {"X-Key": "a:b"},
            {},
        ),
        ({"type": "apiKey", "in": "query", "name": "key"}, {}, {"key": "a:b"}),
        ({"type": "apiKey", "in": "cookie", "name": "key"}, {"Cookie": "key=a%3Ab"}, {}),
        ({"httpAuthSecurityScheme": {"scheme": "Basic"}}, {"Authorization": "Basic YTpi"}, {}),
        ({"type": "http", "scheme": "bearer"}, {"Authorization": "Bearer a:b"}, {}),
        ({"oauth2SecurityScheme": {"flows": {}}}, {"Authorization": "Bearer a:b"}, {}),
        ({"type": "openIdConnect"}, {"Authorization": "Bearer a:b"}, {}),
    ],
)
def test_a_credential_goes_where_its_scheme_wants_it(
    scheme: Mapping[str, Any], headers: Mapping[str, str], query: Mapping[str, str]
) -> None:
    card = {"supportedInterfaces": [RPC], "securitySchemes": {"s": scheme}}
    to = chosen(card, credentials={"s": "a:b"})
    assert (to.headers, to.query) == (headers, query)


def test_a_credential_of_a_scheme_that_is_not_known_is_not_sent() -> None:
    mutual = {"supportedInterfaces": [RPC], "securitySchemes": {"s": {"type": "mutualTLS"}}}
    for card in (mutual, {"supportedInterfaces": [RPC]}):
        with pytest.raises(NotDelivered, match="security scheme 's'"):
            chosen(card, credentials={"s": "secret"})


def test_a_card_is_looked_for_at_its_address_or_at_the_well_known_ones() -> None:
    assert card_addresses("https://a/x/card.json") == ("https://a/x/card.json",)
    assert card_addresses("https://a/x/")[0] == "https://a/x/.well-known/agent-card.json"


@pytest.mark.parametrize(
    "options", [{"url": "a.example.com"}, {"binding": "GRPC"}, {"signed_by": {"k": "no key"}}]
)
def test_an_option_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        A2AAdapter(**{"url": "https://a.example.com", **options})


async def said(url: str, **options: Any) -> Any:
    bridge = Bridge(telemetry=False)
    bridge.add("remote", A2AAdapter(url, **options))
    talk = Conversation(bridge, "remote")
    await talk.say("hello")
    end = talk.events[-1]
    await bridge.aclose()
    return end.get("code") or end["outcome"]["type"]


def new_key() -> tuple[str, str]:
    """A private key and its public one, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()


async def test_a_server_that_guards_its_agent_and_signs_its_card(tmp_path: Path) -> None:
    (private, public), (_, other) = new_key(), new_key()
    (tmp_path / "key.pem").write_text(private)
    with agent(tmp_path, "--key", "s3cret", "--signing-key", str(tmp_path / "key.pem")) as begun:
        key = {"credentials": {"key": "s3cret"}}
        assert await said(begun.url) == "UPSTREAM_ERROR"
        assert await said(begun.url, headers={"X-Key": "s3cret"}) == "success"
        assert await said(begun.url, **key, signed_by={"k1": public}) == "success"
        assert await said(begun.url, **key, signed_by={"k1": other}) == "UPSTREAM_ERROR"
        assert await said(begun.url, **key, signed_by={"k2": public}) == "UPSTREAM_ERROR"


def signed(card: Mapping[str, Any], key: Any, algorithm: str = "ES256") -> dict[str, Any]:
    token = jwt.PyJWS().encode(
        canonical(card).encode(), key, algorithm=algorithm, headers={"kid": "k1"}
    )
    protected, _, signature = token.split(".")
    return {**card, "signatures": [{"protected": protected, "signature": signature}]}


def test_only_what_is_signed_of_a_card_counts() -> None:
    private, public = new_key()
    signers = Signers({"k1": public})
    card = signed({"name": "ä", "supportedInterfaces": [RPC]}, private)
    # Servers add the members of 0.3 behind the signature: they are not taken.
    part = signers.signed_part({**card, "url": "https://evil.example.com/"})
    assert part == {"name": "ä", "supportedInterfaces": [RPC]}
    forged: list[dict[str, Any]] = [
        {**card, "name": "b"},
        {**card, "signatures": []},
        {**card, "signatures": [{"protected": "e30", "signature": "x"}]},
        {**card, "signatures": [{"protected": "!", "signature": "x"}]},
        signed({"name": "a"}, "k" * 40, "HS256"),
        signed({"name": "a"}, None, "none"),
    ]
    for each in forged:
        with pytest.raises(NotDelivered, match="not signed"):
            signers.signed_part(json.loads(json.dumps(each)))


def test_canonical_json_is_that_of_the_rfc() -> None:
    value = {"\u20ac": 1.0, "\r": [True, None, 0.002], "1": '\u000f\n"', "\U0001f600": "ö"}
    assert canonical(value) == '{"\\r":[true,null,0.002],"1":"\\u000f\\n\\"","€":1,"😀":"ö"}'


async def test_the_page_runs_and_its_file_is_a_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAVEL_KEY", "k")
    page = await run_page(PAGE)
    ((_, file),) = snippets_of(PAGE, "yaml")
    (tmp_path / "bridge.yaml").write_text(file)
    for bridge in (page["bridge"], bridge_from(tmp_path / "bridge.yaml")):
        assert set(bridge.agents) == {"travel"}
