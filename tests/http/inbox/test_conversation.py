"""What stands for each message before a question."""

from typing import Any

import pytest

from agui_bridge.http.inbox.wording import conversation_of
from agui_bridge.protocol.threads.history import StoredMessage
from agui_bridge.protocol.threads.messages.archived import as_archived

SOURCE = {"type": "url", "value": "https://files.example/1", "mimeType": "application/pdf"}


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "text", "text": "hello"}, "hello"),
        ({"type": "document", "source": SOURCE}, "[document]"),
        (
            {"type": "document", "source": SOURCE, "metadata": {"filename": "terms.pdf"}},
            "[document: terms.pdf]",
        ),
        ({"type": "binary", "id": "1", "filename": "a.png"}, "[binary: a.png]"),
        ({"type": "document", "source": SOURCE, "metadata": {"filename": 1}}, "[document]"),
        ({"type": "document", "source": SOURCE, "metadata": "terms"}, "[document]"),
    ],
)
def test_a_file_is_shown_by_its_kind_and_its_name(part: dict[str, Any], shown: str) -> None:
    message = {"id": "u", "role": "user", "content": [part]}
    (turn,) = conversation_of([StoredMessage("u", 1, message)]).turns
    assert turn.text == shown


def test_a_message_that_no_model_is_sent_is_shown_and_said_to_be_so() -> None:
    message = as_archived({"id": "u", "role": "user", "content": "look"}, "refused")
    (turn,) = conversation_of([StoredMessage("u", 1, message)]).turns
    assert (turn.speaker, turn.text) == ("Person (not sent to the model)", "look")
