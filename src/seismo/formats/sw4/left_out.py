"""What SW4 has and a scenario does not: commands and options, each with the reason."""

from __future__ import annotations

from collections.abc import Iterator

from seismo.formats.sw4.commands import InputCommand

TESTS = ("twilight", "testenergy", "testrayleigh")  # which have no sources
UNKNOWN = "no command of SW4 that is known here"
_DRAWN = "pictures are drawn from results: `seismo plot`; fields of a run: output.snapshots, .maps"
_FILE = "this format is not read; convert it to an rfile or to NetCDF"
REASONS = {
    "fileio": "it names files of SW4; `seismo run --output` names those of a run",
    "image": _DRAWN,
    "imagehdf5": _DRAWN,
    "image3d": _DRAWN,
    "volimage": _DRAWN,
    "essioutput": _DRAWN,
    "ssioutput": _DRAWN,
    "sfileoutput": _DRAWN,
    "gmt": "maps are drawn by `seismo plot`",
    "prefilter": "time functions are not filtered; the equations are linear: filter the traces",
    "developer": "it tunes SW4's own scheme",
    "testing": "it tests SW4",
    "checkpoint": "a run writes checkpoints by itself: see `seismo schema checkpoint`",
    "restart": "`seismo resume` continues a run",
    "material": "it belongs to an ifile, which is not read",
    "ifile": "surfaces between materials are not read; write interface parts, or an rfile",
    "pfile": _FILE,
    "efile": _FILE,
    "vimaterial": _FILE,
    "ablock": "without a line `anisotropy` SW4 does not read it",
    "randomblock": "write a part of type random",
    "randomize": "write a part of type random",
    "event": "one event a scenario",
    "geodynbc": "boundary data of another run are not read",
    **dict.fromkeys(
        ("observation", "observationhdf5", "mrun", "mimage", "m3dimage", "mscalefactors", "lbfgs",
         "nlcg", "cg", "regularize", "mfsurf", "scalefactors", "mtypx"),
        "it belongs to an inversion",
    ),
    "mparcart": "the model of an inversion is not read",
}  # fmt: skip
MODELS = ("ifile", "material", "pfile", "efile", "vimaterial", "ablock")
ALTERING = (*MODELS[:-1], "randomblock", "randomize", "prefilter", "geodynbc", "mparcart")
_OPTIONS = {  # of commands that are carried over
    "grid": {"extrapolate": "values outside the model are those of its edge"},
    "supergrid": dict.fromkeys(
        ("gp", "dc", "width"), "boundaries.layer sets the absorbing layers, whose defaults are kept"
    ),
    "rupture": {"event": REASONS["event"]},
    "source": {"event": REASONS["event"]},
}


def ignored_options(command: InputCommand) -> Iterator[tuple[str, str]]:
    """Yield options of a command that is carried over, with the reason why they are not."""
    for key, reason in _OPTIONS.get(command.name, {}).items():
        if command.has(key):
            yield key, reason
