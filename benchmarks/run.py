"""Run seismo and its peers on the same cases, interleaved, and print who is faster by how much.

    python benchmarks/run.py --peers-python /path/to/peers/bin/python [--cases W1 W4] [--rounds 3]

Speed of one machine drifts by tens of percent within minutes, so codes take turns: in each round
the copy bandwidth is measured and then every code runs every case once, in a process of its own
that warms up before it times `--repeats` repeats. The figure is the median over all repeats of all
rounds; `best` is the fastest repeat. Where a peer has several ways to run a case, all run and the
fastest counts. `others` says how much of the processor somebody else used meanwhile: above a few
percent, a figure is not to be trusted (OpenMP codes suffer most). Absent peers are skipped, aloud.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cases as plain_cases
from rich.console import Console
from rich.table import Table

from seismo.runs.tools import bench

HERE = Path(__file__).parent
PEERS = ("devito", "deepwave")
CONSOLE = Console()


@dataclass(frozen=True)
class Contender:
    """One code in one way of running a case; `options` go to its script."""

    code: str
    way: str = ""
    options: tuple[str, ...] = ()


@dataclass
class Tally:
    """What one contender did on one case over the rounds."""

    points: int = 0
    steps: int = 0
    version: str = ""
    seconds: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    settings: list[dict[str, Any]] = field(default_factory=list)

    def rate(self, pick: Any = statistics.median) -> float:
        """Million points a second at the median (or another pick) of the repeats."""
        return self.points * self.steps / pick(self.seconds) / 1e6


def contenders(case: bench.Case, codes: list[str]) -> list[Contender]:
    """List the ways to run a case: a survey also goes one shot a core, where peers allow it."""
    listed = [Contender(code) for code in codes]
    if "survey" in case.scenario:
        listed += [
            Contender(code, "one process a core", ("--processes", "2"))
            for code in codes
            if code in PEERS
        ]
    return listed


def _busy_ticks() -> float:
    """Return processor seconds that all processes have used since boot (0 where unknown)."""
    table = Path("/proc/stat")
    if not table.exists():
        return 0.0
    user, nice, system = (int(word) for word in table.read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def wait_until_quiet(limit: float) -> None:
    """Wait until the processor is nearly idle for two seconds, at most `limit` s."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        before = _busy_ticks()
        time.sleep(2.0)
        if _busy_ticks() - before < 0.2:
            return


def run_once(
    contender: Contender, case: bench.Case, arguments: argparse.Namespace, tally: Tally
) -> None:
    """Run a contender's process on a case and add what it printed to its tally."""
    if contender.code == "seismo":
        command = [sys.executable, str(HERE / "seismo_case.py"), case.name]
    else:
        script = HERE / "peers" / f"{contender.code}_case.py"
        command = [
            str(arguments.peers_python),
            str(script),
            json.dumps(plain_cases.plain(case.name)),
        ]
    command += ["--repeats", str(arguments.repeats), "--threads", str(arguments.threads)]
    wait_until_quiet(arguments.quiet)
    busy, own, start = _busy_ticks(), _children_seconds(), time.monotonic()
    finished = finish([*command, *contender.options], arguments)
    if finished is None:
        CONSOLE.print(f"{contender.code} {case.name}: stopped after {arguments.timeout:g} s")
        return
    elapsed = time.monotonic() - start
    others = (_busy_ticks() - busy - (_children_seconds() - own)) / elapsed / (os.cpu_count() or 1)
    if finished.returncode != 0:
        reason = (finished.stderr.strip().splitlines() or ["no message"])[-1]
        CONSOLE.print(f"{contender.code} {case.name}: failed: {reason}", markup=False)
        return
    record(tally, json.loads(finished.stdout.strip().splitlines()[-1]), max(0.0, others))


def finish(
    command: list[str], arguments: argparse.Namespace
) -> subprocess.CompletedProcess[str] | None:
    """Run a command to its end; None, with its own children stopped too, past the time limit."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command,
        stdout=pipe,
        stderr=pipe,
        text=True,
        env=environment(arguments),
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=arguments.timeout)
    except BaseException as stop:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(stop, subprocess.TimeoutExpired):
            return None
        raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def environment(arguments: argparse.Namespace) -> dict[str, str]:
    """Return the environment of every process: the same threads for all.

    How threads wait is each code's own affair; importing seismo has said how its own do.
    """
    own = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
    inherited = {name: value for name, value in os.environ.items() if name not in own}
    return inherited | {
        "OMP_NUM_THREADS": str(arguments.threads),
        "NUMBA_NUM_THREADS": str(arguments.threads),
    }


def record(tally: Tally, line: dict[str, Any], others: float) -> None:
    """Add a printed line to a tally and say it."""
    tally.points, tally.steps = line["points"], line["steps"]
    tally.version = line["version"]
    tally.seconds += line["seconds"]
    tally.others.append(others)
    tally.settings.append(line["settings"])
    CONSOLE.print(
        f"{line['case']} {line['peer']:9} {line['mpoints_per_s']:7.0f} Mpoint/s"
        f"  (others used {others:.0%})",
        highlight=False,
    )


def available(arguments: argparse.Namespace) -> list[str]:
    """Return the codes that can run here; say which cannot and why."""
    codes = []
    for code in arguments.codes:
        python = arguments.peers_python if code in PEERS else sys.executable
        module = code if code in PEERS else "seismo.solver.simulation"
        if python is None:
            CONSOLE.print(f"{code} is skipped: no --peers-python given")
        elif (
            subprocess.run([str(python), "-c", f"import {module}"], capture_output=True).returncode
            != 0
        ):
            CONSOLE.print(f"{code} is skipped: {python} cannot import {module}")
        else:
            codes.append(code)
    return codes


def best_way(tallies: dict[Contender, Tally], code: str) -> Tally | None:
    """Return the fastest way of a code, by its median; None when it never finished."""
    done = [
        tally for contender, tally in tallies.items() if contender.code == code and tally.seconds
    ]
    return max(done, key=Tally.rate) if done else None


def print_table(results: dict[str, dict[Contender, Tally]], bandwidth: float) -> None:
    """Print median (best) Mpoint/s of each code and seismo's ratio to the faster peer."""
    table = Table(title=f"Mpoint/s, median (best); this machine moves {bandwidth:.0f} GB/s")
    codes = ("seismo", *PEERS)
    for heading in ("case", *codes, "ratio", "of best", "of bandwidth", "others"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for name, tallies in results.items():
        best = {code: best_way(tallies, code) for code in codes}
        shown = [f"{t.rate():.0f} ({t.rate(min):.0f})" if t else "-" for t in best.values()]
        rivals = [tally for code in PEERS if (tally := best[code])]
        own = best["seismo"]
        ratio = top = share = "-"
        if own and rivals:
            ratio = f"{own.rate() / max(rival.rate() for rival in rivals):.2f}"
            top = f"{own.rate(min) / max(rival.rate(min) for rival in rivals):.2f}"
        if own:
            moved = own.rate() * own.settings[0]["bytes_per_point"] / 1e3
            share = f"{moved / bandwidth:.0%}"
        others = max((value for t in best.values() if t for value in t.others), default=0.0)
        table.add_row(name, *shown, ratio, top, share, f"{others:.0%}")
    CONSOLE.print(table)


def write(
    results: dict[str, dict[Contender, Tally]], bandwidths: list[bench.Bandwidth], path: Path
) -> None:
    """Write every repeat of every contender as JSON."""
    lines = [
        {
            "case": name,
            "code": contender.code,
            "way": contender.way,
            "version": tally.version,
            "points": tally.points,
            "steps": tally.steps,
            "seconds": tally.seconds,
            "mpoints_per_s": round(tally.rate(), 1),
            "others": [round(value, 3) for value in tally.others],
            "settings": tally.settings[-1],
        }
        for name, tallies in results.items()
        for contender, tally in tallies.items()
        if tally.seconds
    ]
    whole = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": bench.describe_machine(),
        "bandwidth_gb_per_s": [[round(b.update, 1), round(b.copy, 1)] for b in bandwidths],
        "results": lines,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(whole, indent=1) + "\n")
    CONSOLE.print(f"written: {path}", highlight=False)


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers-python", type=Path, help="python that has devito and deepwave")
    parser.add_argument("--cases", nargs="+", default=list(bench.CASES))
    parser.add_argument(
        "--codes", nargs="+", default=["seismo", *PEERS], choices=["seismo", *PEERS]
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=3, help="timed repeats in each process")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--quiet",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait this long at most for an idle machine before each process",
    )
    parser.add_argument("--timeout", type=float, default=300.0, metavar="SECONDS")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "comparison.json")
    return parser.parse_args()


def main() -> None:
    """Run the rounds, print the table, write the file."""
    arguments = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no process is left behind
    codes = available(arguments)
    chosen = bench.select(arguments.cases)
    results = {case.name: {one: Tally() for one in contenders(case, codes)} for case in chosen}
    bandwidths = []
    for _ in range(arguments.rounds):
        wait_until_quiet(arguments.quiet)
        bandwidths.append(bench.measure_bandwidth())
        for case in chosen:
            for contender, tally in results[case.name].items():
                run_once(contender, case, arguments, tally)
    print_table(results, statistics.median(b.best for b in bandwidths))
    write(results, bandwidths, arguments.output)


if __name__ == "__main__":
    main()
