"""Verdicts about tasks: those that ship are what `decide` finds, and the time limit holds."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from clew.cli.commands.classify import _pair, load
from clew.machines.tasks import TaskSpec, TaskVerdict, ask, decide, shipped
from clew.suite import find_suite

SMALL = TaskSpec("TinyReproduce", "dense", {"k": 2, "v": 2}, discount="199/200")
STUDY = {
    ("MysteryPath-Grid", "sparse"): "amplify",
    ("MysteryPath-Grid", "penalty"): "amplify",
    ("MysteryPath-Grid", "aligned"): "amplify",
    ("MysteryPath-Grid", "distractor"): "amplify",
    ("MiniGrid-MemoryS13", "sparse"): "equalise",
    ("MiniGrid-MemoryS13", "penalty"): "equalise",
    ("MiniGrid-MemoryS13", "distractor"): None,
    ("TinyReproduce", "sparse"): "null",
    ("TinyReproduce", "dense"): "null",
}


def tasks_of(suite: str) -> set[str]:
    return {TaskSpec.of_run(run.config).key for run in find_suite(suite).runs()}


def test_every_task_of_the_study_and_of_the_demo_ships() -> None:
    assert tasks_of("paper") | tasks_of("demo") == shipped().keys()
    assert len(tasks_of("paper")) == 10
    for finding in shipped().values():
        expected = STUDY[finding.task.environment, finding.task.reward]
        if expected is None:
            assert finding.summary is None
            assert "too few" in finding.refused
        else:
            assert finding.summary is not None
            assert finding.summary["expected_effect_of_a_bonus"] == expected
            assert finding.summary["discount"] == finding.task.discount
            assert bool(finding.smaller) == bool(finding.refused)


def of_the_study(environment: str, reward: str, **options: object) -> TaskVerdict:
    return next(
        finding
        for finding in shipped().values()
        if (finding.task.environment, finding.task.reward) == (environment, reward)
        and finding.task.options == options
    )


@pytest.mark.parametrize(
    "known",
    [
        of_the_study("TinyReproduce", "sparse"),
        of_the_study("MiniGrid-MemoryS13", "distractor", revisit="standing"),
        of_the_study("MiniGrid-MemoryS13", "sparse", view=7),
        *(
            pytest.param(finding, marks=pytest.mark.slow)
            for finding in shipped().values()
            if finding.task.environment == "MysteryPath-Grid"
        ),
    ],
    ids=lambda finding: f"{finding.task.environment}-{finding.task.reward}",
)
def test_what_ships_is_what_is_found(known: TaskVerdict) -> None:
    found = json.loads(json.dumps(asdict(decide(known.task))))
    assert found == asdict(known)


def test_the_task_itself_is_decided_where_it_is_small() -> None:
    finding = decide(SMALL)
    assert finding.summary is not None
    assert (finding.smaller, finding.refused) == ({}, "")
    assert finding.summary["states"] == 25
    # prices that are the variant's own change nothing, others do
    same = decide(replace(SMALL, prices={"correct": 0.5, "wrong": 0.0}))
    assert same.summary == finding.summary
    dearer = decide(replace(SMALL, prices={"correct": 1.0}))
    assert dearer.summary is not None
    assert dearer.summary["optimal_return"] != finding.summary["optimal_return"]


def test_prices_that_are_nothing_do_not_make_another_task() -> None:
    priced = replace(SMALL, prices={"correct": 0.5})
    assert priced.key == replace(SMALL, prices={"correct": 0.5, "wrong": 0.0}).key
    assert priced.key != SMALL.key
    assert priced.command == (
        "clew classify TinyReproduce --options k=2 v=2 reward=dense discount=199/200"
    )


def test_a_list_is_written_as_the_command_reads_it() -> None:
    listed = TaskSpec("MysteryPath-Grid", "sparse", {"size": 3, "origin_sides": (0, 1)})
    (_, _, world, _, *options) = shlex.split(listed.command)
    chosen = dict(_pair(option) for option in options)
    assert world == "MysteryPath-Grid"
    assert chosen["origin_sides"] == [0, 1]
    load(world, chosen)


def test_what_cannot_be_decided_says_why() -> None:
    finding = decide(TaskSpec("Nowhere", "sparse"))
    assert finding.summary is None
    assert "Nowhere" in finding.refused


def test_asking_ends_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was said before counts; a line that was cut off does not."""

    def late(*_: object, timeout: float, **__: object) -> None:
        said = json.dumps(asdict(TaskVerdict(SMALL, refused="so"))).encode()
        raise subprocess.TimeoutExpired("ask", timeout, output=said + b"\n" + said[:40])

    monkeypatch.setattr(subprocess, "run", late)
    assert ask([SMALL, SMALL], seconds=1) == {SMALL.key: TaskVerdict(SMALL, refused="so")}
    assert ask([SMALL], 0) == {}
    assert ask([], 10) == {}


def test_what_ships_is_read_without_jax() -> None:
    code = (
        "import sys; from clew.machines.tasks import shipped; assert len(shipped()) == 12; "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
