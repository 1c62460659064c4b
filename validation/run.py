"""Run validation cases, each in a process of its own, and record what they measured.

    python validation/run.py [--jobs N] [case ...]     all cases, or those named
    python validation/run.py --quick [case ...]        smaller versions; nothing is recorded
    python validation/run.py --pages                   only write the pages from results.json

A full run records its rows in results.json, each with the commit, date and machine that it was
measured on, and writes the pages from them (`pages.py`). The exit code is 1 when a row misses its
bar or a case ends without rows; of such a case no rows are kept.

`--jobs N` runs N cases side by side, each on its own share of the processor's cores.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

import pages
from cases import FIGURES_VARIABLE, HERE, Row

from seismo.backends import machine
from seismo.backends.select import choose

ROOT = HERE.parent
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(["cases", "matplotlib.figure", "scipy.signal", "scipy.special"])
CASES = {  # in the order of the page
    "acoustic_whole_space": "Acoustic whole space",
    "acoustic_anisotropy": "Acoustic waves in VTI and TTI rock",
    "long_paths": "Long paths",
    "acoustic_half_space": "Acoustic half-space",
    "elastic_whole_space": "Elastic whole space",
    "anisotropic_whole_space": "Elastic waves in VTI and TTI rock",
    "anisotropic_half_space": "TTI rock under a free surface",
    "anisotropic_published": "Anisotropic rock against published traces",
    "lamb_2d": "Lamb's problem, 2-D",
    "lamb_3d": "Lamb's problem, 3-D",
    "shallow": "Shallow sources and shallow contacts",
    "rayleigh_path": "Rayleigh wave on a long path",
    "long_steps": "Longer time steps",
    "loh1": "LOH.1, layer over half-space",
    "growing_rows": "Rows that grow with depth",
    "refined_grid": "Grids refined above a plane",
    "refinement_plane": "What errs at a plane of refinement",
    "dipping_ground": "Ground that dips",
    "hills": "Hills and canyons",
    "acoustic_ground": "Acoustic waves under ground that slopes",
    "finite_fault": "A finite fault",
    "fields_in_16_bits": "Fields in 16 bits",
    "plane_waves": "Plane waves from below",
    "attenuation_whole_space": "Whole spaces that attenuate",
    "attenuation_plane_wave": "Plane waves that attenuate",
    "attenuation_anisotropy": "Anisotropic rock that attenuates",
    "attenuation_layers": "A soft layer that attenuates",
    "loh3": "LOH.3, layer over half-space, with attenuation",
    "zoeppritz": "Reflection coefficients",
    "fluid_contact": "Contacts of two fluids",
    "fluid_solid": "Water over rock",
    "lossy_sea_bed": "Water over rock that attenuates",
    "dipping_contact": "Contacts that dip",
    "gridded_model": "Contacts in gridded models",
    "surface_wave_dispersion": "Surface waves of a soft layer",
    "convergence": "Order of convergence",
    "scheme_dispersion": "Dispersion relation of the scheme",
    "expected_errors": "Errors that check expects",
    "random_earths": "Errors that check expects of random earths",
    "gradients": "Gradients",
    "energy": "Energy",
    "reciprocity": "Reciprocity",
    "cpml_grazing": "Absorbing layers at grazing incidence",
    "layer_reflection": "Plane waves on absorbing layers",
    "beds_beside_layers": "Beds in turn beside absorbing layers",
    "long_run": "A million steps",
}


@dataclass(frozen=True)
class Outcome:
    """A case that has ended: its rows, None where it raised, what it printed, and its time in s."""

    name: str
    rows: tuple[Row, ...] | None
    output: str
    seconds: float

    @property
    def failure(self) -> str:
        """Format why it failed; nothing where all bars are met."""
        if self.rows is None:
            return f"{self.name}: ended without rows"
        missed = sum(not row.passed for row in self.rows)
        return f"{self.name}: {missed} of {len(self.rows)} rows miss their bar" if missed else ""


def measured_on(commit: str) -> dict[str, object]:
    """Return what every row is recorded with: release, commit, whether its tree is clean, machine.

    What a run itself writes (results, pages, figures) does not make the tree unclean. `commit` is
    that of a clean copy without a repository; empty where git is asked.
    """
    sources = ("src", "scenarios", "pyproject.toml", "validation/*.py")
    devices = machine.processor(), choose().make("float32").describe()["device"]
    return {
        "version": pages.release(),
        "commit": commit or _git("rev-parse", "HEAD"),
        "clean": bool(commit) or _git("status", "--porcelain", "--", *sources) == "",
        "machine": f"{', '.join(dict.fromkeys(devices))}, {machine.cores()} cores",
    }


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run_case(name: str, quick: bool, cores: set[int]) -> Outcome:
    """Run one case on some of the processor's cores."""
    start = time.perf_counter()
    # A server that has imported what cases share forks their processes. Who begins first starts it,
    # on cores as many as each case has: libraries have as many threads as they find cores.
    os.sched_setaffinity(0, cores)
    with tempfile.TemporaryDirectory() as folder:
        process = _SERVER.Process(target=_script, args=(HERE / f"{name}.py", quick, cores, folder))
        process.start()
        process.join()
        output = Path(folder, "output.txt").read_text()
        path = Path(folder, "rows.json")
        rows = json.loads(path.read_text()) if path.exists() else None
    # A quick run without the references that a case is compared with has no rows, and is complete.
    is_complete = rows or (quick and rows is not None)
    read = tuple(Row(**row) for row in rows) if is_complete else None
    return Outcome(name, read, output, time.perf_counter() - start)


def _script(script: Path, quick: bool, cores: set[int], folder: str) -> None:
    """Run the script of a case in this process; what it prints and its rows go to a folder."""
    with Path(folder, "output.txt").open("wb") as output:
        for descriptor in (1, 2):
            os.dup2(output.fileno(), descriptor)
    os.sched_setaffinity(0, cores)
    sys.argv = [str(script), "--json", str(Path(folder, "rows.json"))]
    if quick:
        sys.argv.append("--quick")
        os.environ[FIGURES_VARIABLE] = folder
    runpy.run_path(str(script), run_name="__main__")


def run_cases(names: list[str], quick: bool, jobs: int):
    """Yield the outcome of every case as it ends, `jobs` of them side by side.

    What took longest when it was recorded begins first, so that the last to begin is short.
    """
    results = pages.read_results()
    names = sorted(names, key=lambda name: -results.get(name, {}).get("seconds", 1e9))
    cores = sorted(os.sched_getaffinity(0))
    jobs = min(jobs, len(cores), len(names))
    shares: SimpleQueue[set[int]] = SimpleQueue()
    for number in range(jobs):
        shares.put(set(cores[number::jobs]))

    def run_on_free_cores(name: str) -> Outcome:
        share = shares.get()
        try:
            return run_case(name, quick, share)
        finally:
            shares.put(share)

    with ThreadPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(run_on_free_cores, name) for name in names]):
            yield future.result()


def record(outcome: Outcome, origin: dict[str, object]) -> None:
    """Replace the rows of one case in results.json; drop them where it ended without any."""
    results = pages.read_results()
    results.pop(outcome.name, None)
    if outcome.rows is not None:
        date = datetime.now(UTC).date().isoformat()
        rows = [{**vars(row), **origin, "date": date} for row in outcome.rows]
        results[outcome.name] = {"seconds": round(outcome.seconds), "rows": rows}
    pages.write_results(results)


def main() -> int:
    """Run what is asked for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], help="all when none is named")
    parser.add_argument("--quick", action="store_true", help="smaller versions; record nothing")
    parser.add_argument("--jobs", type=int, default=1, help="cases to run side by side")
    parser.add_argument("--commit", default="", help="of a clean copy that is no repository")
    parser.add_argument("--pages", action="store_true", help="only write the pages anew")
    arguments = parser.parse_args()
    if arguments.pages:
        pages.write(CASES)
        return 0
    origin = {} if arguments.quick else measured_on(arguments.commit)
    names = arguments.cases or list(CASES)
    failures = []
    for outcome in run_cases(names, arguments.quick, arguments.jobs):
        print(f"== {outcome.name}\n{outcome.output}", end="", flush=True)
        failures += [outcome.failure] if outcome.failure else []
        if not arguments.quick:
            record(outcome, origin)
            pages.write(CASES)
    for failure in failures:
        print(f"FAILED  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
