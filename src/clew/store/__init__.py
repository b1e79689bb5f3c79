"""The results store: runs by the content of their configuration, written whole or not at all."""

from clew.store.canonical import canonical, differences, digest
from clew.store.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from clew.store.columns import require
from clew.store.errors import CannotRead, CannotWrite, Conflict, Damaged, LeaseLost
from clew.store.leases import Claims, Lease
from clew.store.merge import Merged, merge
from clew.store.names import bracketed, world_name
from clew.store.quarantine import Incident
from clew.store.run_folder import RunFolder
from clew.store.state import ENDED, LEFT_ALONE, RunState, Status, count, scan
from clew.store.store import PackFolder, Store

__all__ = [
    "ENDED",
    "LEFT_ALONE",
    "CannotRead",
    "CannotWrite",
    "Checkpoint",
    "Checkpoints",
    "Claims",
    "Conflict",
    "Damaged",
    "Incident",
    "Lease",
    "LeaseLost",
    "Merged",
    "PackFolder",
    "RunFolder",
    "RunState",
    "Status",
    "Store",
    "bracketed",
    "canonical",
    "count",
    "differences",
    "digest",
    "merge",
    "read_checkpoint",
    "require",
    "scan",
    "world_name",
]
