"""Run every validation case, or those named, and write results.json and the table of README.md.

    python validation/run.py [--quick] [case ...]

Each case runs in a process of its own. Rows of cases that were not run are kept from before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cases import HERE, Row

from seismo.backends.choice import choose

CASES = {
    "acoustic_whole_space": "Acoustic whole space",
    "acoustic_half_space": "Acoustic half-space",
    "elastic_whole_space": "Elastic whole space",
    "lamb_2d": "Lamb's problem, 2-D",
    "lamb_3d": "Lamb's problem, 3-D",
    "loh1": "LOH.1, layer over half-space",
    "zoeppritz": "Reflection coefficients",
    "fluid_solid": "Water over rock",
    "dipping_contact": "Contacts that dip",
    "surface_wave_dispersion": "Surface waves of a soft layer",
    "convergence": "Order of convergence",
    "scheme_dispersion": "Dispersion relation of the scheme",
    "energy": "Energy",
    "reciprocity": "Reciprocity",
    "cpml_grazing": "Absorbing layers at grazing incidence",
    "long_run": "A million steps",
}
INTRODUCTION = """# Validation

seismo against exact solutions, in absolute amplitude, and beside what other codes reach on the same
problem at the same sampling. `python validation/run.py` writes this page; each case is a script
that also runs alone (`python validation/lamb_2d.py --quick`) and says in its first lines what it
does. Sampling is in points per shortest wavelength (ppw), at 2.5 times a Ricker wavelet's
frequency. Errors are relative L2 and nothing is fitted, unless the row says otherwise.
Third-party traces are read from the folder in SEISMO_REFDATA and are not part of this repository.
"""


def run_case(name: str, quick: bool) -> dict:
    """Run one script; give its rows and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        command = [sys.executable, str(HERE / f"{name}.py"), "--json", str(rows)]
        start = time.perf_counter()
        subprocess.run(command + (["--quick"] if quick else []), check=False)
        found = json.loads(rows.read_text()) if rows.exists() else []
    return {
        "quick": quick, "seconds": round(time.perf_counter() - start), "rows": found,
        "device": choose().make("float32").describe()["device"],
    }  # fmt: skip


def page(results: dict) -> str:
    """Write README.md."""
    parts = [INTRODUCTION]
    for name, title in CASES.items():
        if name not in results:
            continue
        rows = [Row(**row) for row in results[name]["rows"]]
        met = sum(row.passed for row in rows)
        note = ", quick version" if results[name]["quick"] else ""
        device = f" on {results[name]['device']}" if "device" in results[name] else ""
        parts.append(f"## {title}\n\n`{name}.py`{note}: {met} of {len(rows)} bars met, "
                     f"{results[name]['seconds']} s{device}.\n")  # fmt: skip
        parts.append(table(rows))
        if (HERE / "figures" / f"{name}.png").exists():
            parts.append(f"![{title}](figures/{name}.png)\n")
    return "\n".join(parts)


def table(rows: list[Row]) -> str:
    """Write one case's rows in Markdown."""
    lines = ["| case | sampling | error | bar | other codes | against |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        error = row.text(row.error) if row.passed else f"**{row.text(row.error)}** (missed)"
        lines.append(f"| {row.case} | {row.sampling} | {error} | {sign} {row.text(row.bar)} "
                     f"| {row.peers} | {row.reference} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is asked for and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], help="all when none is named")
    parser.add_argument("--quick", action="store_true", help="smaller versions")
    arguments = parser.parse_args()
    path = HERE / "results.json"
    results = json.loads(path.read_text()) if path.exists() else {}
    for name in arguments.cases or CASES:
        print(f"== {name}", flush=True)
        results[name] = run_case(name, arguments.quick)
        path.write_text(json.dumps(results, indent=1) + "\n")
        (HERE / "README.md").write_text(page(results))


if __name__ == "__main__":
    main()
