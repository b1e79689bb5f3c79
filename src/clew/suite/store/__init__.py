"""The results store: runs by the content of their configuration, written whole or not at all."""

from clew.suite.store.aside import Incident
from clew.suite.store.canonical import canonical, differences, digest
from clew.suite.store.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from clew.suite.store.errors import CannotRead, CannotWrite, Conflict, Damaged, LeaseLost
from clew.suite.store.finding import Finding, Status
from clew.suite.store.folder import RunFolder
from clew.suite.store.lease import Claims, Lease
from clew.suite.store.merge import Merged, merge
from clew.suite.store.names import bracketed, world_name
from clew.suite.store.scan import Row, count, scan
from clew.suite.store.store import PackFolder, Store

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
