"""Probe the runs of a suite: replay, fit, and write the results beside each run."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from clew.envs import Environment, Knowing, latents
from clew.envs.registry import hosted
from clew.learner.playing import actor_from_arrays
from clew.learner.program import Program
from clew.probes.fitting import measure
from clew.probes.predictions import utc_now
from clew.probes.recording import Question, Recording, question_datasets
from clew.probes.replay import Questions, record, state_size
from clew.probes.results import QuestionResult, summarize
from clew.probes.stored import (
    ROLE,
    VERSION,
    StoredProbes,
    StoredQuestion,
    read_probes,
    weights_digest,
)
from clew.store import ENDED, RunFolder, Store, require, world_name
from clew.suite import RunSpec
from clew.suite.spec import NONE
from clew.validate import known_names, whole_number

GROUP_BYTES, GROUP_QUESTIONS = 2**30, 128
"""Runs are fitted together until their recordings reach this size, or this many questions are
asked: a crash costs one group."""

NAME_LATENTS = (
    '; state the keys of info to ask about, environment_options = { latents = ["KEY"] }, before '
    "you train: with them it is another run"
)
"""For a Gymnasium environment."""

OnProgress = Callable[[str, int, int], None]
"""Called with "recording" or "fitting", how many are done, and of how many."""


@dataclasses.dataclass(frozen=True)
class Protocol:
    """The settings that a result depends on, besides the run."""

    episodes: int = 200
    """To replay."""
    seed: int = 0
    """Of the levels, of the untrained memory, of the split and of the fits."""
    latent: str = ""
    """Of `clew.envs.latents`: what is asked; the world's own questions if not given."""

    def __post_init__(self) -> None:
        if self.latent:
            known_names("latent", [self.latent], latents.names())
        whole_number("episodes", self.episodes, 3, 100_000)
        whole_number("seed", self.seed, 0, 2**32 - 1)

    def to_json(self) -> dict[str, int | str]:
        """As it is stored."""
        own = {"latent": self.latent} if self.latent else {}
        return {"version": VERSION, "episodes": self.episodes, "seed": self.seed, **own}

    def questions(self, env: Environment) -> Questions | None:
        """What is asked in a world; None if that is nothing."""
        if not self.latent:
            return env.latent()
        asked = latents[self.latent].factory()
        return env.asking(asked(env.world)) if isinstance(env, Knowing) else asked(env)


class ProbedRun(NamedTuple):
    """A run with its probes, or why it has none."""

    run: RunSpec
    probes: StoredProbes | None
    skipped: str = ""
    new: bool = False
    """Whether it was measured just now."""
    untrained: Literal["", "to train", "to retry"] = ""
    """If it is skipped because its training is not finished: what would finish it."""


class _PendingRun(NamedTuple):
    run: RunSpec
    folder: RunFolder
    program: Program
    latent: Questions
    weights: str


class _RecordedRun(NamedTuple):
    pending: _PendingRun
    recording: Recording
    questions: list[Question]


def probe_runs(
    store: Store,
    runs: Sequence[RunSpec],
    protocol: Protocol,
    on_progress: OnProgress = lambda what, done, total: None,
) -> list[ProbedRun]:
    """Probe every run; results that are in the store already are read from there."""
    found = [_find(store, run, protocol) for run in runs]
    pending = [one for one in found if isinstance(one, _PendingRun)]
    if pending:
        store.require_writable()
    done = {probed.run.identity: probed for probed in _probe(pending, protocol, on_progress)}
    return [one if isinstance(one, ProbedRun) else done[one.run.identity] for one in found]


def _find(store: Store, run: RunSpec, protocol: Protocol) -> ProbedRun | _PendingRun:
    """The stored result, why there can be none, or what is to be measured."""
    folder = store.run(run.config)
    status = folder.find().status
    if status != "finished":
        absent = status == "absent"
        why = "it is not in the store" if absent else f"it is {status}, not finished"
        return ProbedRun(run, None, why, untrained="to retry" if status in ENDED else "to train")
    weights = weights_digest(folder)
    if weights is None:
        return ProbedRun(run, None, "its weights were not kept")
    # a replay pays no bonus: arms that differ in it alone share one program
    program = run.program(NONE)
    latent = protocol.questions(program.env)
    if latent is None:
        what = f"latent {protocol.latent!r}" if protocol.latent else "latent to ask about"
        named = NAME_LATENTS if hosted(run.environment) and not protocol.latent else ""
        return ProbedRun(run, None, f"{world_name(run.config)} has no {what}{named}")
    if not state_size(program):
        return ProbedRun(run, None, f"{run.architecture} keeps nothing from step to step")
    stored = read_probes(folder)
    if stored and (stored["protocol"], stored["agent"]) == (protocol.to_json(), weights):
        return ProbedRun(run, stored)
    return _PendingRun(run, folder, program, latent, weights)


def _probe(
    pending: Sequence[_PendingRun], protocol: Protocol, on_progress: OnProgress
) -> Iterator[ProbedRun]:
    """Record runs until there is enough to fit together, then fit; again until all are done."""
    left = list(pending)
    while left:
        with tempfile.TemporaryDirectory(prefix="clew-probe-") as folder:
            group: list[_RecordedRun] = []
            size = asked = 0
            while left and size < GROUP_BYTES and asked < GROUP_QUESTIONS:
                on_progress("recording", len(pending) - len(left), len(pending))
                place = Path(folder) / str(len(group))
                place.mkdir()
                group.append(_record(left.pop(0), place, protocol))
                size += group[-1].recording.bytes
                asked += len(group[-1].questions)
            on_progress("recording", len(pending) - len(left), len(pending))
            yield from _fit(group, protocol, on_progress)


def _record(pending: _PendingRun, folder: Path, protocol: Protocol) -> _RecordedRun:
    recording = record(
        pending.program,
        actor_from_arrays(pending.program, pending.folder.agent() or {}),
        pending.latent,
        folder,
        episodes=protocol.episodes,
        seed=protocol.seed,
        untrained_seed=pending.run.seed,
    )
    return _RecordedRun(pending, recording, question_datasets(recording))


def _fit(
    group: Sequence[_RecordedRun], protocol: Protocol, on_progress: OnProgress
) -> Iterator[ProbedRun]:
    data = [q.data for one in group for q in one.questions if q.data is not None]
    measured = iter(measure(data, protocol.seed, lambda *far: on_progress("fitting", *far)))
    for one in group:
        results = [None if q.data is None else next(measured) for q in one.questions]
        probes = _to_store(one, results, protocol)
        one.pending.folder.write_note(ROLE, probes)
        yield ProbedRun(one.pending.run, probes, new=True)


def _to_store(
    recorded: _RecordedRun, results: Sequence[QuestionResult | None], protocol: Protocol
) -> StoredProbes:
    run = recorded.pending.folder
    return StoredProbes(
        protocol=protocol.to_json(),
        agent=recorded.pending.weights,
        when=utc_now(),
        success=float(recorded.recording.success.mean()),
        tail_mean=require(run.name, "result", run.result(), ["tail_mean"])["tail_mean"],
        summary=summarize([one for one in results if one is not None]),
        questions=[
            StoredQuestion(
                question=asked.name,
                rows=asked.rows,
                episodes=asked.episodes,
                why_not=asked.why_not or (one.reason if one else ""),
                measured=one.to_json() if one else None,
            )
            for asked, one in zip(recorded.questions, results, strict=True)
        ],
    )
