"""Where a workflow is kept while it waits: the application's storage, apart for each thread."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path, PosixPath, PurePath, PurePosixPath, PureWindowsPath, WindowsPath
from types import GenericAlias
from typing import Any, Final

from agent_framework import CheckpointStorage, FileCheckpointStorage, WorkflowCheckpoint

from agui_bridge.adapters import Run
from agui_bridge_agent_framework.workflows.response_types import packed, unpacked

_WANTED: Final = (
    *(Path, PosixPath, WindowsPath, PurePath, PurePosixPath, PureWindowsPath),
    GenericAlias,
)
"""Types besides the framework's own that an answer may be of, such as `list[str]`: no code comes
with their values."""

StorageOption = Path | Callable[[Run], CheckpointStorage]


def place_of(run: Run) -> str:
    """A folder's name, of its own for each thread: who answers may be of another scope."""
    key = json.dumps([run.agent, run.principal.scope, run.thread_id])
    return hashlib.sha256(key.encode()).hexdigest()


def storage_of(option: StorageOption, run: Run, place: str) -> CheckpointStorage:
    """The storage of a run's thread.

    The framework's checkpoints hold pickles, so the bridge's store has but their ids.

    Args:
        option: a folder, or what makes the storage.
        run: the run.
        place: where in the folder.
    """
    if not isinstance(option, Path):
        return option(run)
    names = [f"{kind.__module__}:{kind.__qualname__}" for kind in _WANTED]
    return FileCheckpointStorage(option / place, allowed_checkpoint_types=names)


class Checkpoints:
    """A storage that knows what one run has put into it, and takes back what nobody needs.

    Args:
        storage: the thread's.
        place: where in a folder that is.
        earlier: ids of checkpoints that the runs before it left.
    """

    def __init__(
        self, storage: CheckpointStorage, place: str, earlier: Collection[str] = ()
    ) -> None:
        self.place = place
        self._storage = storage
        self._ids = list(earlier)
        self._pending: dict[str, frozenset[str]] = {}

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Keep one, and note what it waits for."""
        own = await self._storage.save(packed(checkpoint))
        self._ids.append(own)
        self._pending[own] = frozenset(checkpoint.pending_request_info_events)
        return own

    def waiting_for(self, requests: Collection[str]) -> str | None:
        """The last one that was saved while all of these requests were open; None without one."""
        wanted = frozenset(requests)
        found = [own for own, pending in self._pending.items() if wanted <= pending]
        return found[-1] if found else None

    async def forget(self, *, but: str | None = None) -> None:
        """Delete all that this run and those before it left, save one."""
        for own in self._ids:
            if own != but:
                await self._storage.delete(own)
        self._ids = [but] if but is not None else []

    # --- the rest of the interface ---

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """See `CheckpointStorage`."""
        return unpacked(await self._storage.load(checkpoint_id))

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """See `CheckpointStorage`."""
        return await self._storage.list_checkpoints(workflow_name=workflow_name)

    async def delete(self, checkpoint_id: str) -> bool:
        """See `CheckpointStorage`."""
        return await self._storage.delete(checkpoint_id)

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """See `CheckpointStorage`."""
        return await self._storage.get_latest(workflow_name=workflow_name)

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """See `CheckpointStorage`."""
        found: Any = await self._storage.list_checkpoint_ids(workflow_name=workflow_name)
        return list(found)
