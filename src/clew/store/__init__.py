"""The results store: runs by the content of their configuration, written whole or not at all."""

from clew.store.aside import Incident
from clew.store.canonical import canonical, differences, digest
from clew.store.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from clew.store.errors import CannotRead, CannotWrite, Conflict, Damaged, LeaseLost
from clew.store.finding import Finding, Status
from clew.store.folder import RunFolder
from clew.store.lease import Claims, Lease
from clew.store.merge import Merged, merge
from clew.store.names import bracketed, world_name
from clew.store.scan import Row, count, scan
from clew.store.store import PackFolder, Store

__all__ = [
    "CannotRead",
    "CannotWrite",
    "Checkpoint",
    "Checkpoints",
    "Claims",
    "Conflict",
    "Damaged",
    "Finding",
    "Incident",
    "Lease",
    "LeaseLost",
    "Merged",
    "PackFolder",
    "Row",
    "RunFolder",
    "Status",
    "Store",
    "bracketed",
    "canonical",
    "count",
    "differences",
    "digest",
    "merge",
    "read_checkpoint",
    "scan",
    "world_name",
]
