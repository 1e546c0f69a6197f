"""Who may not change tables refuses an older store with what to do, and leaves it as it is."""

from pathlib import Path

import pytest

from agui_bridge.errors import SchemaMismatch
from agui_bridge.stores.open import open_store
from tests.stores.upgrades.conftest import RESTORED


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_an_older_store_that_may_not_be_migrated_is_refused(
    kind: str, tmp_path: Path
) -> None:
    with RESTORED[kind](tmp_path) as url:
        for _ in range(2):
            with pytest.raises(SchemaMismatch) as told:
                await open_store(url, migrate=False)

    assert "has schema 0001, this version of agui-bridge needs schema 0009" in str(told.value)
    assert "run `agui-bridge migrate --store" in str(told.value)


async def test_the_layout_in_redis_is_still_the_one_of_before(tmp_path: Path) -> None:
    with RESTORED["redis"](tmp_path) as url:
        await (await open_store(url, migrate=False)).aclose()
