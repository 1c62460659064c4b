"""The pages that show results.json: validation/README.md, and the table of docs/accuracy.md.

Both are written from the recorded rows, never by hand, and show those of this release alone;
`tests/repository/test_validation.py` holds them to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from cases import HERE, Row

RESULTS, PAGE = HERE / "results.json", HERE / "README.md"
TABLE_PAGE = HERE.parent / "docs" / "accuracy.md"
BLOCK = re.compile(r"(<!-- accuracy[^\n]*-->\n)(.*?)(<!-- end of accuracy -->)", re.DOTALL)
INTRODUCTION = """# Validation

seismo against exact solutions, in absolute amplitude, and beside what other codes reach on the same
problem at the same sampling. `python validation/run.py` measures all cases and writes this page;
each case is a script that also runs alone (`python validation/lamb_2d.py --quick`) and says in its
first lines what it does. Sampling is in points per shortest wavelength (ppw), at 2.5 times a Ricker
wavelet's frequency. Errors are relative L2 and nothing is fitted, unless the row says otherwise.
Third-party traces are read from the folder in SEISMO_REFDATA and are not part of this repository.
Smaller versions of all cases are part of continuous integration: `make validate`.
"""


@dataclass(frozen=True)
class Line:
    """One line of the table of accuracy: the range of errors of some rows of one case.

    Attributes:
        label: what was compared.
        points: points per shortest wavelength.
        case: name of the case.
        pattern: regular expression that the rows' "case [sampling]" begin with.
    """

    label: str
    points: str
    case: str
    pattern: str


LINES = (
    Line("whole space, acoustic, 10 wavelengths", "10", "acoustic_whole_space", ".*10 wavelengths"),
    Line("whole space, elastic, every force and moment", "12", "elastic_whole_space",
         ".*worst component"),
    Line("whole space, acoustic, 60 and 100 shortest wavelengths", "2.8 - 6", "long_paths",
         "acoustic"),
    Line("whole space, acoustic VTI and TTI, 3 to 10 wavelengths", "10", "acoustic_anisotropy",
         ".*wavelengths"),
    Line("whole space, elastic VTI, forces and a moment", "5", "anisotropic_whole_space",
         r"elastic VTI.*\[5 "),
    Line("", "10", "anisotropic_whole_space", r"elastic VTI.*\[10 "),
    Line("whole space, elastic TTI, forces and a moment", "5", "anisotropic_whole_space",
         r"elastic TTI.*components \[5 "),
    Line("", "10", "anisotropic_whole_space", r"elastic TTI.*components \[10 "),
    Line("TTI half-space, worst receiver (against a grid of 40 points)", "5",
         "anisotropic_half_space", r".*receiver \[5 "),
    Line("", "10", "anisotropic_half_space", r".*receiver \[10 "),
    Line("Lamb's problem, 2-D: Rayleigh wave of a surface force", "7.4", "lamb_2d",
         r".*surface receivers, u[xz] \[7.4"),
    Line("", "15", "lamb_2d", r".*surface receivers, u[xz] \[15"),
    Line("Lamb's problem, 3-D, on the surface, one wavelength away (largest error / largest value)",
         "5", "lamb_3d", r".*max norm \[5 "),
    Line("", "10", "lamb_3d", r".*max norm \[10 "),
    Line("source one to eight cells deep, read on the surface five cells away and more", "10",
         "shallow", ".*read on the surface, worst trace"),
    Line("soft layer of one to four cells over rock, read on the surface", "10", "shallow",
         "contact"),
    Line("Rayleigh wave after 40 shortest wavelengths, vp / vs 1.5 to 5", "5", "rayleigh_path",
         r".*order 8 \[5 "),
    Line("", "7", "rayleigh_path", r".*order 8 \[7 "),
    Line("", "10", "rayleigh_path", r".*order 8 \[10 "),
    Line("LOH.1, layer over half-space, station 10, h = 50 m", "6.2", "loh1",
         r".*station 10, vector L2 \[h = 50 m"),
    Line("forces and moments in 2-D, among rows that grow to twice the height", "10",
         "growing_rows", r"elastic 2-D"),
    Line("half-space, spacing three times as large below a plane, 2-D and 3-D, worst receiver on "
         "the surface", "5", "refined_grid", r"half-space.*on the surface.*\[5 ppw"),
    Line("", "10", "refined_grid", r"half-space.*on the surface.*\[10 ppw"),
    Line("plane P and S waves sent back by that plane", "5", "refined_grid",
         r"plane . wave.*\[5 ppw"),
    Line("", "10", "refined_grid", r"plane . wave.*\[10 ppw"),
    Line("Lamb's problem under ground that dips by 5 to 30 degrees, 2-D, worst receiver", "10",
         "dipping_ground", r"P-SV, dip (5|10|20|30) .*worst.*order 8"),
    Line("acoustic waves under ground that dips by 5 to 30 degrees, 2-D, worst pressure", "10",
         "acoustic_ground", r"pressure, 2-D, dip (5|10|20|30) .*worst.*order 8"),
    Line("P-SV waves on hills and a canyon of 27 and 41 degrees, all receivers", "10", "hills",
         r".*P-SV, all receivers.*order 8"),
    Line("plane waves reflected by a contact anywhere between grid points, 0 to 40 degrees "
         "(error of the coefficient)", "10", "zoeppritz", "Zoeppritz RPP 0-40"),
    Line("contact of two solids that dips by 10 to 70 degrees, 2-D", "10", "dipping_contact",
         "two solids"),
    Line("contact of fluid and solid that dips by 10 to 70 degrees, 2-D", "10", "dipping_contact",
         "water"),
    Line("flat contact of two fluids of unlike density, all pressures", "10", "fluid_contact",
         r".*flat, all pressures \[10 ppw"),
    Line("", "20", "fluid_contact", r".*flat, all pressures \[20 ppw"),
    Line("horizontal contact of fluid and solid anywhere between grid points, five and more points "
         "away ([006](adr/006-fluid-solid-contact.md))", "10", "fluid_solid",
         "fluid-solid, (533|5 cells|sea bed)"),
    Line("likewise, half a point and two points from it, and its Scholte wave after 36 wavelengths",
         "10", "fluid_solid", "fluid-solid, (1/2|Scholte)"),
    Line("contact of water and rock of Qs 20 anywhere between grid points, half a point and more "
         "from it", "10", "lossy_sea_bed", "sea bed, Qs 20, [23]-D"),
    Line("absorbing layers, thin slab, 10 points, in the slab", "11", "cpml_grazing",
         r"CPML, receiver in.*\[10"),
    Line("absorbing layers, thin slab, 10 points, at grazing incidence", "11", "cpml_grazing",
         r"CPML, receiver at.*\[10"),
    Line("", "5.4", "cpml_grazing", r"CPML, receiver at.*\[5"),
    Line("default absorbing layers, plane waves at 0 to 60 degrees (reflection coefficient)", "4.5",
         "layer_reflection", r".*\[4.5"),
)  # fmt: skip


def read_results() -> dict[str, Any]:
    """Return results.json: case -> {"seconds", "rows"}; empty where there is none."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def write_results(results: Mapping[str, Any]) -> None:
    """Write results.json."""
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


def release() -> str:
    """Return the version of this release: the first that CHANGELOG.md names."""
    found = re.search(r"^## (\S+)", (HERE.parent / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert found
    return found[1]


def rows_of(results: Mapping[str, Any], case: str) -> list[Row]:
    """Return the rows of one case that this release was measured for."""
    names = [field.name for field in fields(Row)]
    recorded = results[case]["rows"] if case in results else []
    return [
        Row(**{name: row[name] for name in names})
        for row in recorded
        if row.get("version") == release()
    ]


def write(titles: Mapping[str, str]) -> None:
    """Write both pages from results.json."""
    results = read_results()
    PAGE.write_text(page(results, titles))
    TABLE_PAGE.write_text(with_table(results, TABLE_PAGE.read_text()))


def page(results: Mapping[str, Any], titles: Mapping[str, str]) -> str:
    """Format validation/README.md."""
    sections = [INTRODUCTION]
    for name, title in titles.items():
        rows = rows_of(results, name)
        if not rows:
            continue
        origin, met = results[name]["rows"][0], sum(row.passed for row in rows)
        sections.append(
            f"## {title}\n\n`{name}.py`: {met} of {len(rows)} bars met. "
            f"Measured {origin['date']} on {origin['machine']} in {results[name]['seconds']} s, "
            f"at commit {origin['commit'][:10]}{'' if origin['clean'] else ' with changes'}.\n"
        )
        sections.append(table(rows))
        if (HERE / "figures" / f"{name}.png").exists():
            sections.append(f"![{title}](figures/{name}.png)\n")
    return "\n".join(sections)


def table(rows: list[Row]) -> str:
    """Format one case's rows in Markdown."""
    lines = ["| case | sampling | error | bar | other codes | against |",
             "|---|---|---|---|---|---|"]  # fmt: skip
    for row in rows:
        sign = "≥" if row.at_least else "≤"
        error = row.text(row.error) if row.passed else f"**{row.text(row.error)}** (missed)"
        lines.append(f"| {row.case} | {row.sampling} | {error} | {sign} {row.text(row.bar)} "
                     f"| {row.peers} | {row.reference} |")  # fmt: skip
    return "\n".join(lines) + "\n"


def with_table(results: Mapping[str, Any], text: str) -> str:
    """Return the text of a page with its table of accuracy replaced."""
    return BLOCK.sub(lambda found: found[1] + accuracy(results) + found[3], text)


def accuracy(results: Mapping[str, Any]) -> str:
    """Format the table of accuracy; lines whose rows were not measured are left out."""
    lines = ["| case | points | error | others |", "|---|---|---|---|"]
    for line in LINES:
        if rows := matching(results, line):
            others = "; ".join(dict.fromkeys(row.peers for row in rows if row.peers))
            lines.append(f"| {line.label} | {line.points} | {_range(rows)} | {others} |")
    return "\n".join(lines) + "\n"


def matching(results: Mapping[str, Any], line: Line) -> list[Row]:
    """Return the rows that a line of the table stands for."""
    rows = rows_of(results, line.case)
    return [row for row in rows if re.match(line.pattern, f"{row.case} [{row.sampling}]")]


def _range(rows: list[Row]) -> str:
    """Format the smallest and the largest error of some rows, to two digits."""
    factor, unit = (100.0, " %") if rows[0].unit == "%" else (1.0, "")
    ends = [f"{factor * error:.2g}" for error in (min(r.error for r in rows),
                                                  max(r.error for r in rows))]  # fmt: skip
    return " - ".join(dict.fromkeys(ends)) + unit
