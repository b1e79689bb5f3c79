"""What is stored of a run: every column of result.json, curve.npz and diagnostics.npz, once.

`clew.suite.training` writes them all; whoever reads one asks for it with `require`. A column that a
later version adds gets the next number of `SCHEMA` as its `since`: runs of earlier versions do not
have it, and that is no error. A column is never renamed, and its meaning never changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, TypeVar

from clew.validate import BadInput

SCHEMA = 2
"""Version of what is stored: settings and options (`clew.suite.schema`) and the columns below."""
T = TypeVar("T")
Part = Literal["result", "curve", "diagnostics"]


class Column(NamedTuple):
    """One thing that is stored of every finished run."""

    name: str
    meaning: str
    since: int = 1
    """The version that it came with."""


COLUMNS: dict[Part, tuple[Column, ...]] = {
    "result": (
        Column("tail_mean", "mean success over the final 20% of evaluations: the metric"),
        Column("final_success", "success of the last evaluation"),
        Column("evaluations", "how many there were"),
        Column("steps", "environment steps taken"),
        Column("first_success", "environment steps before the first success; −1 for never"),
        Column("normalised", "bonus a step before its coefficient, mean over training"),
        Column("delivered", "bonus a step after its coefficient, mean over training"),
        Column("events", "names of the events, in the order of the columns `events` below"),
        Column("components", "names of the parts of the agent that `report/gradient_norm` lists"),
    ),
    "curve": (
        Column("steps", "environment steps before the evaluation"),
        Column("success", "share of its episodes that succeeded"),
        Column("length", "steps of an episode, mean"),
        Column("reward", "undiscounted return of an episode without the bonus, mean"),
        Column("events", "events of each kind in an episode, mean"),
    ),
    "diagnostics": (
        Column("steps", "environment steps before the end of the rollout"),
        Column("episodes", "episodes that ended in the rollout"),
        Column("successes", "episodes that succeeded in it"),
        Column("reward", "reward a step without the bonus"),
        Column("events", "events of each kind a step"),
        Column("bonus", "bonus a step, as its method gives it"),
        Column("normalised", "the same divided by its running deviation, and clipped"),
        Column(
            "delivered",
            "the same times the coefficient, where it is paid: what is added to the reward",
        ),
        Column("explained_variance", "share of the targets' variance that the critic foretold"),
        Column("report/finite", "1 if every loss and gradient was finite"),
        Column("report/minibatches", "minibatches that were applied before the update ended"),
        Column(
            "report/first_ratio_error", "largest |ratio − 1| of the first one; 0 but for rounding"
        ),
        Column("report/gradient_norm", "gradient norm of each component, before clipping"),
        Column("report/mean/policy_loss", "loss of the policy, mean over minibatches"),
        Column("report/mean/value_loss", "loss of the critic"),
        Column("report/mean/entropy", "entropy of the policy, in nats"),
        Column("report/mean/kl", "approximate divergence from the policy that played"),
        Column("report/mean/clipped", "share of probability ratios that were clipped"),
        Column("report/mean/ratio_error", "largest |ratio − 1| of a minibatch, mean"),
    ),
}


def require(
    run: str, part: Part, found: Mapping[str, T], names: Iterable[str], schema: int = SCHEMA
) -> dict[str, T]:
    """Some columns of what is stored of a run; an error that names the run if one is missing.

    Left out without an error is what came with a later version than `schema`, the run's own.
    """
    declared = {column.name: column for column in COLUMNS[part]}
    wanted = [declared[name] for name in names]
    for column in wanted:
        if column.name not in found and column.since <= schema:
            raise BadInput(
                f"the {part} of run {run} has no {column.name!r} ({column.meaning}), which is "
                f"stored of every run since version {column.since}; it cannot be analysed"
            )
    return {column.name: found[column.name] for column in wanted if column.name in found}
