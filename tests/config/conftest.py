"""A folder with the module that the files of these tests name."""

from pathlib import Path

import pytest

from tests.config.files import MODULE


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop_for_config.py").write_text(MODULE)
    return tmp_path
