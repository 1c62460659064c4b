"""Time one case with seismo in a process of its own, and print the same line that the peers print.

`python benchmarks/seismo_case.py W1 --repeats 3 --threads 2`
"""

from __future__ import annotations

import argparse
import json
import statistics

import numba

import seismo
from seismo.runs.tools import bench


def main() -> None:
    """Warm up (compiling), time, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    numba.set_num_threads(options.threads)
    case = bench.select([options.case])[0]
    timed = [bench.time_once(case) for _ in range(options.repeats)]
    seconds, built = [duration for duration, _ in timed], timed[-1][1]
    rate = built.points * case.steps / statistics.median(seconds) / 1e6
    print(
        json.dumps(
            {
                "peer": "seismo",
                "version": seismo.__version__,
                "case": case.name,
                "points": int(built.points),
                "steps": case.steps,
                "threads": options.threads,
                "seconds": [round(value, 5) for value in seconds],
                "mpoints_per_s": round(rate, 1),
                "settings": {"bytes_per_point": built.bytes_per_point, "absorbing": "CPML"},
            }
        )
    )


if __name__ == "__main__":
    main()
