"""Records small traces of the originals for the tests that run without them: `make golden`."""

from __future__ import annotations

import numpy as np

from tests.oracles import memory_s, mystery_path
from tests.oracles.traces import GOLDEN

EPISODES = 12
SEARCHES = {3: 50, 5: 100, 7: 1000, 10: 100}


def main() -> None:
    for oracle in (memory_s, mystery_path):
        for case in oracle.CASES:
            oracle.play(case, EPISODES, seed=0).save(GOLDEN / f"{case.name}.npz")
    for size, count in SEARCHES.items():
        recorded = mystery_path.searches(size, count, seed=0)
        np.savez_compressed(GOLDEN / f"search-{size}.npz", **recorded)
    total = sum(path.stat().st_size for path in GOLDEN.iterdir())
    print(f"{len(list(GOLDEN.iterdir()))} files, {total / 1e6:.2f} MB, in {GOLDEN.name}/")


if __name__ == "__main__":
    main()
