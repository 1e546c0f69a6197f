"""The API reference, from the docstrings of the public names."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Final

import griffe

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "The bridge": ("Bridge", "Settings", "Principal", "BearerTokens", "StopResult", "EndReason"),
    "Function agents": (
        "FunctionRun",
        "Approval",
        "NeedsInput",
        "Answered",
        "answered",
        "idempotency_key",
        "FunctionAdapter",
    ),
    "Agents that ask in words": ("KeywordAdapter", "Replies", "FormField"),
    "Auto-resume": ("Reply",),
    "Policy": ("ProposedCall", "ToolHints", "Verdict"),
    "Who may answer": ("ApprovalRule", "Escalation", "Remember"),
    "What a call would do": ("DiffPreview", "CommandPreview", "PreviewFailed"),
    "Adapters": (
        "Adapter",
        "AdapterCapabilities",
        "Run",
        "RunItem",
        "Pause",
        "Ask",
        "ToolCall",
        "Resume",
        "Handoff",
        "HandoffResults",
    ),
    "Tools that run in your process": (
        "ToolGate",
        "Execute",
        "Refuse",
        "AskFirst",
        "emit",
        "PredictState",
    ),
    "Surfaces": ("A2UI",),
    "Decisions": ("Decision", "Approve", "Decline", "Respond", "Answer", "Cancel"),
    "Errors": (
        "BridgeError",
        "Refused",
        "NotDelivered",
        "OutcomeUnknown",
        "UpstreamError",
        "StepFailed",
        "FrontendToolError",
        "CallDenied",
    ),
}
"""Every public name, in the order in which it is read about."""

_ONLY_POSITION: Final = griffe.ParameterKind.positional_only
_ONLY_KEYWORD: Final = griffe.ParameterKind.keyword_only
_STARRED: Final = griffe.ParameterKind.var_positional
_DOUBLE_STARRED: Final = griffe.ParameterKind.var_keyword

_HEAD = """\
# API reference

Made from the docstrings by `make docs`. Everything here is imported from `agui_bridge`.
"""


def reference_page() -> str:
    """The whole page, as Markdown.

    Raises:
        KeyError: a name in `GROUPS` is not public any more.
    """
    parts = [_HEAD, _contents()]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        parts += entries_of("agui_bridge", names)
    return "\n".join(parts).rstrip() + "\n"


def entries_of(package: str, names: Iterable[str]) -> Iterator[str]:
    """The entries of some of a package's names, as Markdown.

    Raises:
        KeyError: a name is not public.
    """
    module = module_of(package)
    for name in names:
        yield from _entry(name, module[name])


def module_of(package: str) -> Any:
    """What the source of a package says, without running it; `exports` is its `__all__`.

    Raises:
        KeyError: there is no such package below its root.
    """
    root, _, inside = package.partition(".")
    return _loaded(root)[inside] if inside else _loaded(root)


@functools.cache
def _loaded(package: str) -> Any:
    """A package with all that is in it, which takes a second to read."""
    return griffe.load(package, docstring_parser="google", resolve_aliases=True)


def _contents() -> str:
    lines = [
        f"- {title}: " + ", ".join(f"[{name}](#{name.lower()})" for name in names)
        for title, names in GROUPS.items()
    ]
    return "\n".join(lines) + "\n"


def _entry(name: str, item: Any) -> Iterator[str]:
    yield f"### {name}\n"
    if item.is_function:
        prefix = "async " if "async" in item.labels else ""
        yield f"```python\n{prefix}{_signature(item)}\n```\n"
        yield from _prose(item)
        return
    if item.is_module:
        yield f"The module `{item.path}`.\n"
        yield from _prose(item)
        return
    if not item.is_class:
        yield f"```python\n{name} = {item.value}\n```\n"
        yield from _prose(item)
        return
    if _is_made_by_readers(item):
        yield f"```python\n{_signature(item)}\n```\n"
    yield from _prose(item)
    seen = set()
    for member_name, member in item.all_members.items():
        overloads = getattr(member, "overloads", None)
        if member_name.startswith("_") or not member.has_docstring or member_name in seen:
            continue
        seen.add(member_name)
        if member.is_function:
            prefix = "async " if "async" in member.labels else ""
            yield f"#### `{name}.{member_name}`\n"
            shown = overloads or [member]
            signatures = "\n".join(prefix + _signature(each) for each in shown)
            yield f"```python\n{signatures}\n```\n"
        else:
            yield f"#### `{name}.{member_name}`: {member.annotation}\n"
        yield from _prose(member)


def _is_made_by_readers(item: Any) -> bool:
    """Whether a class has a constructor to show: fields, or arguments that its docstring tells."""
    sections = item.docstring.parsed if item.docstring else ()
    return "dataclass" in item.labels or any(each.kind.value == "parameters" for each in sections)


def _signature(function: Any) -> str:
    """The signature without `self`, broken into lines when it is long."""
    parameters = [each for each in function.parameters if each.name != "self"]
    parts = []
    for index, each in enumerate(parameters):
        kind, before = each.kind, parameters[index - 1].kind if index else None
        if before is _ONLY_POSITION and kind is not _ONLY_POSITION:
            parts.append("/")
        if kind is _ONLY_KEYWORD and before not in (_ONLY_KEYWORD, _STARRED):
            parts.append("*")
        parts.append(_parameter(each))
    if parameters and parameters[-1].kind is _ONLY_POSITION:
        parts.append("/")
    returns = f" -> {function.returns}" if getattr(function, "returns", None) else ""
    line = f"{function.name}({', '.join(parts)}){returns}"
    if len(line) <= 88:
        return line
    inner = ",\n    ".join(parts)
    return f"{function.name}(\n    {inner},\n){returns}"


def _parameter(parameter: Any) -> str:
    stars = {_STARRED: "*", _DOUBLE_STARRED: "**"}.get(parameter.kind, "")
    name = f"{stars}{parameter.name}"
    annotation = f": {_spelt(parameter.annotation)}" if parameter.annotation is not None else ""
    if stars or parameter.default is None:
        return name + annotation
    return f"{name}{annotation}{' = ' if annotation else '='}{_spelt(parameter.default)}"


def _spelt(expression: Any) -> str:
    """An annotation or a default, with the value of each constant and choice that it names."""
    if isinstance(expression, str):
        return expression
    return "".join(
        part if isinstance(part, str) else _value_of(part) or part.name
        for part in expression.iterate(flat=True)
    )


def _value_of(name: Any) -> str | None:
    """The number, text, tuple or Literal that a name of ours stands for; None for all else."""
    try:
        found = name.parent.modules_collection[name.canonical_path]
    except (AttributeError, KeyError):
        return None
    value = str(found.value) if found.is_attribute and found.value is not None else ""
    return value if value.startswith(("Literal[", "'", "(")) or value.isdecimal() else None


def _prose(item: Any) -> Iterator[str]:
    if item.docstring is None:
        return
    for section in item.docstring.parsed:
        kind, value = section.kind.value, section.value
        if kind == "text":
            yield _dedented(value) + "\n"
        elif kind in ("parameters", "attributes", "other parameters"):
            yield "\n".join(f"- `{each.name}`: {_line(each.description)}" for each in value) + "\n"
        elif kind == "returns":
            yield f"Returns: {_line(' '.join(each.description for each in value))}\n"
        elif kind == "raises":
            listed = "\n".join(
                f"- `{each.annotation}`: {_line(each.description)}" for each in value
            )
            yield f"Raises:\n\n{listed}\n"
        else:
            raise ValueError(f"{item.path}: a docstring section {kind!r} has no rendering")


def _line(text: str) -> str:
    return " ".join(text.split())


def _dedented(text: str) -> str:
    """Docstring text as Markdown: a literal block after `::` becomes a code block."""
    lines, out, inside = text.splitlines(), [], False
    for line in lines:
        if line.strip() == "::" or line.endswith("::"):
            before = line.removesuffix("::").rstrip()
            out += [f"{before}:", ""] if before else []
            out.append("```python")
            inside = True
            continue
        if inside and line and not line.startswith("    "):
            while out[-1] == "":
                out.pop()
            out += ["```", ""]
            inside = False
        out.append(line.removeprefix("    ") if inside else line)
    if inside:
        out.append("```")
    return "\n".join(out).replace("```python\n\n", "```python\n").strip()
