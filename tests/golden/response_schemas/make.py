"""Write what pydantic emits as JSON Schema for the expressions below: see README.md."""

from __future__ import annotations

import datetime
import decimal
import ipaddress
import json
import typing
import uuid
from pathlib import Path
from typing import Any, Final

import pydantic
import typing_extensions


class Tree(pydantic.BaseModel):
    name: str
    children: list[Tree] = []


class Folder(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    owner: typing.Annotated[str, pydantic.Field(pattern=r"^\w+$")]
    parent: Folder | None = None
    files: dict[str, File] = {}


class Meeting(pydantic.BaseModel):
    on: datetime.date
    at: datetime.time | None = None


class File(pydantic.BaseModel):
    size: int
    link: File | Folder | None = None


Json = typing_extensions.TypeAliasType("Json", "dict[str, Json] | list[Json] | str | int | None")

NAMES: Final = {
    "File": File, "Folder": Folder, "Json": Json, "Meeting": Meeting, "Tree": Tree,
    "datetime": datetime,
    "decimal": decimal, "ipaddress": ipaddress, "pydantic": pydantic, "typing": typing,
    "uuid": uuid,
}  # fmt: skip
NOTHING: Final = object()

# An expression, evaluated as it stands; a right answer; and a wrong one where its schema has a rule
# that can be checked.
SOURCES: Final[list[tuple[str, Any, Any]]] = [
    ("datetime.date", "2024-02-29", "2023-02-29"),
    ("datetime.datetime", "2026-02-28T12:30:00", "2026-02-28"),
    ("datetime.time", "12:30:00", "noon"),
    ("datetime.timedelta", "P1DT2H30M", "a day"),
    ("uuid.UUID", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", "1b4e28ba"),
    ("pydantic.AnyUrl", "https://example.com/a", "example"),
    ("pydantic.HttpUrl", "https://example.com", "https://"),
    ("ipaddress.IPv4Address", "10.0.0.1", "10.0.0.1/8"),
    ("ipaddress.IPv6Address", "2001:db8::1", "2001:db8:::1"),
    ("decimal.Decimal", "1.50", True),
    ("typing.Annotated[str, pydantic.Field(pattern='^[a-z]+$')]", "abc", "ABC"),
    ("typing.Literal['a', 'b']", "a", "c"),
    ("list[datetime.date]", ["2024-02-29"], ["2024-02-29", "soon"]),
    ("dict[str, uuid.UUID | None]", {"a": None}, {"a": "b"}),
    ("Meeting",
     {"on": "2026-03-01", "at": "09:00"}, {"on": "2026-03-01", "at": "late"}),
    ("pydantic.Json", '{"a": 1}', NOTHING),
    ("Tree", {"name": "a", "children": [{"name": "b"}]}, {"name": "a", "children": [{}]}),
    ("Folder", {"owner": "ann", "files": {"f": {"size": 1, "link": {"owner": "bob"}}}},
     {"owner": "ann", "files": {"f": {"size": 1, "link": {"owner": "b-b"}}}}),
    ("Json", {"a": [1, {"b": None}]}, {"a": [1, {"b": True}]}),
]  # fmt: skip


def _emit() -> list[dict[str, Any]]:
    library = f"pydantic {pydantic.VERSION}"
    kept = []
    for source, right, wrong in SOURCES:
        schema = pydantic.TypeAdapter(eval(source, NAMES)).json_schema()  # the lines above
        case = {"library": library, "source": source, "schema": schema, "right": right}
        kept.append(case if wrong is NOTHING else {**case, "wrong": wrong})
    return kept


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in _emit())
    (Path(__file__).parent / "python.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
