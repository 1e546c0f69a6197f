"""All seeded faults."""

from __future__ import annotations

from typing import Final

from tests.seeded.conversations import CONVERSATIONS
from tests.seeded.fault import Fault
from tests.seeded.peers import PEERS
from tests.seeded.protocol import PROTOCOL
from tests.seeded.running import RUNNING
from tests.seeded.stores import STORES
from tests.seeded.surfaces import SURFACES

__all__ = ["FAULTS"]

FAULTS: Final[tuple[Fault, ...]] = (
    *PROTOCOL,
    *CONVERSATIONS,
    *RUNNING,
    *STORES,
    *SURFACES,
    *PEERS,
)
