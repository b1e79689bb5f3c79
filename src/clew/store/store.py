"""The results store: a folder of runs, packs, plans, leases and damaged files."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from clew.store import atomic
from clew.store.canonical import JsonObject, digest, plain
from clew.store.checkpoints import Checkpoints
from clew.store.documents import Header, names_in, read_any, read_document, write_document
from clew.store.errors import CannotRead, CannotWrite, Damaged
from clew.store.leases import BEAT, STALE, Claims
from clew.store.names import HASH, NAME, pack_name, slug
from clew.store.quarantine import FOLDER as QUARANTINE
from clew.store.quarantine import Incident, Quarantine
from clew.store.run_folder import RunFolder
from clew.validate import BadInput

MARK = "clew-store.json"
PLANS = "plans"
LAYOUT = 1
_HEADER = Header("store", "store")


class Store:
    """Runs, packs, leases and damaged files under one folder.

    A store opened `read_only` is never written to; damage in it is reported and left in place.
    """

    def __init__(self, root: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.root = Path(root)
        self.read_only = read_only
        self.runs_folder, self.packs_folder = self.root / "runs", self.root / "packs"
        self._quarantine = Quarantine(self.root, read_only=read_only)
        self._open()

    def run(self, config: Mapping[str, object]) -> RunFolder:
        """The folder of the run with this configuration, whether it exists or not."""
        return RunFolder(self.runs_folder, config, self._quarantine)

    def pack(
        self, configs: Sequence[Mapping[str, object]], bonuses: Sequence[str] = ()
    ) -> PackFolder:
        """The pack of runs with these configurations, in this order.

        `bonuses` are the names of its program's, if it has several: the same runs in such a program
        are another pack.
        """
        return PackFolder(self, configs, bonuses)

    def claims(self, *, beat: float = BEAT, stale: float = STALE) -> Claims:
        """One worker's view of who works on what."""
        return Claims(self.root / "leases", beat=beat, stale=stale)

    def folders(self) -> Iterator[Path]:
        """Every run's folder, by name."""
        yield from _children(self.runs_folder)

    def pack_folders(self) -> Iterator[Path]:
        """Every pack's folder, by name."""
        yield from _children(self.packs_folder)

    def plan(self, name: str) -> tuple[int, JsonObject] | None:
        """The newest sound revision of a plan that all workers follow, and its number."""
        for number in sorted(self._revisions(name), reverse=True):
            path, header = self._revision(name, number)
            try:
                return number, read_document(path, header)
            except Damaged as damage:
                self._quarantine.put(damage)
            except FileNotFoundError:
                if path.is_symlink():
                    self._quarantine.put(Damaged(path, "is a link that leads nowhere"))
        return None

    def propose(self, name: str, revision: int, data: Mapping[str, object]) -> bool:
        """Write a revision of a plan; False if somebody has written it before."""
        if self.read_only:
            raise BadInput(f"{str(self.root)!r} was opened read-only; a plan cannot be written")
        path, header = self._revision(name, revision)
        try:
            write_document(path, header, plain(data), overwrite=False)
        except FileExistsError:
            return False
        return True

    def require_present(self) -> None:
        """Raise an error if the store was deleted or moved since it was opened."""
        if not (self.root / MARK).exists():
            raise BadInput(
                f"{str(self.root)!r} is no longer a store: it, or its {MARK}, was deleted or moved "
                f"while it was in use; nothing more is written there"
            )

    def require_writable(self) -> None:
        """Raise `CannotWrite` now, rather than after long work whose result would have no place."""
        path = self.root / f"{atomic.TEMPORARY}{secrets.token_hex(6)}"
        atomic.write(path, lambda file: file.write(b"may I?"))
        path.unlink()

    @property
    def incidents(self) -> Sequence[Incident]:
        """Damage that was found since the store was opened."""
        return tuple(self._quarantine.incidents)

    def quarantined(self) -> list[JsonObject]:
        """Every damaged file that was ever found: what it was, why, when, and where it lies."""
        return self._quarantine.listed()

    def _revisions(self, name: str) -> list[int]:
        """Numbers of those that are there."""
        names = names_in(self.root / PLANS)
        found = (re.fullmatch(rf"{slug(name)}(?:-r(\d+))?\.json", each) for each in names)
        return [int(match[1] or 1) for match in found if match]

    def _revision(self, name: str, number: int) -> tuple[Path, Header]:
        ending = "" if number == 1 else f"-r{number}"
        return self.root / PLANS / f"{slug(name)}{ending}.json", Header("plan", name)

    def _open(self) -> None:
        if self.root.exists() and not self.root.is_dir():
            raise BadInput(f"{str(self.root)!r} is not a folder; name the folder of a store")
        try:
            mark = read_document(self.root / MARK, _HEADER)
            if not isinstance(mark, dict) or "layout" not in mark:
                raise Damaged(self.root / MARK, "does not say what the store's layout is")
        except FileNotFoundError:
            return self._create()
        except Damaged as damage:
            self._quarantine.put(damage)
            return None if self.read_only else self._mark()
        if mark["layout"] != LAYOUT:
            raise BadInput(
                f"{str(self.root)!r} is a store of layout {mark['layout']!r}, and this version of "
                f"Clew reads layout {LAYOUT}; use the version that wrote it, or another folder"
            )
        return None

    def _create(self) -> None:
        strange = {n for n in names_in(self.root) if not n.startswith(atomic.TEMPORARY)}
        if self.read_only and not self.root.exists():
            raise BadInput(f"{str(self.root)!r} does not exist; name the folder of a store")
        odd = strange - {"runs", "packs", "leases", QUARANTINE, PLANS}
        if (odd or self.read_only) and not self._holds_documents():
            raise BadInput(
                f"{str(self.root)!r} is not a store (it has no {MARK}); {self._instead()}"
            )
        if not self.read_only:
            self._mark()

    def _instead(self) -> str:
        """Which folder may be meant."""
        if below := sorted(path.parent for path in self.root.glob(f"*/{MARK}")):
            return f"did you mean {str(below[0])!r}?"
        return (
            "name the folder that `clew run`, `clew train` or `clew demo` wrote to, or a new or "
            "empty one to begin a store"
        )

    def _holds_documents(self) -> bool:
        """Whether something that only a store has is there, whatever else is."""
        for pattern in ("runs/*/config.json", f"{PLANS}/*.json"):
            for path in self.root.glob(pattern):
                with contextlib.suppress(Damaged, CannotRead, FileNotFoundError):
                    read_any(path)
                    return True
        return False

    def _mark(self) -> None:
        write_document(self.root / MARK, _HEADER, {"layout": LAYOUT})


class PackFolder:
    """A pack of runs: what is claimed, and what checkpoints belong to."""

    def __init__(
        self, store: Store, configs: Sequence[Mapping[str, object]], bonuses: Sequence[str] = ()
    ) -> None:
        if not configs:
            raise BadInput("a pack must have at least one run")
        self.root = store.root
        self.config: JsonObject = {"runs": plain(list(configs))}
        if bonuses:
            self.config["bonuses"] = list(bonuses)
        self.identity = digest(self.config)
        self.name = pack_name(self.config["runs"], self.identity)
        self.runs = [store.run(config) for config in configs]
        self._read_only = store.read_only
        self.checkpoints = Checkpoints(
            store.packs_folder / self.name, self.config, store._quarantine
        )

    def finished(self) -> bool:
        """Whether every run of the pack has its result. Its checkpoints then go, if any are left.

        A worker may be killed between the last result and its clearing up; nobody would claim
        the pack again.
        """
        if not all(run.finished() for run in self.runs):
            return False
        if not self._read_only:
            with contextlib.suppress(CannotWrite):
                self.checkpoints.clear()
        return True

    def sweep(self) -> int:
        """Remove what interrupted writes under the pack's lease left; for its holder.

        Others write there too: packs that share a run, merges, whoever keeps a note.
        """
        folders = [self.checkpoints.folder, *(run.path for run in self.runs)]
        return sum(atomic.sweep(folder, self.name[-HASH:]) for folder in folders)


def _children(folder: Path) -> Iterator[Path]:
    yield from (folder / name for name in names_in(folder) if NAME.fullmatch(name))
