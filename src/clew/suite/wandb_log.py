"""Logs for Weights & Biases: a run of Clew is a run there, its arm is the group.

With an account they are sent as they come; without one, or with WANDB_MODE=offline, they are kept
in the store's folder `wandb`, for `wandb sync`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clew.store import RunFolder, atomic, digest
from clew.store.names import folder_name
from clew.validate import BadInput

if TYPE_CHECKING:
    from clew.suite.logs import End, Row

FOLDER, PROJECT = "wandb", "clew"


class WandbLog:
    """A run at Weights & Biases.

    Offline, a log that is made again lies in a folder of its own, and those before it are removed.
    Online it is the same run that goes on: what the server has is not sent again.
    """

    def __init__(self, root: Path, run: RunFolder, rows: Sequence[Row]) -> None:
        import wandb  # pyright: ignore[reportMissingImports]

        self._done = _mark(root, run)
        try:
            self._run: Any = wandb.init(
                dir=root,
                project=os.environ.get("WANDB_PROJECT", PROJECT),
                id=run.identity[:16],
                name=run.name,
                group=arm_name(run),
                config=run.config,
                # None: its environment and settings decide; without an account it would ask
                mode=None if os.environ.get("WANDB_MODE") or _has_account() else "offline",
                resume="allow",
                reinit="create_new",  # the runs of a pack are logged side by side
                # nothing is printed between progress bars; the machine's load is no run's own
                settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
            )
        except Exception as error:  # wandb's errors have little in common
            raise BadInput(
                f"wandb could not begin ({' '.join(str(error).split()) or type(error).__name__}); "
                f"WANDB_MODE=offline logs without a connection"
            ) from error
        self._from = int(self._run.step)
        mine = Path(self._run.dir).parent
        for folder in (root / FOLDER).glob(f"offline-run-*-{run.identity[:16]}"):
            if folder.name != mine.name:
                shutil.rmtree(folder, ignore_errors=True)
        self._done.unlink(missing_ok=True)
        self.write(rows)

    @staticmethod
    def is_complete(root: Path, run: RunFolder) -> bool:
        """Whether a log was closed at the run's end."""
        return _mark(root, run).exists()

    def write(self, rows: Sequence[Row]) -> None:
        """Add rows; steps are environment steps."""
        for step, row in rows:
            if step >= self._from:
                self._run.log(row, step=step, commit=True)

    def close(self, end: End) -> None:
        """Send what is left."""
        self._run.finish(exit_code=int(end == "failed"))
        if end == "complete":
            atomic.write(self._done, lambda file: file.write(b""))


def arm_name(run: RunFolder) -> str:
    """What the runs of an arm have in common: all of it but the seed."""
    arm = {name: value for name, value in run.config.items() if name != "seed"}
    words = (arm.get(name) for name in ("environment", "reward", "architecture", "bonus"))
    return folder_name([str(word) for word in words], digest(arm))


def _mark(root: Path, run: RunFolder) -> Path:
    return root / FOLDER / "complete" / run.name


@cache
def _has_account() -> bool:
    import wandb  # pyright: ignore[reportMissingImports]

    return wandb.login(prompt=False, verify=False)
