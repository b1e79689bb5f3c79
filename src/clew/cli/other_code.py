"""Runs of a store that were trained with other code of the same name than there is now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clew.cli.next_steps import shown
from clew.store import ENDED, RunState, Store, scan
from clew.store.arms import name_arms, names_an_arm
from clew.store.code import known_provenance, mixed, versions

if TYPE_CHECKING:
    from clew.suite import Suite


def mixed_code(store: Store, rows: Sequence[RunState]) -> list[str]:
    """Where runs of one environment were trained with different code, as a report says it."""
    sound = [row.config for row in rows if names_an_arm(row.config)]
    made = [(config, known_provenance(store.run(config))) for config in sound]
    made = [(config, each) for config, each in made if versions(each)]
    arms, _ = name_arms([config for config, _ in made])
    return mixed((arm.environment, each) for arm, (_, each) in zip(arms, made, strict=True))


def trained_with_other_code(suite: Suite, store: Store) -> list[str]:
    """What to know before runs of a suite are resumed, or are not trained as they are finished."""
    from clew.suite.provenance import origins
    from clew.suite.resuming import furthest, newest_checkpoints

    status = {row.identity: row.status for row in scan(store)}
    resumed = furthest(newest_checkpoints(store))
    found: dict[tuple[str, str], Counter[str]] = {}
    for run in suite.runs():
        ended, code = status.get(run.identity) in ENDED, versions({"from": origins(run)})
        if not code or not (ended or resumed.get(run.identity)):
            continue
        then = versions(known_provenance(store.run(run.config)))
        for name, now in code.items():
            if name in then and then[name] != now:
                kinds = found.setdefault((name, now[0]), Counter())
                kinds[status[run.identity] if ended else "unfinished"] += 1
    return [_sentence(*code, kinds, store) for code, kinds in found.items()]


def _sentence(name: str, now: str, kinds: Counter[str], store: Store) -> str:
    runs = " and ".join(f"{n} {status}" for status, n in sorted(kinds.items()))
    runs += " run" if kinds.total() == 1 else " runs"
    root = shown(store.root)
    return (
        f"{name} was changed since {runs} began with it (now {now.strip('()')}). "
        "Finished runs stay as they are and unfinished ones go on, so old and new are compared. "
        "To train all with what is there now, use another --store, or delete the folders of those "
        f"runs in {root}/runs and of their packs in {root}/packs"
    )
