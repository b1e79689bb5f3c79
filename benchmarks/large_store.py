"""A store as large as the study, with invented figures, to measure what reads it.

    python benchmarks/large_store.py NEW_FOLDER
    time clew status NEW_FOLDER; time clew report NEW_FOLDER

1,800 finished runs of the suite `paper`, with curves and diagnostics of the study's length: one
small run is trained for its columns, and success is drawn around the published means.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from clew.analysis.report.comparison import published_summaries
from clew.store import Store, scan, world_name
from clew.suite import find_suite

PERIOD, ROLLOUTS = 81_920, 10
SMALL = "--settings.envs 4 --settings.steps 32 --settings.chunk 16 --settings.chunks-per-batch 8 "
SMALL += "--settings.memory-width 16 --settings.eval-every 1"


def pattern(folder: str) -> tuple[dict[str, object], dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Result, curve and diagnostics of a small run."""
    words = f"train TinyReproduce --reward dense --architecture GRU --steps 128 --seeds 1 {SMALL}"
    clew = (sys.executable, "-m", "clew")
    subprocess.run([*clew, *words.split(), "--store", folder], check=True, capture_output=True)
    store = Store(folder, read_only=True)
    run = store.run(scan(store)[0].config)
    return run.result(), run.curve(), run.diagnostics()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    new = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as folder:
        result, curve, diagnostics = pattern(folder)
    published, rng = published_summaries(), np.random.default_rng(0)
    store = Store(new)

    def invented(columns: dict[str, np.ndarray], rows: int, every: int) -> dict[str, np.ndarray]:
        values = {name: rng.random((rows, *x.shape[1:])) for name, x in columns.items()}
        values["steps"] = every * np.arange(1, rows + 1)
        return {name: value.astype(columns[name].dtype) for name, value in values.items()}

    lease = store.claims().take("all")
    assert lease is not None
    with lease:
        for run in find_suite("paper").runs():
            name = world_name(run.config).replace("[revisit=standing]", "")
            arm = published[name, run.reward, run.architecture, run.bonus]
            n = run.steps // PERIOD
            level = np.clip(rng.normal(arm.mean, arm.std) * np.arange(n) / n * 2, 0, 1)
            success = rng.binomial(20, level) / 20
            about = {"tail_mean": float(success[-(n // 5) :].mean()), "evaluations": n}
            store.run(run.config).write_finished(
                {**result, **about, "steps": n * PERIOD, "final_success": float(success[-1])},
                curve={**invented(curve, n, PERIOD), "success": success.astype(np.float32)},
                diagnostics=invented(diagnostics, n * ROLLOUTS, PERIOD // ROLLOUTS),
                provenance={"clew": "invented", "device": "none", "seconds": 1.0},
                lease=lease,
            )


if __name__ == "__main__":
    main()
