"""What is proved of the study's tasks, as `clew report` shows it beside what was measured.

    python benchmarks/proofs.py > findings.json

prints `src/clew/machines/tasks/shipped.json`; the seconds that each took go to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict

from clew.machines.tasks import Task, decide


def study() -> list[Task]:
    """The ten tasks of the suite `paper`, with its discounts."""
    from clew.suite import find_suite

    tasks = (Task.of_run(spec.config) for spec in find_suite("paper").runs())
    return list({task.key: task for task in tasks}.values())


def main() -> None:
    """One finding after the other."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    findings = []
    for task in study():
        began = time.process_time()
        findings.append(decide(task))
        took = time.process_time() - began
        print(f"{task.environment} {task.reward}: {took:.1f} s", file=sys.stderr, flush=True)
    json.dump([asdict(finding) for finding in findings], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
