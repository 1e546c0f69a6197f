"""The sections that files of both kinds have."""

from __future__ import annotations

from typing import ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = ["FieldSection", "Section"]


class Section(BaseModel):
    """A mapping with the keys that it names, and no others."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False
    )


class FieldSection(Section):
    """A field of a form."""

    name: str = Field(min_length=1, description="The key of its value in the answer.")
    type: Literal["text", "confirm", "select"] = Field("text", description="What is filled in.")
    label: str = Field("", description="What people read.")
    required: bool = Field(False, description="Whether it must be filled in.")
    options: list[str] = Field(default_factory=list, description="What a select offers.")

    @model_validator(mode="after")
    def _choice(self) -> Self:
        if (self.type == "select") != bool(self.options):
            raise ValueError("a select has options, and nothing else has")
        return self
