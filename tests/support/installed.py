"""A package of adapters as pip would have installed it: found by its entry points."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["install"]


def install(folder: Path, package: str, adapters: Mapping[str, str]) -> None:
    """Leave a package's metadata in a folder of the import path.

    Args:
        folder: is, or will be, on the path.
        package: its name.
        adapters: where each adapter is (`module:name`), by its name.
    """
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {place}" for name, place in adapters.items()]
    (info / "entry_points.txt").write_text("\n".join(["[agui_bridge.adapters]", *lines, ""]))
