"""`clew show`: one run, its curve, its files, and its agent at play."""

from __future__ import annotations

import difflib
import json as text
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from clew.cli.output import console_for, json_alone, say
from clew.cli.parsing import RunName
from clew.cli.registry import register
from clew.cli.trust import untrusted
from clew.envs.registry import hosted
from clew.plugins import FLAG
from clew.store import ENDED, RunFolder, Store, require, world_name
from clew.store.canonical import JsonObject
from clew.store.names import HASH
from clew.store.state import RunState, inspect_run, scan
from clew.validate import BadInput, listing, whole_number

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 60


@register("show")
def show(
    run: RunName,
    /,
    store: Path = Path("results"),
    beside: tuple[str, ...] = (),
    gif: Path | None = None,
    episodes: int = 3,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Show one run: its configuration, results and files, and episodes of its agent as a GIF.

    Args:
        run: Name of its folder, or its hash; the beginning is enough.
        store: Folder of the results.
        beside: Other runs of the store, which play the same levels beside it in the GIF. An
            architecture (Memoryless, Given) means its run on the same task, best without a bonus
            and with the same seed.
        gif: File for the GIF; in this folder and named after the run, and whom it has beside it,
            if not given.
        episodes: Number of episodes in the GIF; 0 for none.
        seed: Seed of the episodes.
        json: Print one JSON object.
    """
    whole_number("episodes", episodes, 0)
    if gif is not None and gif.suffix.lower() != ".gif":
        raise BadInput(f"--gif: {str(gif)!r} does not end in .gif; name such a file")
    opened = Store(store, read_only=True)
    folder = find_run(opened, run)
    found = inspect_run(folder)
    console = console_for(json)
    about = describe(opened, folder, found)
    if not json:
        print_run(console, about)
    if found.status == "finished" and episodes and found.config:
        others = [_beside(opened, found.config, name) for name in beside]
        with json_alone(json):  # an environment may print
            runs = [opened.run(found.config), *others]
            about["gif"] = _record(console, runs, beside, gif, episodes, seed)
    if json:
        print(text.dumps(about))


def find_run(store: Store, asked: str) -> Path:
    """The one folder that a name or hash, or the beginning of either, can mean."""
    folders = {folder.name: folder for folder in store.folders()}
    asked = Path(asked).name or asked
    if asked in folders:
        return folders[asked]
    meant = [name for name in folders if name.startswith(asked)]
    meant = meant or [name for name in folders if _hash_begins(folders[name], asked)]
    if len(meant) == 1:
        return folders[meant[0]]
    if meant:
        more = f" and {len(meant) - 5} more" if len(meant) > 5 else ""
        raise BadInput(
            f"run={asked!r} could be {len(meant)} runs: {listing(meant[:5])}{more}; write more of "
            "its name, or the hash at its end"
        )
    near = difflib.get_close_matches(asked, folders, n=3, cutoff=0.3) or list(folders)[:3]
    raise BadInput(
        f"there is no run {asked!r} in {str(store.root)!r}"
        + (
            f"; the nearest are {listing(near)}"
            if near
            else ", which is empty; `clew run` fills one"
        )
    )


def describe(store: Store, folder: Path, found: RunState) -> JsonObject:
    """Everything that is known of a run, as plain data."""
    config = dict(found.config)
    about: JsonObject = {
        "name": folder.name,
        "status": found.status,
        "reason": found.reason,
        "identity": found.identity,
        "folder": str(folder),
        "files": {path.name: path.stat().st_size for path in sorted(folder.iterdir())},
        "config": config,
    }
    if found.status in ENDED and config:
        run = store.run(config)
        about["provenance"] = run.provenance()
        if "curve.npz" in (found.outcome or {}).get("files", {}):
            curve = require(run.name, "curve", run.curve(), ("steps", "success"))
            about["curve"] = {name: values.tolist() for name, values in curve.items()}
    if found.status == "finished" and found.outcome is not None:
        about["result"] = found.outcome["result"]
    return about


def print_run(console: Console, about: JsonObject) -> None:
    """For people."""
    facts = Table.grid(padding=(0, 2))
    for name, value in _facts(about).items():
        facts.add_row(name, value)
    console.print(facts, highlight=False, markup=False)
    if "curve" in about:
        steps, success = about["curve"]["steps"], about["curve"]["success"]
        say(console, f"\nsuccess, 0 to 1, over {len(steps)} evaluations:")
        say(console, sparkline(success))
        say(console, f"from {steps[0]:,} to {steps[-1]:,} steps")
    say(console, f"\n{about['folder']}/")
    for name, size in about["files"].items():
        say(console, f"  {name:<18}{size:>12,} bytes")


def sparkline(values: list[float], width: int = WIDTH) -> str:
    """Values from 0 to 1 as bars, neighbours averaged; a blank where there is none."""
    n = min(width, len(values))
    bars = ""
    for i in range(n):
        part = values[i * len(values) // n : (i + 1) * len(values) // n]
        known = [value for value in part if value == value]
        level = sum(known) / len(known) if known else None
        bars += " " if level is None else BARS[min(int(max(level, 0) * len(BARS)), len(BARS) - 1)]
    return bars


def _facts(about: JsonObject) -> dict[str, str]:
    config, result = about["config"], about.get("result", {})
    facts = {"run": about["name"], "status": about["status"]}
    if about["reason"]:
        facts["reason"] = about["reason"]
    if config:
        arm = (world_name(config), *(config[f] for f in ("reward", "architecture", "bonus")))
        facts |= {"arm": " / ".join(arm), "seed": str(config["seed"])}
        for part in ("knobs", "settings"):
            facts[part] = ", ".join(f"{k} {v}" for k, v in config.get(part, {}).items())
    if result:
        first = result["first_success"]
        facts |= {
            "tail mean": f"{result['tail_mean']:.3f}, last {result['final_success']:.2f}",
            "first success": "never" if first < 0 else f"after {first:,} steps",
            "trained for": f"{result['steps']:,} steps",
        }
    if made := about.get("provenance"):
        if isinstance(brought := made.get("from"), dict):
            facts["from"] = ", ".join(f"{kind} {who}" for kind, who in brought.items())
        facts["made by"] = f"clew {made.get('clew')}, {made.get('commit') or 'no commit'}"
        facts["on"] = f"{made.get('device')}, jax {made.get('jax')}"
        if "seconds" in made:
            facts["took"] = f"{made['seconds']:.1f} s on the device"
    return facts


def _beside(store: Store, config: JsonObject, asked: str) -> RunFolder:
    """The run that is meant: by its architecture, on the same task, or else by its own name."""
    world = ("environment", "environment_options")

    def alike(row: RunState, *fields: str) -> bool:
        return all(row.config.get(field) == config.get(field) for field in fields)

    def unlike(row: RunState) -> tuple[bool, bool]:
        return row.config.get("bonus") != "none", not alike(row, "seed")

    finished = (row for row in scan(store) if row.status == "finished")
    same = [row for row in finished if alike(row, *world, "reward")]
    if named := [row for row in same if row.config.get("architecture") == asked]:
        return store.run(min(named, key=unlike).config)
    found = inspect_run(find_run(store, asked))
    if found.status != "finished" or not alike(found, *world):
        raise BadInput(
            f"{found.name} cannot play beside it: it is {found.status}, in "
            f"{world_name(found.config)}; name a finished run of {world_name(config)}, or an "
            "architecture"
        )
    return store.run(found.config)


def _record(
    console: Console,
    runs: list[RunFolder],
    beside: Sequence[str],
    gif: Path | None,
    episodes: int,
    seed: int,
) -> JsonObject | None:
    """Write the GIF; how the episodes of each run went."""
    from clew.cli.film import Agent, write_film
    from clew.learner.playing import NotFilmed

    agents: list[Agent] = []
    for run in runs:
        weights = run.agent()
        if weights is None:
            say(console, f"this store does not keep the weights of {run.name}: there is no GIF")
            return None
        _require_names(run)
        agents.append(Agent(run.config, weights))
    path = gif or _film_name(runs, beside)
    say(console, "\nplaying …")
    try:
        played = write_film(path, agents, episodes, seed)
    except NotFilmed as why:
        if gif or beside:
            raise
        say(console, f"there is no GIF: {why}")
        return None
    for run, record in zip(runs, played, strict=True):
        succeeded, steps = sum(record.successes), sum(record.lengths)
        say(console, f"{run.name}: {succeeded} of {episodes} episodes succeeded, {steps} steps")
    say(console, f"written: {path}")
    about = [{"run": run.name, **each._asdict()} for run, each in zip(runs, played, strict=True)]
    first, *others = about
    return {"path": str(path), **first, "beside": others}


def _film_name(runs: Sequence[RunFolder], beside: Sequence[str]) -> Path:
    """Of the run, and of the architectures beside it; of a run that was named itself, its hash."""
    whole = [
        asked if asked == run.config["architecture"] else run.name[-HASH:]
        for asked, run in zip(beside, runs[1:], strict=True)
    ]
    return Path("-".join([runs[0].name, *["beside"] * bool(whole), *whole]) + ".gif")


def _require_names(run: RunFolder) -> None:
    """To play, what the run was trained with must be known here: installed, or named by the user.

    A store may come from anybody: nothing is imported because it stands in one.
    """
    from clew.suite.schema import KINDS, REGISTRIES

    config = run.config
    for kind in KINDS:
        name = config[kind]
        if kind == "environment" and hosted(name):
            if found := untrusted(name, config.get("environment_options") or {}):
                target, module = found
                raise BadInput(
                    f"to play, this run calls {target!r}, and code that a store names is not run "
                    f"unless you name its module too; if you trust it: {FLAG} {module}"
                )
        elif name not in REGISTRIES[kind].names():
            brought = run.provenance().get("from")
            whose = brought.get(kind) if isinstance(brought, dict) else None
            raise BadInput(
                f"there is no {kind} {name!r} here, so there is no GIF; "
                + (f"it is from {whose}: " if whose else "")
                + f"install its package, or name its module, {FLAG} NAME"
            )


def _hash_begins(folder: Path, asked: str) -> bool:
    if folder.name[-HASH:].startswith(asked):
        return True
    if not asked.startswith(folder.name[-HASH:]):
        return False
    return (inspect_run(folder, deep=False).identity or "").startswith(asked)
