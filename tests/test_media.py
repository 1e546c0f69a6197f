"""Which servers are OpenAI's own, and what is read of parts in odd shapes."""

from __future__ import annotations

from typing import Any

import pytest

from agui_bridge.media import NO_HANDLES, Handles, handles_at, left_out, media_of


@pytest.mark.parametrize(
    ("address", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://API.OpenAI.com/v1/", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://api.openai.com.example/v1", False),
        ("https://myapi.openai.com.example/v1", False),
        ("https://notapi.openai.com/v1", False),
        ("https://api.openai.com@example.com/v1", False),
        ("https://example.com/api.openai.com", False),
        ("https://mine.openai.azure.com/openai/v1", False),
        ("http://127.0.0.1:11434/v1", False),
        ("http://[/v1", False),
        (None, False),
    ],
)
def test_openais_handles_are_for_openais_own_servers(address: Any, own: bool) -> None:
    made = handles_at(address, {"document"})
    assert made == (Handles("openai", frozenset({"document"})) if own else NO_HANDLES)


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"type": "image", "source": {"type": "data", "value": "aGk="}}, ("image", "data", b"hi")),
        ({"type": "image", "source": {"type": "data", "value": "?"}}, ("image", "data", None)),
        (
            {"type": "binary", "mimeType": "audio/wav", "data": "aGk="},
            ("audio", "data", b"hi"),
        ),
        ({"type": "binary", "mimeType": "video/mp4", "url": "u"}, ("video", "url", None)),
        ({"type": "binary", "mimeType": "image/png", "id": "f"}, ("image", None, None)),
        ({"type": "binary"}, ("document", None, None)),
        ({"type": "image", "source": {"type": "url", "value": ""}}, ("image", None, None)),
        ({"type": "image", "source": {"type": "tape", "value": "x"}}, ("image", None, None)),
        ({"type": "image", "source": "x"}, ("image", None, None)),
        ({"type": "image"}, ("image", None, None)),
        ({"type": "later", "source": {"type": "url", "value": "u"}}, ("document", None, None)),
        ({}, ("document", None, None)),
    ],
)
def test_a_part_is_read_as_far_as_it_is_known(part: Any, read: Any) -> None:
    media = media_of(part)
    assert (media.kind, media.by, media.data) == read


def test_words_about_a_file_are_one_line_whatever_its_name_is() -> None:
    named = {"type": "document", "metadata": {"filename": "a\n\nb" + "c" * 500}}
    words = left_out(media_of(named))
    assert "\n" not in words and '"a b' in words and len(words) < 300
