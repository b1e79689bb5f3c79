"""Which code a run was trained with, as its provenance says: packages, or modules by their hashes.

`from` has a text for the world, memory and bonus that are not Clew's own: `package 1.0`, or
`module (sha256 …), another (sha256 …)`. If the code changed between two parts of a training, there
follows `, then` with the code of the later part.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from clew.store.errors import CannotRead, Damaged
from clew.store.run_folder import RunFolder
from clew.validate import printable

THEN = ", then "
_ONE = re.compile(r"(.+) (\(sha256 [0-9a-f]+\)|[^()\s]+)")
Versions = dict[str, tuple[str, ...]]
"""By module or package: every version of it, in the order in which they trained the run."""


def continued(before: object, now: str) -> str:
    """What to keep of a run that goes on with `now`, where `before` is known of its beginning."""
    if not isinstance(before, str) or not before:
        return now
    return before if before.split(THEN)[-1] == now else before + THEN + now


def known_provenance(run: RunFolder) -> Mapping[str, object]:
    """How a run was made; empty if that is not known, or cannot be read."""
    try:
        return run.provenance()
    except (FileNotFoundError, Damaged, CannotRead):
        return {}


def versions(provenance: Mapping[str, object]) -> Versions:
    """What can be compared. Empty for runs of Clew's own code, and for those of older stores."""
    told = provenance.get("from")
    found: dict[str, list[str]] = {}
    for text in told.values() if isinstance(told, dict) else ():
        for part in str(text).replace(THEN, ", ").split(", "):
            if (match := _ONE.fullmatch(part)) and match[2] not in found.setdefault(match[1], []):
                found[match[1]].append(match[2])
    return {name: tuple(each) for name, each in found.items() if each}


def mixed(made: Iterable[tuple[str, Mapping[str, object]]]) -> list[str]:
    """A sentence for every environment whose runs were trained with different code.

    Given are the environment and the provenance of each run.
    """
    found: dict[tuple[str, str], Counter[tuple[str, ...]]] = defaultdict(Counter)
    for environment, provenance in made:
        for name, each in versions(provenance).items():
            found[environment, name][each] += 1
    return [
        printable(
            f"Caution: runs of {environment} were trained with different code: "
            + ", ".join(f"{n} with {name} {THEN[2:].join(v)}" for v, n in counted.items())
            + "; where they are compared, that change may be what differs."
        )
        for (environment, name), counted in found.items()
        if len(counted) > 1 or len(next(iter(counted))) > 1
    ]
