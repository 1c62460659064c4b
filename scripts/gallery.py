"""Run shipped scenarios and draw the figures of the documentation's gallery.

python scripts/gallery.py results                     # all of them; results go to that folder
python scripts/gallery.py results sea_bottom          # those of one scenario

Results that stand in the folder already are drawn without a new run.
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from PIL import Image

import seismo

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures" / "gallery"
COLOURS = 200  # of a picture: a third of its size, and no difference to be seen
DRAWN = (  # scenario, kind of figure, its options
    ("quickstart", "snapshot", {}),
    ("dipping_layers", "snapshot", {}),
    ("thrust_tti", "snapshot", {}),
    ("acoustic_3d", "snapshot", {}),
    ("sea_bottom", "gather", {}),
    ("streamer_survey", "gather", {}),
    ("tilted_shale", "gather", {}),
    ("deep_basin", "gather", {}),
    ("soft_basin", "gather", {}),
    ("basin_q", "gather", {}),
    ("plane_wave_basin", "gather", {"receivers": "surface"}),
    ("double_couple", "peaks", {}),
    ("volcano", "peaks", {}),
    ("volcano_flat", "peaks", {}),
    ("volcano", "snapshot", {"series": "section"}),
    ("jacksboro", "peaks", {}),
    ("jacksboro_flat", "peaks", {}),
)
FLAT = {"topography": None}
# By name: scenario, what is changed.
CHANGED = {"volcano_flat": ("volcano", FLAT), "jacksboro_flat": ("jacksboro", FLAT)}


def draw(results: seismo.Results, kind: str, options: dict, path: Path) -> None:
    """Draw one figure with few colours."""
    drawn = io.BytesIO()
    results.plot(kind, **options).savefig(drawn, dpi=100)
    with Image.open(drawn) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
    print(f"{path.stat().st_size / 1e3:4.0f} kB  {path}")


def main() -> None:
    """Draw what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="of results files")
    parser.add_argument("scenarios", nargs="*", help="all when none is named")
    arguments = parser.parse_args()
    FIGURES.mkdir(exist_ok=True)
    for name, kind, options in DRAWN:
        if arguments.scenarios and name not in arguments.scenarios:
            continue
        file = arguments.folder / f"{name}.h5"
        shipped, changes = CHANGED.get(name, (name, {}))
        if not file.exists():
            scenario = seismo.load(ROOT / "scenarios" / f"{shipped}.yaml")
            seismo.run(scenario.changed(changes) if changes else scenario, file).close()
        picture = FIGURES / f"{shipped}-{kind}{name.removeprefix(shipped)}.png"
        with seismo.open_results(file) as results:
            draw(results, kind, options, picture)


if __name__ == "__main__":
    main()
