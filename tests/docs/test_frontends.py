"""The page of the frontends says what the marked tests show, and no more."""

from __future__ import annotations

from docs.generators.frontends import CLIENTS, FEATURES, PAGE, claims_of, frontends_page


def test_the_tables_have_what_the_tests_are_marked_with() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page == frontends_page(page, claims_of()), "run `make frontends`"
    assert page.count("\n| ") == len(FEATURES) + 3 + len(claims_of()) + len(CLIENTS)


def test_a_mark_names_a_client_and_features_that_the_page_has() -> None:
    claims = claims_of()

    assert {claim.client for claim in claims} == {client.name for client in CLIENTS}
    assert {claim.feature for claim in claims} == set(FEATURES)
