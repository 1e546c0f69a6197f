"""Pictures, sounds and files that people send: what can be told to a model of each, and how.

A part of a user's message has its bytes, an address, or the handle of a file that is at a provider
already. A handle is opaque: it is no address, nobody but its issuer can resolve it, and a run does
not fail because of one. So it goes to a model of its issuer's as what it is, and to no other. What
can't be told to a model is named to it in words, and in the log.

Source: AG-UI 1.1, run input; `FileSource`.
"""

from __future__ import annotations

import base64
import binascii
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from agui_bridge.frozen import dataclass
from agui_bridge.protocol.threads.content_parts import KNOWN_PARTS, file_name

logger = logging.getLogger(__name__)

Kind = Literal["image", "audio", "video", "document"]
"""What a file is to a model."""

_GROUPS: Final[Mapping[str, Kind]] = {"image": "image", "audio": "audio", "video": "video"}
_OPENAI: Final = "api.openai.com"
_NOT_PASSED_ON: Final = "[The user sent something that can't be passed on to you: {}.]"
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class Handles:
    """The handles of files that a model takes.

    Attributes:
        issuer: the provider whose they are, as AG-UI names it (`openai`, `google`); "" for none.
        kinds: of the files that the model takes by a handle.
        named_only: whether a part has to name the issuer. Else one that names nobody is taken for
            the issuer's.
    """

    issuer: str
    kinds: frozenset[Kind]
    named_only: bool = False


NO_HANDLES: Final = Handles("", frozenset())
"""Those of a model that takes none, or of which nobody knows whose it is."""


@dataclass(frozen=True, slots=True)
class Media:
    """What a part has that is no text.

    Attributes:
        kind: what it is, by the part's type and its media type.
        by: how it is there: its bytes in base64, an address, a handle; None: it is not there, or
            in a way that nobody knows.
        value: the bytes, the address or the handle.
        media_type: such as `image/png`; "" where nobody says.
        name: of the file; "" where nobody says.
        part: the type of the part.
        provider: who issued the handle; "" where nobody says.
    """

    kind: Kind
    by: Literal["data", "url", "file"] | None
    value: str
    media_type: str
    name: str
    part: str
    provider: str

    @property
    def data(self) -> bytes | None:
        """The bytes; None where the part has none, or what is no base64."""
        if self.by != "data":
            return None
        try:
            return base64.b64decode(self.value, validate=True)
        except (binascii.Error, ValueError):
            return None

    @property
    def url(self) -> str | None:
        """The address; None where the part has none."""
        return self.value if self.by == "url" else None

    def handle(self, taken: Handles) -> str | None:
        """The handle, if a model takes it; else None.

        Args:
            taken: the handles that the model takes.
        """
        if self.by != "file" or self.kind not in taken.kinds:
            return None
        known = self.provider == taken.issuer or not (self.provider or taken.named_only)
        return self.value if known else None


def media_of(part: Mapping[str, Any]) -> Media:
    """Read a part that is no text, be it of AG-UI 1.1, of 0.x (`binary`), or of a type unknown.

    The `id` of a `binary` part is an application's own name of a file: nobody can resolve it here.
    """
    named = str(part.get("type"))
    source = _legacy(part) if named == "binary" else part.get("source")
    if not isinstance(source, Mapping) or named not in {*KNOWN_PARTS, "binary"}:
        source = {}
    media_type = _text(source.get("mimeType"))
    by, value = source.get("type"), _text(source.get("value"))
    return Media(
        _GROUPS.get(named) or _GROUPS.get(media_type.partition("/")[0].lower(), "document"),
        by if by in ("data", "url", "file") and value else None,
        value,
        media_type,
        file_name(part),
        named,
        _text(source.get("provider")),
    )


def handles_at(base_url: object, kinds: Iterable[Kind]) -> Handles:
    """The handles that a model takes at an endpoint of OpenAI's API: those of OpenAI's own.

    Other servers that speak the same API have no such files, or refuse them.

    Args:
        base_url: of the endpoint.
        kinds: what the API in question has a member for.
    """
    try:
        host = urlsplit(str(base_url)).hostname or ""
    except ValueError:
        return NO_HANDLES
    # Regions have names of their own, such as eu.api.openai.com.
    own = host == _OPENAI or host.endswith(f".{_OPENAI}")
    return Handles("openai", frozenset(kinds)) if own else NO_HANDLES


def left_out(media: Media, *, log: bool = True) -> str:
    """What a model reads in place of something that can't be told to it.

    Args:
        media: what is left out.
        log: whether the log gets a line of it.
    """
    name = " ".join(media.name.split())[:_LONGEST_NAME]
    kind = media.media_type.partition(";")[0].strip().lower()
    what = f'{media.part} "{name}"' if name else media.part
    by = "a file handle" if media.by == "file" else media.by or "nothing that is known"
    if log:
        logger.warning(
            "a part of a user's message is not told to the model: %r by %s", media.part, by
        )
    return _NOT_PASSED_ON.format(f"{what}, {kind}" if kind else what)


def _legacy(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """The source of a part of type `binary`, as AG-UI 0.x has it."""
    for name in ("data", "url"):
        if part.get(name):
            return {"type": name, "value": part[name], "mimeType": part.get("mimeType")}
    return {"mimeType": part.get("mimeType")}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
