"""Bearer tokens let in whom they stand for, and tell nothing to others."""

import hashlib
import logging
from typing import Any

import pytest
from starlette.requests import Request

from agui_bridge import BearerTokens, Bridge, Principal, Refused, Settings
from agui_bridge.errors import ConfigurationError
from tests.support.agents import Answering
from tests.support.server import client, run_input, serve

ANN, BOB = "ann-" + "a" * 20, "bob-" + "b" * 20
TOKENS = {ANN: Principal("team", "ann"), BOB: Principal("team", "bob")}


def request(*values: str) -> Request:
    headers = [(b"authorization", value.encode("latin-1")) for value in values]
    return Request({"type": "http", "headers": headers})


@pytest.mark.parametrize("value", [f"Bearer {ANN}", f"bearer {ANN}", f"BEARER  {ANN}"])
def test_a_token_gives_its_principal(value: str) -> None:
    assert BearerTokens(TOKENS)(request(value)) == Principal("team", "ann")


@pytest.mark.parametrize(
    "values",
    [
        (), ("",), ("Bearer",), ("Bearer ",), (f"Basic {ANN}",), (ANN,), (f"Bearer {ANN}x",),
        (f"Bearer {ANN[:-1]}",), (f"Bearer {ANN.upper()}",), (f"Bearer {ANN} {BOB}",),
        (f"Bearer {ANN}", f"Bearer {ANN}"), (f"Bearer {ANN}", "Bearer wrong"), ("Bearer \xff\xfe",),
        (f"Bearer\t{ANN}",), ("Bearer " + "x" * 100_000,),
    ],
    ids=lambda values: repr(values)[:40],
)  # fmt: skip
def test_missing_and_wrong_credentials_get_the_same_refusal(values: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as nothing:
        BearerTokens(TOKENS)(request())
    with pytest.raises(Refused) as refused:
        BearerTokens(TOKENS)(request(*values))
    assert refused.value.code == "UNAUTHENTICATED"
    assert (refused.value.message, refused.value.details) == (nothing.value.message, None)


def test_an_entry_has_roles_and_the_scopes_that_it_reviews() -> None:
    tokens = BearerTokens.from_settings(
        [{"token": ANN, "actor": "ann", "roles": ["dba", "ops"], "reviews": ["board"]}]
    )
    ann = Principal("default", "ann", frozenset({"dba", "ops"}), ("board",))
    assert tokens(request(f"Bearer {ANN}")) == ann


@pytest.mark.parametrize("key", ["roles", "reviews"])
@pytest.mark.parametrize("value", ["dba", [""], [7], {"dba": 1}, None, 7])
def test_roles_and_reviews_are_lists_of_names(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=rf"tokens\[0\].{key} must be a list"):
        BearerTokens.from_settings([{"token": ANN, "actor": "ann", key: value}])


def test_every_digest_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared: list[tuple[int, int]] = []
    real = hmac.compare_digest

    def watched(a: bytes, b: bytes) -> bool:
        compared.append((len(a), len(b)))
        return real(a, b)

    tokens = BearerTokens(TOKENS)
    monkeypatch.setattr(hmac, "compare_digest", watched)
    tokens(request(f"Bearer {ANN}"))
    for value in ("", "Bearer x", f"Basic {ANN}"):
        with pytest.raises(Refused):
            tokens(request(value))
    assert compared == [(32, 32)] * 8


def test_neither_its_text_nor_its_members_hold_a_token() -> None:
    tokens = BearerTokens(TOKENS)
    shown = repr(tokens) + str(vars(tokens))
    assert ANN not in shown and BOB not in shown
    assert "2" in repr(tokens)


@pytest.mark.parametrize("token", ["", "short", "x" * 15, "with a space in it", "ünïcode-" * 4,
                                   "line\nbreak" * 4, None, 5, b"x" * 20])  # fmt: skip
def test_a_token_that_is_unfit_is_refused_without_being_shown(token: Any) -> None:
    with pytest.raises(ConfigurationError) as error:
        BearerTokens({token: Principal("team", "ann")})
    assert "'ann'" in str(error.value)
    assert not token or str(token) not in str(error.value)


def test_a_list_that_lets_nobody_in_or_two_in_as_one_is_refused() -> None:
    wrong: Any = "ann"
    with pytest.raises(ConfigurationError, match="no token"):
        BearerTokens({})
    with pytest.raises(ConfigurationError, match="no token"):
        BearerTokens.from_settings([])
    with pytest.raises(ConfigurationError, match="Principal"):
        BearerTokens({ANN: wrong})
    with pytest.raises(ConfigurationError, match=r"'ann'.*'bob'.*same token"):
        BearerTokens.from_settings([{"token": ANN, "actor": "ann"}, {"token": ANN, "actor": "bob"}])


def test_settings_name_a_variable_a_digest_or_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANN_TOKEN", ANN)
    digest = hashlib.sha256(BOB.encode()).hexdigest().upper()
    tokens = BearerTokens.from_settings(
        [
            {"token_env": "ANN_TOKEN", "scope": "team", "actor": "ann"},
            {"token_sha256": digest, "scope": "team", "actor": "bob", "token": None},
            {"token": "eve-" + "e" * 20, "actor": "eve"},
        ]
    )
    assert tokens(request(f"Bearer {ANN}")) == Principal("team", "ann")
    assert tokens(request(f"Bearer {BOB}")) == Principal("team", "bob")
    assert tokens(request("Bearer eve-" + "e" * 20)) == Principal("default", "eve")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("text", "tokens\\[0\\] must be a mapping"),
        ({"actor": "ann"}, "exactly one of token_env, token_sha256, token"),
        ({"actor": "ann", "token": ANN, "token_env": "X"}, "exactly one"),
        ({"token": ANN}, "actor must be a string"),
        ({"token": ANN, "actor": ""}, "actor must be a string"),
        ({"token": ANN, "actor": 5}, "actor must be a string"),
        ({"token": ANN, "actor": "ann", "scope": None}, "scope must be a string"),
        ({"token": ANN, "actor": "ann", "scopes": "x"}, "unknown keys: scopes"),
        ({"token": 5, "actor": "ann"}, "token must be a string"),
        ({"token": "short", "actor": "ann"}, "5 characters"),
        ({"token_env": "NOT_THERE", "actor": "ann"}, "NOT_THERE is not set"),
        ({"token_env": "SHORT", "actor": "ann"}, "from SHORT.* 5 characters"),
        ({"token_sha256": "abc", "actor": "ann"}, "64 hexadecimal"),
        ({"token_sha256": "z" * 64, "actor": "ann"}, "64 hexadecimal"),
    ],
)
def test_an_entry_that_is_wrong_is_refused_and_named(
    monkeypatch: pytest.MonkeyPatch, entry: Any, said: str
) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    monkeypatch.setenv("SHORT", "short")
    with pytest.raises(ConfigurationError, match=said) as error:
        BearerTokens.from_settings([entry])
    assert ANN not in str(error.value)


def protected(**options: Any) -> Bridge:
    bridge = Bridge(
        authenticate=BearerTokens(TOKENS), settings=Settings(shutdown_grace=0.1), **options
    )
    bridge.add("agent", Answering())
    return bridge


async def test_over_http_a_401_says_how_to_authenticate() -> None:
    async with serve(protected().app()) as base, client(base) as http:
        for headers in ({}, {"authorization": "Bearer wrong"}):
            response = await http.get("/agents", headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert response.json()["error"]["code"] == "UNAUTHENTICATED"
        response = await http.get("/agents", headers={"authorization": f"Bearer {ANN}"})
        assert response.status_code == 200
        assert "www-authenticate" not in response.headers


PAGE = "https://app.example"


@pytest.mark.parametrize("origins", [[PAGE], ["*"]], ids=str)
async def test_a_preflight_needs_no_credentials_and_allows_what_clients_send(
    origins: list[str],
) -> None:
    async with serve(protected(cors_origins=origins).app()) as base, client(base) as http:
        for path, method in (("/agents/agent", "POST"), ("/agents/agent/threads/t", "DELETE")):
            response = await http.options(
                path,
                headers={
                    "origin": PAGE,
                    "access-control-request-method": method,
                    "access-control-request-headers": "authorization,content-type",
                },
            )
            assert response.status_code == 200
            assert response.headers["access-control-allow-origin"] in (PAGE, "*")
            allowed = response.headers["access-control-allow-headers"].lower()
            assert "authorization" in allowed and "content-type" in allowed
            assert method in response.headers["access-control-allow-methods"]
            assert "access-control-allow-credentials" not in response.headers


async def test_pages_can_read_every_error(caplog: pytest.LogCaptureFixture) -> None:
    bridge = protected(cors_origins=[PAGE], allowed_hosts=["127.0.0.1"])
    bridge.settings = Settings(shutdown_grace=0.1, max_body_bytes=1000)
    ann = {"authorization": f"Bearer {ANN}", "origin": PAGE}
    big = run_input("x" * 2000)
    async with serve(bridge.app()) as base, client(base) as http:
        answers = [
            (401, await http.get("/agents", headers={"origin": PAGE})),
            (403, await http.get("/agents", headers={**ann, "host": "evil.example"})),
            (404, await http.get("/nowhere", headers=ann)),
            (404, await http.get("/agents/nobody/threads", headers=ann)),
            (405, await http.put("/agents", headers=ann)),
            (413, await http.post("/agents/agent", json=big, headers=ann)),
            (415, await http.post("/agents/agent", content="x", headers=ann)),
            (422, await http.post("/agents/agent", json={}, headers=ann)),
        ]

        def broken(_: Request) -> Principal:
            raise KeyError

        bridge.authenticate = broken
        with caplog.at_level(logging.CRITICAL, "agui_bridge"):
            answers.append((500, await http.get("/agents", headers=ann)))
    for status, response in answers:
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == PAGE
        assert response.json()["error"]["message"]
