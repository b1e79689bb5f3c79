"""What runs take on a disk, from the shapes of what is stored of them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import jax

from clew.learner import Program
from clew.learner.agent import components
from clew.store.checkpoints import KEEP
from clew.store.columns import COLUMNS
from clew.suite.spec import NONE, RunSpec

PER_ARRAY, PER_RUN = 310, 3_000
"""Bytes of a file for each of its arrays beside the numbers; of a run's documents."""


class Footprint(NamedTuple):
    """Bytes of one run."""

    result: int
    """Once it is finished: documents, curve, diagnostics, the actor's weights."""
    checkpoints: int
    """While it is trained: weights and Adam's two moments."""


def footprint(run: RunSpec) -> Footprint:
    """Roughly: numbers have four bytes."""
    shapes = _shapes(run.program(NONE))
    evaluations = run.steps // run.settings.period
    width = {"events": shapes.events, "report/gradient_norm": shapes.components, "steps": 2}
    curve, diagnostics = (
        [width.get(column.name, 1) for column in COLUMNS[part]] for part in ("curve", "diagnostics")
    )
    numbers = evaluations * (sum(curve) + run.settings.eval_every * sum(diagnostics))
    files = PER_ARRAY * (shapes.arrays + len(curve) + len(diagnostics)) + PER_RUN
    return Footprint(4 * (shapes.actor + numbers) + files, KEEP * 3 * 4 * shapes.weights)


class _Shapes(NamedTuple):
    weights: int
    actor: int
    """Weights of what is kept."""
    arrays: int
    """They come in so many."""
    components: int
    events: int


@cache
def _shapes(program: Program) -> _Shapes:
    agent = jax.eval_shape(program.agent, jax.random.key(0))
    actor = jax.tree.leaves((agent.actor, agent.policy))
    return _Shapes(
        weights=sum(leaf.size for leaf in jax.tree.leaves(agent)),
        actor=sum(leaf.size for leaf in actor),
        arrays=len(actor),
        components=len(components(agent)),
        events=len(program.env.event_names),
    )
