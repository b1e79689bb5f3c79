"""Probe the runs of a suite: replay, ask, fit, and write what was found beside each run."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from clew.envs import Latent
from clew.learner.playing import actor_from_arrays
from clew.learner.program import Program
from clew.probes import document
from clew.probes.document import Document
from clew.probes.fitting import Measured, measure
from clew.probes.predictions.registering import clock
from clew.probes.questions import Question, questions
from clew.probes.replay import record, state_size
from clew.probes.summary import summary
from clew.store import RunFolder, Store, world_name
from clew.suite import RunSpec
from clew.validate import whole_number

GROUP_BYTES, GROUP_QUESTIONS = 2**30, 128
"""Runs are fitted together until their recordings are as large, or as many questions are asked:
what a crash costs is one group."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """What decides a result, besides the run."""

    episodes: int = 200
    """Of the replay."""
    seed: int = 0
    """Of its levels, of the untrained memory, of the split and of the fits."""

    def __post_init__(self) -> None:
        whole_number("episodes", self.episodes, 3, 100_000)
        whole_number("seed", self.seed, 0, 2**32 - 1)

    @property
    def plain(self) -> dict[str, int]:
        """As it is stored."""
        return {"version": document.VERSION, "episodes": self.episodes, "seed": self.seed}


class Probed(NamedTuple):
    """How a run fared: its document, or why it has none."""

    run: RunSpec
    document: Document | None
    skipped: str = ""
    fresh: bool = False
    """Whether it was measured just now."""
    untrained: bool = False
    """Whether it is skipped because it is not finished."""


class Step(NamedTuple):
    """How far it is, for whoever watches."""

    what: Literal["recording", "fitting"]
    done: int
    total: int


Watch = Callable[[Step], None]


class _Todo(NamedTuple):
    run: RunSpec
    folder: RunFolder
    program: Program
    latent: Latent[Any, Any]
    weights: str


class _Recorded(NamedTuple):
    todo: _Todo
    success: float
    questions: list[Question]


def probe_runs(
    store: Store, runs: Sequence[RunSpec], protocol: Protocol, watch: Watch = lambda step: None
) -> list[Probed]:
    """Every run's probes; those that are in the store already are taken from there."""
    looked = [_look(store, run, protocol) for run in runs]
    todo = [each for each in looked if isinstance(each, _Todo)]
    if todo:
        store.require_writable()
    done = {probed.run.identity: probed for probed in _probe(todo, protocol, watch)}
    return [each if isinstance(each, Probed) else done[each.run.identity] for each in looked]


def _look(store: Store, run: RunSpec, protocol: Protocol) -> Probed | _Todo:
    """What is there already, why there can be nothing, or what is to be done."""
    folder = store.run(run.config)
    status = folder.find().status
    if status != "finished":
        absent = status == "absent"
        why = "it is not in the store" if absent else f"it is {status}, not finished"
        return Probed(run, None, why, untrained=True)
    weights = document.weights_of(folder)
    if weights is None:
        return Probed(run, None, "its weights were not kept")
    # a replay pays no bonus: arms that differ in it alone are one program to compile
    program = run.program("none")
    latent = program.env.latent()
    if latent is None:
        return Probed(run, None, f"{world_name(run.config)} has no latent to ask about")
    if not state_size(program):
        return Probed(run, None, f"{run.architecture} keeps nothing from step to step")
    known = document.read(folder)
    if known and (known["protocol"], known["agent"]) == (protocol.plain, weights):
        return Probed(run, known)
    return _Todo(run, folder, program, latent, weights)


def _probe(todo: Sequence[_Todo], protocol: Protocol, watch: Watch) -> Iterator[Probed]:
    """Record runs until there is enough to fit together, then fit; again until all are done."""
    left = list(todo)
    while left:
        with tempfile.TemporaryDirectory(prefix="clew-probe-") as folder:
            group: list[_Recorded] = []
            size = asked = 0
            while left and size < GROUP_BYTES and asked < GROUP_QUESTIONS:
                watch(Step("recording", len(todo) - len(left), len(todo)))
                place = Path(folder) / str(len(group))
                place.mkdir()
                group.append(_record(left.pop(0), place, protocol))
                size += sum(file.stat().st_size for file in place.iterdir())
                asked += len(group[-1].questions)
            watch(Step("recording", len(todo) - len(left), len(todo)))
            yield from _fit(group, protocol, watch)


def _record(todo: _Todo, folder: Path, protocol: Protocol) -> _Recorded:
    recording = record(
        todo.program,
        actor_from_arrays(todo.program, todo.folder.agent() or {}),
        todo.latent,
        folder,
        episodes=protocol.episodes,
        seed=protocol.seed,
        untrained_seed=todo.run.seed,
    )
    asked = questions(recording, todo.latent, folder)
    return _Recorded(todo, float(recording.success.mean()), asked)


def _fit(group: Sequence[_Recorded], protocol: Protocol, watch: Watch) -> Iterator[Probed]:
    data = [q.data for each in group for q in each.questions if q.data is not None]
    results = iter(measure(data, protocol.seed, lambda *far: watch(Step("fitting", *far))))
    for each in group:
        found = [None if q.data is None else next(results) for q in each.questions]
        made = _document(each, found, protocol)
        each.todo.folder.write_note(document.ROLE, made)
        yield Probed(each.todo.run, made, fresh=True)


def _document(
    recorded: _Recorded, found: Sequence[Measured | None], protocol: Protocol
) -> Document:
    return {
        "protocol": protocol.plain,
        "agent": recorded.todo.weights,
        "when": clock(),
        "success": recorded.success,
        "tail_mean": recorded.todo.folder.result().get("tail_mean"),
        "summary": summary([one for one in found if one is not None]),
        "questions": [
            {
                "question": asked.name,
                "rows": asked.rows,
                "episodes": asked.episodes,
                "why_not": asked.why_not or (one.reason if one else ""),
                "measured": one.to_json() if one else None,
            }
            for asked, one in zip(recorded.questions, found, strict=True)
        ],
    }
