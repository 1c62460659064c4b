"""Steps of several GPUs in other ways than the product's, as `benchmarks/scaling.py` takes them.

What is wrong: with `turns` each card waits for its halos before it goes on with its core; with
`host` they go through the host's memory, at a tenth of the links' speed, or copied by the host's
own hands. Cut `even` in points, cards with more absorbing layers are waited for by the rest.
A small grid on two cards has as many launches and messages as a large one, for half the work each.

`scaling.py` under `mpiexec` compares processes too; `page.py` takes its file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scaling

from ladder.stand import Stand
from ladder.worth import NotHereError, Side, Worth
from seismo.backends.communicator import SerialCommunicator

Rows = list[dict[str, Any]]
LARGE, SMALL = "weak_elastic", {"strong_128": 128, "strong_256": 256, "strong_elastic": 512}
CUT = "surface_384"


def _row(rows: Rows, case: str, gpus: int, processes: int = 1) -> dict[str, Any]:
    """Find what was measured."""
    for row in rows:
        if (row["case"], row.get("gpus"), row.get("processes")) == (case, gpus, processes):
            return row
    where = f"{gpus} GPU{'s' * (gpus > 1)}" + f", {processes} processes" * (processes > 1)
    raise NotHereError(f"scaling.py has not measured {case} on {where}")


def _speed(row: dict[str, Any], way: str = "overlapped") -> float:
    if way not in row:
        raise NotHereError(f"scaling.py has not measured {row['case']} in the way {way!r}")
    return row["points"] / min(row[way]) / 1e9


def _compared(row: dict[str, Any], way: str, said: str, product: str) -> Worth:
    sides = (Side(said, _speed(row, way)), Side(product, _speed(row)))
    return Worth(f"{row['case']}, {row['gpus']} GPUs", "Gpoint/s", sides, None)


def _small(rows: Rows) -> Worth:
    curve = []
    for case, points in SMALL.items():
        one, two = (_speed(_row(rows, case, n)) for n in (1, 2))
        curve.append((float(points), two / one))
    one, two = (_speed(_row(rows, "strong_128", n)) for n in (1, 2))
    said = ", ".join(f"{gain:.2f} times as fast at {points:.0f}^3" for points, gain in curve)
    return Worth(
        "acoustic 3-D, order 8, 128^3, one grid on one GPU and cut in two", "Gpoint/s",
        (Side("two GPUs", two), Side("one GPU", one)), None, tuple(curve),
        "points along each axis (two GPUs beside one)", f"two GPUs are, beside one, {said}",
    )  # fmt: skip


def _exchanged(rows: Rows) -> Worth:
    found = next((row for row in rows if row.get("case") == "exchange"), None)
    if not found or "seconds" not in found:
        raise NotHereError("needs two GPUs that share memory (scaling.py, exchange)")
    ways = {
        "pageable": "by hand, through the host", "synchronous": "peer copies, one by one",
        "stores": "kernels store into the peer's memory", "copies": "peer copies, both at once",
    }  # fmt: skip
    sides = tuple(Side(said, 1e6 * found["seconds"][way]) for way, said in ways.items())
    return Worth(f"two GPUs swap {found['bytes'] / 2**20:.0f} MiB", "us", sides, None)


def _most(rows: Rows, way: str) -> dict[str, Any]:
    """Find the large grid on as many GPUs of one process as it was measured on in some way."""
    own = [row for row in rows if (row["case"], row.get("processes")) == (LARGE, 1)]
    found = [row for row in own if way in row]
    return max(found, key=lambda row: row["gpus"]) if found else _row(rows, LARGE, 2)


def _turns(rows: Rows) -> Worth:
    worth = _compared(_most(rows, "turns"), "turns", "edges, halos, core in turn", "overlapped")
    found = [row for row in rows if (row["case"], row.get("processes")) == (LARGE, 1)]
    curve = tuple((float(row["gpus"]), _speed(row)) for row in found)
    return Worth(
        worth.scenario, worth.unit, worth.sides, None, curve, "GPUs (a grid as large for each)"
    )


def _host(rows: Rows) -> Worth:
    row = _most(rows, "host")
    return _compared(row, "host", "halos through the host", "over the link that was found")


def _cut(rows: Rows) -> Worth:
    row = _row(rows, CUT, 2)
    return _compared(row, "even", "even in points", "even in cost")


def _processes(rows: Rows) -> tuple[dict[str, Any], dict[str, Any]]:
    return _row(rows, LARGE, 2), _row(rows, LARGE, 2, 2)


def _messages(rows: Rows) -> Worth:
    one, two = _processes(rows)
    sides = (Side("copies through the host", _speed(one, "host")), Side("NCCL", _speed(two)))
    return Worth(f"{LARGE}, 2 GPUs", "Gpoint/s", sides, None)


def _ranks(rows: Rows) -> Worth:
    one, two = _processes(rows)
    sides = (Side("a process each", _speed(two)), Side("one process for both", _speed(one)))
    return Worth(f"{LARGE}, 2 GPUs", "Gpoint/s", sides, None)


READ: dict[int, Callable[[Rows], Worth]] = {
    15: _small, 16: _cut, 17: _exchanged, 18: _turns, 19: _messages, 20: _host, 32: _ranks,
}  # fmt: skip


def read(told: Any) -> dict[str, dict[str, Any]]:
    """Give the rows of the ladder that a file of scaling.py tells, or what was copied from it."""
    rows, found = told if isinstance(told, list) else _listed(told), {}
    for number, of in READ.items():
        try:
            found[str(number)] = of(rows).as_dict()
        except NotHereError as error:
            found[str(number)] = {"missing": str(error)}
    return found


def _listed(told: dict[str, Any]) -> Rows:
    """Read `results/scaling_h200.json`: microseconds of the best step, points left out."""
    rows: Rows = [
        {"case": "exchange", "bytes": int(name.split("_")[2]),
         "seconds": {way: 1e-6 * time for way, time in times.items()}}
        for name, times in told.items() if name.startswith("exchange_of_")
    ]  # fmt: skip
    for case in told["cases"]:
        _, _, points, each, _ = scaling.CASES[case["case"]]
        size = points**3 * (case["gpus"] if each else 1)
        ways = {way: [1e-6 * case[way]] for way in scaling.WAYS if way in case}
        rows.append(case | ways | {"points": size})
    return rows


def _measured(cases: tuple[str, ...], gpus: tuple[int, ...], ways: list[str]) -> Rows:
    return [scaling.measure(case, n, ways, SerialCommunicator()) for case in cases for n in gpus]


def small(stand: Stand) -> Worth:
    """Measure grids of several sizes on one GPU and two."""
    return _small(_measured(tuple(SMALL), (1, 2), ["overlapped"]))


def exchanged(stand: Stand) -> Worth:
    """Measure the swap of a halo."""
    return _exchanged([scaling.exchange()])


def turns(stand: Stand) -> Worth:
    """Measure a large grid with halos under the core, and in turn."""
    return _turns(_measured((LARGE,), (1, 2), ["overlapped", "turns"]))


def host(stand: Stand) -> Worth:
    """Measure a large grid with halos over the link and through the host."""
    return _host(_measured((LARGE,), (2,), ["overlapped", "host"]))


def processes(stand: Stand) -> Worth:
    """Say where processes are compared."""
    raise NotHereError("needs two processes: mpiexec -n 2 python benchmarks/scaling.py")


def cut(stand: Stand) -> Worth:
    """Measure a grid under a free surface, cut in two by points, and by cost."""
    return _cut(_measured((CUT,), (2,), ["overlapped", "even"]))
