"""docs/sign-in.md: whose token is good gets in, and nobody else; the provider really signs."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.docs.pages import ROOT, run_page
from tests.support.server import client, serve

ISSUER = "https://login.example"
OURS = rsa.generate_private_key(public_exponent=65537, key_size=2048)
THEIRS = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def claims(**changed: Any) -> dict[str, Any]:
    """Those of a good token; what is given as ... is left out."""
    good = {
        "iss": ISSUER,
        "aud": "agents",
        "sub": "ann",
        "exp": time.time() + 60,
        "tenant": "team",
        "roles": ["finance"],
    }
    return {name: value for name, value in {**good, **changed}.items() if value is not ...}


def token(key: Any = OURS, algorithm: str = "RS256", **changed: Any) -> str:
    return jwt.encode(claims(**changed), key, algorithm=algorithm, headers={"kid": "k1"})


def signed_with_the_public_key() -> str:
    """What a server takes that lets the token say how it is signed."""
    public = OURS.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body, _ = token().split(".")
    head = jwt.utils.base64url_encode(b'{"alg":"HS256","typ":"JWT","kid":"k1"}').decode()
    mac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
    signature = mac.sign(f"{head}.{body}".encode(), public)
    return f"{head}.{body}.{jwt.utils.base64url_encode(signature).decode()}"


@pytest.fixture
async def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> AsyncIterator[dict[str, Any]]:
    """The page's names, before a provider that serves its keys."""
    key = jwt.algorithms.RSAAlgorithm.to_jwk(OURS.public_key(), as_dict=True)
    shown = {"keys": [{**key, "kid": "k1", "use": "sig", "alg": "RS256"}]}

    async def keys(_: Request) -> JSONResponse:
        return JSONResponse(shown)

    async with serve(Starlette(routes=[Route("/keys", keys)])) as provider:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("OIDC_ISSUER", ISSUER)
        monkeypatch.setenv("OIDC_KEYS", f"{provider}/keys")
        yield await run_page(ROOT / "docs" / "sign-in.md")


REFUSED: dict[str, tuple[Any, int]] = {
    "nothing": (lambda: None, 401),
    "a word": (lambda: "ann", 401),
    "no JWT": (lambda: "x.y.z", 401),
    "another app's": (lambda: token(aud="mail"), 401),
    "for nobody": (lambda: token(aud=...), 401),
    "another provider's": (lambda: token(iss="https://evil.example"), 401),
    "over": (lambda: token(exp=time.time() - 60), 401),
    "for ever": (lambda: token(exp=...), 401),
    "of nobody": (lambda: token(sub=...), 401),
    "signed by somebody else": (lambda: token(THEIRS), 401),
    "not signed": (lambda: token(None, "none"), 401),
    "signed with the public key": (signed_with_the_public_key, 401),
    "roles as a text": (lambda: token(roles="not-finance"), 403),
    "without a tenant": (lambda: token(tenant=...), 403),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_who_has_no_good_token_stays_out(page: dict[str, Any], name: str) -> None:
    make, status = REFUSED[name]
    async with serve(page["bridge"].app()) as base, client(base) as http:
        if (made := make()) is not None:
            http.headers["authorization"] = f"Bearer {made}"
        told = await http.get("/agents")
    assert told.status_code == status, told.text


async def test_a_good_token_is_its_person_with_their_roles(page: dict[str, Any]) -> None:
    given: list[Any] = []
    bridge = page["bridge"]
    before = bridge.authenticate

    def heard(request: Request) -> Any:
        given.append(before(request))
        return given[-1]

    bridge.authenticate = heard
    async with serve(bridge.app()) as base, client(base) as http:
        http.headers["authorization"] = f"Bearer {token()}"
        told = await http.get("/agents")
    assert told.status_code == 200
    (ann,) = given
    assert (ann.scope, ann.actor, ann.roles) == ("team", "ann", frozenset({"finance"}))
