"""What is proved of tasks of suites that ship, as `clew report` shows it beside the measured.

    python benchmarks/proofs.py paper demo > verdicts.json

prints `src/clew/machines/tasks/shipped.json`; the seconds that each took go to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict

from clew.machines.tasks import TaskSpec, decide


def tasks_of(suites: list[str]) -> list[TaskSpec]:
    """Each once, with the suite's discount."""
    from clew.suite import find_suite

    tasks = (TaskSpec.of_run(run.config) for name in suites for run in find_suite(name).runs())
    return list({task.key: task for task in tasks}.values())


def main() -> None:
    """One verdict after the other."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    verdicts = []
    for task in tasks_of(sys.argv[1:] or ["paper", "demo"]):
        began = time.process_time()
        verdicts.append(decide(task))
        took = time.process_time() - began
        print(f"{task.environment} {task.reward}: {took:.1f} s", file=sys.stderr, flush=True)
    json.dump([asdict(verdict) for verdict in verdicts], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
