"""Hostile input by the thousand: `python tests/hostile/fuzz.py KIND [COUNT] [FIRST]`.

    scenarios   YAML changed at random, its text or its tree, checked
    files       model files, tables, station lists and wavelets, made up or damaged, checked
    earths      models, faults, events and stations on the earth, in formats of others, checked
    others      ruptures in HDF5, heights, grids that lists name, archives to convert
    results     results with flipped bits, read and compared
    runs        run directories with flipped bits, or other files in them, looked at, gone on with
    caches      kernel caches with flipped, cut or exchanged files, run with

Whatever comes in, a command ends with a documented exit code and, where that is not 0, with a line
that can be printed; it takes no more than 5 s of the processor and no more than 2 GB of memory, and
no signal ends it. A run that ends well has the traces that it should have. Case n of a kind is the
same in every run. Cases run in children of one process that has imported everything, those of
`runs` and `caches` each in its own.
"""

import contextlib
import copy
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import segyio
import xarray
import yaml

from seismo import cli
from seismo.errors import ScenarioError, StoppedError
from seismo.output.results import open_results
from seismo.output.run_directory import sealed
from seismo.runs import run
from seismo.runs.request import Signals

SECONDS = 5.0  # of the processor, for a command
BYTES = 2 << 30
PATIENCE = 120.0  # s on the wall, on a busy machine
BATCH = 100  # cases of one child
DEEPEST = 20  # places in a tree that are changed

SCENARIOS = (
    """\
physics: elastic
grid: {extent: {x: 300 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.1 s}
boundaries: {top: free_surface, layer: {points: 8}}
model:
  - type: layers
    layers: [{top: 0, vp: 1500, vs: 800, rho: 1900}, {top: 90, vp: 2500, vs: 1400, rho: 2200}]
  - {type: block, x: [50, 100], z: [20, 60], vp: 2000, vs: 1000}
sources:
  - {type: force, position: {x: 150, z: 100}, force: {z: 1 kN},
     wavelet: {type: ricker, frequency: 10 Hz}}
receivers:
  - {type: line, start: {x: 10, z: 10}, end: {x: 290, z: 10}, count: 5, interval: 2 ms}
output: {snapshots: [{fields: [vx], interval: 50 ms, decimate: 2}]}
checkpoint: {wall_time: 10 min, steps: 100}
""",
    """\
physics: acoustic
grid: {extent: {x: 300 m, y: 200 m, z: 200 m}, spacing: {x: 20, y: 20, z: 20}, order: 2}
time: {duration: 0.1 s, courant: 0.8}
boundaries: {bottom: rigid, layer: {points: 4, reflection: 1e-5}}
model: [{type: gradient, vp: {top: 1500, bottom: 3 km/s}}, {type: file, vp: {path: vp.npy}}]
sources:
  - {type: pressure, position: {x: 150, y: 1e2, z: 100}, wavelet: {type: gaussian, frequency: 5 Hz}}
survey: {line: {start: {x: 50, y: 50, z: 20}, end: {x: 250, y: 50, z: 20}, count: 3}, batch: 2}
receivers: [{type: grid, x: [0, 300, 4], y: 100, z: 20, quantities: [pressure]}]
output: {path: out.h5, snapshots: [{fields: [pressure], interval: 0.05, plane: {y: 100 m}}]}
geographic: {longitude: -117, latitude: 34}
""",
)
SCENARIOS += tuple(f"precision: float16\n{text}" for text in SCENARIOS)
PIECES = (
    b"\n", b": ", b"- ", b"{", b"]", b"&a", b"*a", b"!!python/name:os.system ", b"\t", b"1e9", b"-",
    b"0", b"\xff", b"\xc3\xa9", b"<<: ", b"---\n", b"'", b'"', b"\x1b[2J", b"\0", b"# ",
)  # fmt: skip
ODD = (
    None, True, False, 0, -1, 7, 10**9, 2**63, 10**400, 1e300, -1e-300, 1e-12, 5e-324, float("nan"),
    float("inf"), "", "..", "/etc/passwd", "~", "1e999", "3 km/s", "0 m", "-5 m", "nan", "\0",
    "x" * 300, "x" * 2000, "vp.npy", "../x", "auto", "\x1b[2J", [], {}, [[]], [0], [1, 2, 3],
    {"x": 1}, {"type": "file"}, ["v"] * 2000, {f"key{n}": n for n in range(300)}, "2 Pa", "8 kHz",
)  # fmt: skip
FILES = """\
physics: elastic
grid: {extent: {x: 300 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.1 s}
boundaries: {layer: {points: 8}}
model:
  - {type: table, path: model.csv}
  - {type: file, vp: {path: FILE}}
sources:
  - {type: force, position: {x: 150, z: 100}, force: {z: 1 kN},
     wavelet: {type: file, path: wavelet.txt}}
receivers: [{type: stations, path: stations.csv}]
"""
NETCDF = "{type: file, vp: {path: FILE}}", "{type: volume, path: m.nc, vp: vp}"
EARTH = """\
physics: elastic
grid: {extent: {x: 8 km, y: 6 km, z: 5 km}, origin: {x: -4 km, y: -3 km}, spacing: 1 km, order: 2}
time: {duration: 0.5}
boundaries: {top: free_surface, layer: {points: 2}}
geographic: {longitude: -118, latitude: 34, azimuth: 20}
model:
  - {type: uniform, vp: 5000, vs: 2900, rho: 2600}
  - PART
sources: [SOURCE]
receivers: [{type: stations, path: stations.FORM}]
"""
PARTS = {
    "m.h5": "{type: volume, path: m.h5, vp: Vp, vs: Vs, outside: nearest}",
    "m.sfile": "{type: volume, path: m.sfile, vp: Cp, vs: Cs, crs: EPSG:32611, outside: nearest}",
    "m.nc": "{type: volume, path: m.nc, vp: vp, vs: vs, outside: nearest, missing: column}",
    "m.sgy": "{type: file, vp: {path: m.sgy}}",
}
WAVELET = "wavelet: {type: ricker, frequency: 0.4}"
SOURCES = {
    "f.srf": "{type: finite_fault, path: f.srf}", "f.fsp": "{type: finite_fault, path: f.fsp}",
    "e.xml": f"{{type: event, path: e.xml, {WAVELET}}}", "e.cmt": "{type: event, path: e.cmt}",
}  # fmt: skip
SRF = """2.0
PLANE 1
-118 34 2 1 2 1
30 60 1 0 1
POINTS 2
-118.0 34.0 2.0 30 60 1e10 0.1 0.1 2.9e5 2.6
70 100 4 0 0 0 0
0 500 500 0
-118.001 34.001 2.1 30 60 1e10 0.1 0.1 2.9e5 2.6
70 100 4 10 3 0 0
0 500 500 0 50 50 0
"""
FSP = """% Loc  : LAT  =  34.000      LON = -118.000     DEP = 2.50
% Size : LEN  =   2.00 km    WID =  1.00 km    Mw = 5.0       Mo = 1.26e+016 Nm
% Mech : STRK =  120         DIP =  60          RAKE = 90      Htop = 2.00 km
% Rupt : HypX =  1.00 km     HypZ = 0.50 km     avTr = 0.8 s    avVr = 2.5 km/s
% Invs :   Dx  =   1.00 km      Dz  =  1.00 km
% Invs :   LEN =  1.00 s        SHF =  0.50 s     (time-window length and time-shift)
%   Nsbfs =   2   subfaults
%   LAT       LON       X==NS     Y==EW       Z       SLIP      RAKE  TRUP     TW1   TW2
   34.000  -118.000     0.0       0.0       2.0     1.000    30.0   0.2   0.5   0.5
   34.005  -118.000     0.0       0.0       2.0     2.000   -99.0   999   1.5   0.5
"""
QUAKEML = """<?xml version="1.0" encoding="utf-8"?>
<q:quakeml xmlns="http://quakeml.org/xmlns/bed/1.2" xmlns:q="http://quakeml.org/xmlns/quakeml/1.2">
<eventParameters publicID="smi:local/all"><event publicID="smi:local/one">
<origin publicID="smi:local/o"><time><value>2008-07-29T18:42:17.21Z</value></time>
<latitude><value>34.0</value></latitude><longitude><value>-118.0</value></longitude>
<depth><value>2500.0</value></depth></origin>
<focalMechanism publicID="smi:local/f"><momentTensor publicID="smi:local/m">
<derivedOriginID>smi:local/o</derivedOriginID><scalarMoment><value>1e16</value></scalarMoment>
<tensor><Mrr><value>1e16</value></Mrr><Mtt><value>-1e16</value></Mtt><Mpp><value>0</value></Mpp>
<Mrt><value>0</value></Mrt><Mrp><value>0</value></Mrp><Mtp><value>2e15</value></Mtp></tensor>
</momentTensor></focalMechanism></event></eventParameters></q:quakeml>
"""
CMT = """ PDE 2008 07 29 18 42 15.71 34.0 -118.0 2.5 5.4 5.4 SOMEWHERE
event name:     14383980
time shift:     1.5
half duration:  0.8
latitude:       34.0
longitude:      -118.0
depth:          2.5
Mrr:       8.7e23
Mtt:      -7.7e23
Mpp:      -1.0e23
Mrt:       1.5e23
Mrp:      -3.9e23
Mtp:       4.3e23
"""
STATION_XML = """<?xml version="1.0" encoding="UTF-8"?>
<FDSNStationXML xmlns="http://www.fdsn.org/xml/station/1" schemaVersion="1.1">
<Source>made by hand</Source><Created>2020-01-01T00:00:00Z</Created>
<Network code="CI"><Station code="PAS" startDate="1990-01-01T00:00:00Z"><Latitude>34.01</Latitude>
<Longitude>-118.01</Longitude><Elevation>250.0</Elevation><Site><Name>PAS</Name></Site>
<Channel code="BHZ" locationCode="00" startDate="1990-01-01T00:00:00Z"><Latitude>34.01</Latitude>
<Longitude>-118.01</Longitude><Elevation>250.0</Elevation><Depth>10.0</Depth></Channel></Station>
</Network></FDSNStationXML>
"""
STATION_FILES = {
    "xml": STATION_XML, "specfem": "PAS CI 34.01 -118.01 250.0 0.0\nRUS CI 34.0 -118.0 10 5\n",
    "sw4": "grid h=100 x=8e3 y=6e3 z=5e3\nrec lat=34.0 lon=-118.0 depth=0 sta=PAS file=CI.PAS\n",
}  # fmt: skip
RUN = """\
physics: acoustic
grid: {extent: {x: 200 m, z: 200 m}, spacing: 10 m, order: 2}
time: {duration: 60 ms}
boundaries: {layer: {points: 4}}
model: [{type: uniform, vp: 2000}]
sources: [{type: pressure, position: {x: 100, z: 100}, wavelet: {type: ricker, frequency: 20 Hz}}]
receivers: [{type: points, positions: [{x: 50, z: 50}, {x: 120, z: 60}]}]
output: {snapshots: [{fields: [p], interval: 10 ms}]}
checkpoint: {steps: 5}
"""


def call(*words: str) -> tuple[int, str]:
    """Run a command here; return its exit code and what it said on stderr, or else on stdout."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli._call(list(words), debug=False)
    return code, err.getvalue() or out.getvalue() * (code == 2)


def allowed(code: int, said: str, *codes: int) -> str:
    """Return what is wrong with how a command ended."""
    if code not in codes:
        return f"exit code {code}: {said[-400:]}"
    if "Traceback" in said or not all(line.isprintable() for line in said.splitlines()):
        return f"said {said[-400:]!r}"
    return "" if code in (0, 1) or said else f"exit code {code} without a word"


def places(data: object, path: tuple = ()) -> list[tuple]:
    """List every place in a tree."""
    items = enumerate(data) if isinstance(data, list) else getattr(data, "items", dict)()
    found = []
    for key, value in items:
        # A list may have come to hold itself.
        inside = places(value, (*path, key)) if len(path) < DEEPEST else []
        found += [(*path, key), *inside]
    return found


def tree(chosen: random.Random) -> bytes:
    """Replace, remove, add or repeat some keys of a scenario."""
    data = copy.deepcopy(yaml.safe_load(chosen.choice(SCENARIOS)))
    for _ in range(chosen.randint(1, 3)):
        *above, key = chosen.choice(places(data) or [("x",)])
        owner = data
        for part in above:
            owner = owner[part]
        odd = copy.deepcopy(chosen.choice(ODD))
        action = chosen.choice(["replace", "replace", "remove", "add", "repeat"])
        if action == "replace":
            owner[key] = odd
        elif action == "remove":
            owner.pop(key, None) if isinstance(owner, dict) else owner.pop(key)
        elif action == "add" and isinstance(owner, dict):
            owner[chosen.choice(["type", "x", "path", "y", "dt", "Q", "é", ""])] = chosen.choice(
                ODD
            )
        elif isinstance(owner, list):
            owner.extend([copy.deepcopy(owner[key])] * chosen.choice([1, 1, 500]))
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True).encode()


def damaged_text(text: bytes, chosen: random.Random) -> bytes:
    """Cut, repeat and replace pieces of a text."""
    for _ in range(chosen.randint(1, 4)):
        first = chosen.randint(0, len(text))
        last = min(len(text), first + chosen.randint(0, 12))
        piece = chosen.choice([*PIECES, chosen.randbytes(chosen.randint(0, 6))])
        text = text[:first] + piece + text[chosen.choice([first, last]) :]
    return text


def flipped(data: bytes, chosen: random.Random, most: int = 4) -> bytes:
    """Flip some bits, or cut the end off."""
    changed = bytearray(data or b"\0")
    for _ in range(chosen.randint(1, most)):
        changed[chosen.randrange(len(changed))] ^= 1 << chosen.randrange(8)
    return bytes(changed[: chosen.choice([None, None, None, chosen.randrange(len(changed))])])


def scenario(folder: Path, chosen: random.Random) -> str:
    """Check a scenario."""
    if not (folder / "vp.npy").exists():
        np.save(folder / "vp.npy", np.full((11, 11, 16), 2000.0, np.float32))
    text = tree(chosen) if chosen.random() < 0.6 else damaged_text(
        chosen.choice(SCENARIOS).encode(), chosen
    )  # fmt: skip
    (folder / "s.yaml").write_bytes(text)
    # 1: waves that the grid does not carry.
    return allowed(*call("check", str(folder / "s.yaml")), 0, 1, 2, 4, 75)


def npy(chosen: random.Random) -> bytes:
    """Write a NumPy file whose header may say anything."""
    counts = ["0", "-1", "1", "21", "31", "True", "1e3", "10**9", "None", "2147483648", "9" * 30]
    shape = ", ".join(chosen.choices(counts, k=chosen.choice([0, 1, 2, 2, 3, 200])))
    kinds = ["<f4", "<f8", ">i2", "|O", "<M8[s]", "<U9", "|V7", "<c8", "|b1", "x", "<f99"]
    header = f"{{'descr': '{chosen.choice(kinds)}', 'fortran_order': False, 'shape': ({shape},)}}\n"
    data = np.full(chosen.choice([0, 1, 651]), 2000.0, np.float32).tobytes()
    version = chosen.choice([b"\x01\x00", b"\x02\x00\0\0", b"\x07\x00"])[:2]
    return b"\x93NUMPY" + version + len(header).to_bytes(2, "little") + header.encode() + data


def hdf5(path: Path, chosen: random.Random) -> None:
    """Write an HDF5 file with what no model has, or one that is damaged."""
    values = np.full((21, 31), 2000.0, np.float32)
    with h5py.File(path, "w") as file:
        match chosen.randrange(9):
            case 0:
                file["vp"] = h5py.Empty("f4")
            case 1:
                file["vp"] = chosen.choice([2000.0, "text", True])
            case 2:
                file["vp"] = h5py.SoftLink("/vp")
            case 3:
                file["vp"] = h5py.ExternalLink("/etc/passwd", "/")
            case 4:
                for number in range(chosen.choice([2, 3000])):
                    file.create_dataset(
                        f"\x1b[{number}\n" + "v" * chosen.choice([1, 3000]), (2, 2), "f4"
                    )
            case 5:
                shape = (chosen.choice([1 << 20, 1 << 40]), 1 << 20)
                file.create_dataset("vp", shape, "f4", chunks=(64, 64))
            case 6:
                file.create_dataset("vp", values.shape, "f4", external=[("/etc/passwd", 0, 2604)])
            case 7:
                file.create_dataset("vp", data=values.reshape(1, 1, 1, 21, 31))
            case _:
                file.create_dataset(
                    "vp", data=values, chunks=(8, 8), compression=1, fletcher32=True
                )
    if chosen.random() < 0.6:
        path.write_bytes(flipped(path.read_bytes(), chosen, 8))


def table(chosen: random.Random, lines: list[str]) -> bytes:
    """Write a table, whole or not."""
    text = "\n".join(lines).encode()
    odd = [b"1e308", b"5e-324", b"nan", b"A" * 200_000, b"-1e308", b"1e-400", b'"', b"root:x:0:0"]
    if chosen.random() < 0.5:
        words = text.replace(b",", b" , ").split(b" ")
        words[chosen.randrange(len(words))] = chosen.choice(odd)
        text = b" ".join(words)
    return damaged_text(text, chosen) if chosen.random() < 0.5 else text


def file(folder: Path, chosen: random.Random) -> str:
    """Check a scenario with hostile files."""
    name = chosen.choice(["vp.npy", "vp.h5", "vp.bin", "vp.sgy", "m.nc"])
    text = FILES.replace(NETCDF[0], NETCDF[1]) if name == "m.nc" else FILES.replace("FILE", name)
    (folder / "s.yaml").write_text(text)
    # A damaged file before it may still be open in the library that could not read it.
    (folder / name).unlink(missing_ok=True)
    if name == "vp.npy" and chosen.random() < 0.6:
        (folder / name).write_bytes(npy(chosen))
    elif name == "vp.npy":
        np.save(folder / name, np.full((21, 31), 2000.0))
        (folder / name).write_bytes(flipped((folder / name).read_bytes(), chosen))
    elif name == "vp.h5":
        hdf5(folder / name, chosen)
    elif name == "vp.sgy":
        segyio.tools.from_array2D(folder / name, np.full((31, 21), 2000.0, np.float32), dt=10_000)
        (folder / name).write_bytes(flipped((folder / name).read_bytes(), chosen, 8))
    elif name == "m.nc":
        values = xarray.DataArray(np.full((21, 31), 2000.0), dims=("z", "x"), name="vp")
        values = values.assign_coords(z=10.0 * np.arange(21), x=10.0 * np.arange(31))
        values.to_netcdf(folder / name, engine=chosen.choice(["h5netcdf", "scipy"]))
        (folder / name).write_bytes(flipped((folder / name).read_bytes(), chosen, 8))
    else:
        (folder / name).write_bytes(chosen.randbytes(chosen.choice([0, 3, 2604])))
    rows = [f"{z},1500,800,{1900 + z}" for z in range(0, 300, 50)]
    (folder / "model.csv").write_bytes(table(chosen, ["z,vp,vs,rho", *rows]))
    pulse = [f"{n / 200} {np.exp(-((n - 20) ** 2) / 50)}" for n in range(40)]
    (folder / "wavelet.txt").write_bytes(table(chosen, pulse))
    rows = [f"XX,S{n},00,{n * 20},10" for n in range(8)]
    stations = table(chosen, ["network,station,location,x,z", *rows])
    (folder / "stations.csv").write_bytes(stations)
    return allowed(*call("check", str(folder / "s.yaml")), 0, 2, 4, 75)


def odd_hdf5(path: Path, chosen: random.Random) -> None:
    """Change attributes and shapes of an HDF5 file, or its bits."""
    if chosen.random() < 0.3:
        path.write_bytes(flipped(path.read_bytes(), chosen, 8))
        return
    with h5py.File(path, "r+") as opened:
        entries = [opened]
        opened.visititems(lambda _, entry: entries.append(entry))
        for _ in range(chosen.randint(1, 3)):
            entry = chosen.choice(entries)
            odd = chosen.choice([
                0.0, -1.0, 1e-300, 1e300, np.nan, np.inf, "\x1b[2J", "", [], [1.0, 2.0, 3.0], 7,
                -(2**62), 1 << 62, b"\xff", ["a", "b"], 1e3, -4e3, h5py.Empty("f4"), True,
            ])  # fmt: skip
            if entry.attrs and chosen.random() < 0.6:
                name = chosen.choice(sorted(entry.attrs))
                entry.attrs[name] = odd
            elif isinstance(entry, h5py.Dataset) and entry.size:
                array = entry[...]
                index = tuple(chosen.randrange(n) for n in array.shape)
                if array.dtype.kind == "f":
                    array[index] = chosen.choice([0.0, -1.0, 1e30, np.nan, np.inf, -1e20, 99999.0])
                name, kept = entry.name, dict(entry.attrs)
                array = chosen.choice([array, array[:1], array[..., :1], array[None], array.T])
                parent = entry.parent
                del parent[name]
                parent.create_dataset(name, data=array).attrs.update(kept)
                entries = [opened]


def geomodelgrids(path: Path) -> None:
    """Write two blocks on a ground."""
    with h5py.File(path, "w") as opened:
        opened.attrs.update({
            "crs": "EPSG:32611", "origin_x": 380e3, "origin_y": 3740e3, "y_azimuth": 0.0,
            "dim_x": 60e3, "dim_y": 60e3, "dim_z": 8e3, "data_values": ["density", "Vp", "Vs"],
            "data_units": ["kg/m**3", "m/s", "m/s"], "data_layout": "vertex",
        })  # fmt: skip
        names = ("x_resolution", "y_resolution", "z_resolution")
        for name, step, top, levels in (("a", 4e3, 0.0, 4), ("b", 6e3, -3e3, 6)):
            count = int(60e3 / step) + 1
            block = np.empty((count, count, levels, 3), "f4")
            block[...] = 2600.0, 5500.0, 3200.0
            opened[f"blocks/{name}"] = block
            resolutions = dict(zip(names, (step, step, 1e3), strict=True))
            opened[f"blocks/{name}"].attrs.update(resolutions | {"z_top": top})
        opened["surfaces/top_surface"] = np.full((16, 16), 300.0)
        opened["surfaces/top_surface"].attrs.update(dict.fromkeys(names[:2], 4e3))


def sfile(path: Path) -> None:
    """Write two grids between three interfaces."""
    with h5py.File(path, "w") as opened:
        name = "Origin longitude, latitude, azimuth"
        opened.attrs.update({name: [-118.3, 33.8, 0.0], "ngrids": np.int32(2)})
        for number, (count, depth) in enumerate(((21, 0.0), (11, 3e3), (11, 9e3))):
            opened[f"Z_interfaces/z_values_{number}"] = np.full((count, count), depth)
            if number < 2:
                group = opened.create_group(f"Material_model/grid_{number}")
                group.attrs["Horizontal grid size"] = 60e3 / (count - 1)
                for variable, value in (("Cp", 5500.0), ("Cs", 3200.0)):
                    group[variable] = np.full((count, count, 4), value, "f4")


def netcdf(path: Path, chosen: random.Random) -> None:
    """Write a model by depth, latitude and longitude."""
    axes = {"depth": [0.0, 1.0, 9.0], "latitude": np.linspace(33.8, 34.2, 5),
            "longitude": np.linspace(-118.3, -117.7, 7)}  # fmt: skip
    values = (tuple(axes), np.full((3, 5, 7), 5.5, "f4"), {"units": "km/s"})
    data = xarray.Dataset({"vp": values, "vs": (values[0], 0.6 * values[1], values[2])}, axes)
    data.depth.attrs.update(units="km", positive="down")
    data.to_netcdf(path, engine=chosen.choice(["h5netcdf", "scipy"]))


def cube(path: Path, chosen: random.Random) -> None:
    """Write a cube of inlines and crosslines, whose traces say where they are."""
    segyio.tools.from_array3D(path, np.full((7, 9, 6), 5500.0, np.float32), dt=10_000)
    with segyio.open(path, "r+", ignore_geometry=True) as opened:
        for number in range(opened.tracecount):
            y, x = divmod(number, 9)
            opened.header[number] = {
                segyio.TraceField.CDP_X: -4000 + 1000 * x, segyio.TraceField.CDP_Y: 1000 * y - 3000,
                segyio.TraceField.SourceGroupScalar: chosen.choice([1, 1, 1, 0, -10]),
            }  # fmt: skip
        opened.bin[segyio.BinField.Interval] = chosen.choice([1000, 10_000, 10, 0, -1])


def odd_words(text: str, chosen: random.Random) -> bytes:
    """Change numbers of a text, or pieces of it."""
    words = text.split(" ")
    for _ in range(chosen.randint(0, 3)):
        word = chosen.choice(["nan", "-99", "999", "1e308", "-1e-320", "0", "1e9", "-1", "x", ""])
        words[chosen.randrange(len(words))] = word
    changed = " ".join(words).encode()
    return damaged_text(changed, chosen) if chosen.random() < 0.6 else changed


def earth(folder: Path, chosen: random.Random) -> str:
    """Check a scenario with a hostile file of another program."""
    model, source, form = (chosen.choice(list(some)) for some in (PARTS, SOURCES, STATION_FILES))
    text = EARTH.replace("PART", PARTS[model]).replace("SOURCE", SOURCES[source])
    (folder / "s.yaml").write_text(text.replace("FORM", form))
    texts = {"f.srf": SRF, "f.fsp": FSP, "e.xml": QUAKEML, "e.cmt": CMT}
    which = chosen.choice(["model", "model", "source", "stations"])
    path = folder / model
    path.unlink(missing_ok=True)
    match model:
        case "m.h5":
            geomodelgrids(path)
        case "m.sfile":
            sfile(path)
        case "m.nc":
            netcdf(path, chosen)
        case _:
            cube(path, chosen)
    if which == "model" and (model in ("m.h5", "m.sfile") or path.read_bytes()[:4] == b"\x89HDF"):
        odd_hdf5(path, chosen)
    elif which == "model":
        path.write_bytes(flipped(path.read_bytes(), chosen, 8))
    for name, sound, hostile in (
        (source, texts[source], which == "source"),
        (f"stations.{form}", STATION_FILES[form], which == "stations"),
    ):
        (folder / name).write_bytes(odd_words(sound, chosen) if hostile else sound.encode())
    # 1: waves of a rock that the file has are not carried.
    return allowed(*call("check", str(folder / "s.yaml")), 0, 1, 2, 4, 75)


SUBFAULT = [
    *((name, "f4") for name in ("LON", "LAT", "DEP", "STK", "DIP", "AREA", "TINIT", "DT", "VS",
                                "DEN", "RAKE", "SLIP1")),
    ("NT1", "i4"), ("SLIP2", "f4"), ("NT2", "i4"), ("SLIP3", "f4"), ("NT3", "i4"),
]  # fmt: skip
OTHERS = {  # kinds, and what of a scenario on the earth names their files
    "rupture": {"SOURCE": "{type: finite_fault, path: f.h5}"},
    "heights": {"model:": "topography: {type: file, path: h.nc, outside: nearest}\nmodel:"},
    "layers": {"PART": "{type: volume, path: m.lst, vp: vp, vs: vs, rho: rho}"},
}


def rupture(path: Path) -> None:
    """Write two subfaults."""
    row = (-118.0, 34.0, 2.0, 30, 60, 1e10, 0.1, 0.1, 2.9e5, 2.6, 70, 100, 4, 0, 0, 0, 0)
    with h5py.File(path, "w") as opened:
        opened["POINTS"] = np.array([row, row], SUBFAULT)
        opened["SR1"] = np.array([0, 500, 500, 0] * 2, "f4")


def grid(path: Path, name: str, number: float, engine: str) -> None:
    """Write heights or depths by latitude and longitude."""
    axes = {"lat": np.linspace(33.8, 34.2, 9), "lon": np.linspace(-118.3, -117.7, 9)}
    data = xarray.Dataset({name: (("lat", "lon"), np.full((9, 9), number))}, axes)
    for axis, unit in (("lat", "degrees_north"), ("lon", "degrees_east")):
        data[axis].attrs["units"] = unit
    data[name].attrs["units"] = "m"
    data.to_netcdf(path, engine=engine)


def elsewhere(path: Path, chosen: random.Random) -> None:
    """Let an object of an HDF5 file lead to another file, or claim what is not stored."""
    with h5py.File(path, "r+") as opened:
        name = chosen.choice(list(opened))
        shape = getattr(opened[name], "shape", ())
        kind = getattr(opened[name], "dtype", np.dtype("f4"))
        del opened[name]
        secret = [("/etc/passwd", 0, max(1, int(np.prod(shape))) * kind.itemsize)]
        match chosen.randrange(6):
            case 0:
                opened[name] = h5py.ExternalLink(chosen.choice(["/etc/passwd", "pipe"]), "/x")
            case 1:
                opened[name] = h5py.SoftLink(chosen.choice(["/", f"/{name}", "/SR1", "/nothing"]))
            case 2:
                opened.create_dataset(name, shape or (1,), kind, external=secret)
            case 3:
                layout = h5py.VirtualLayout(shape or (1,), kind)
                layout[...] = h5py.VirtualSource("other.h5", "values", shape or (1,))
                opened.create_virtual_dataset(name, layout)
            case 4:
                huge = [chosen.choice([1, 1 << 20, 1 << 40])] * max(1, len(shape))
                opened.create_dataset(name, huge, kind, chunks=(1,) * len(huge))
            case _:
                opened[name] = chosen.choice([h5py.Empty("f4"), "text", 1.0, np.zeros((0, 0))])


def strings(path: Path, chosen: random.Random) -> None:
    """Append collections of strings that overlap."""
    length = chosen.choice([0, 16, 24, 1 << 16, 1 << 40, (1 << 64) - 1])
    collection = b"GCOL\x01\0\0\0" + length.to_bytes(8, "little")
    filling = chosen.choice([bytes(16), b"\x01" * 16, chosen.randbytes(16)])
    with path.open("ab") as stream:
        stream.write((collection + filling) * chosen.choice([1, 100, 32_768]))


def odd_kind(path: Path, chosen: random.Random) -> None:
    """Put a pipe, a device, a folder or a link to itself in place of a file."""
    path.unlink()
    match chosen.randrange(4):
        case 0:
            os.mkfifo(path)
        case 1:
            path.symlink_to("/dev/zero")
        case 2:
            path.mkdir()
        case _:
            path.symlink_to(path.name)


def removed(path: Path) -> None:
    """Remove whatever is at a path."""
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def other(folder: Path, chosen: random.Random) -> str:
    """Check a scenario, or convert an archive, with a hostile file."""
    if chosen.random() < 0.25:
        return archive(folder, chosen)
    if not (folder / "pipe").exists():
        os.mkfifo(folder / "pipe")
    name = chosen.choice(list(OTHERS))
    text = EARTH
    for old, new in OTHERS[name].items():
        text = text.replace(old, new)
    text = text.replace("  - PART\n", "").replace("SOURCE", SOURCES["e.cmt"])
    (folder / "s.yaml").write_text(text.replace("FORM", "specfem"))
    (folder / "stations.specfem").write_text(STATION_FILES["specfem"])
    (folder / "e.cmt").write_text(CMT)
    path = folder / {"rupture": "f.h5", "heights": "h.nc", "layers": "a.grd"}[name]
    for one in (path, folder / "m.lst"):
        removed(one)
    (folder / "m.lst").write_text("a.grd 2.6 5.5 3.2 500 300 0\nb.grd 2.7 6.0 3.5 500 300 1\n")
    engine = chosen.choice(["h5netcdf", "h5netcdf", "scipy"])
    if name == "rupture":
        rupture(path)
    else:
        grid(path, "z", 300.0 if name == "heights" else 0.0, engine)
        grid(folder / "b.grd", "z", 2000.0, "scipy")
    is_hdf5 = path.read_bytes()[:4] == b"\x89HDF"
    match chosen.randrange(6):
        case 0 | 1 if is_hdf5:
            elsewhere(path, chosen)
        case 2 if is_hdf5:
            strings(path, chosen)
        case 3:
            odd_kind(path, chosen)
        case 4 if is_hdf5:
            odd_hdf5(path, chosen)
        case _:
            path.write_bytes(flipped(path.read_bytes(), chosen, 8))
    return allowed(*call("check", str(folder / "s.yaml")), 0, 1, 2, 4, 75)


def archive(folder: Path, chosen: random.Random) -> str:
    """Convert an archive of arrays."""
    path = folder / "a.npz"
    removed(path)
    arrays = {"vp": np.full((21, 31), 2000.0), "spacing": 10.0, "dt": 1e-3,
              "wavelet": np.ones(40), "sources": [[5, 5]], "receivers": [[6, 7]]}  # fmt: skip
    np.savez_compressed(path, **arrays)
    match chosen.randrange(4):
        case 0:
            odd_kind(path, chosen)
        case 1:
            path.write_bytes(flipped(path.read_bytes(), chosen, 8))
        case _:
            name = chosen.choice([*arrays, "other"])
            member = npy(chosen) + bytes(chosen.choice([0, 0, 1 << 28]))
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
                for key, array in arrays.items():
                    with target.open(f"{key}.npy", "w") as stream:
                        np.save(stream, array) if key != name else stream.write(member)
                if name == "other":
                    target.writestr("other.npy", member)
    words = ("convert", str(path), "-o", str(folder / "a.yaml"), "--force")
    return allowed(*call(*words), 0, 1, 2, 4, 75)


def sound_run(folder: Path, name: str) -> Path:
    """Return the results of a run that nothing is wrong with, made once for a folder."""
    (folder / "s.yaml").write_text(RUN)
    sound = folder / name
    if not sound.exists():
        code, said = call("run", str(folder / "s.yaml"), "--quiet", "-o", str(sound))
        assert code == 0, said
    return sound


def result(folder: Path, chosen: random.Random) -> str:
    """Read and compare damaged results."""
    sound, path = folder / "sound.h5", folder / "x.h5"
    path.write_bytes(flipped(sound.read_bytes(), chosen))
    for words in (("info", "--verify", str(path)), ("compare", str(path), str(sound)),
                  ("paraview", str(path))):  # fmt: skip
        if problem := allowed(*call(*words), 0, 1, 2):
            return f"{words[0]}: {problem}"
    return ""


def unfinished(folder: Path) -> Path:
    """Return the folder of a run that was stopped, with two checkpoints; made once."""
    kept = folder / "kept.run"
    if not kept.exists():
        (folder / "s.yaml").write_text(RUN)
        signals = Signals()

        def stop(progress) -> None:
            if progress.phase == "checkpoint" and "step 15" in progress.note:
                signals.stop = True

        with contextlib.suppress(StoppedError), warnings.catch_warnings(action="ignore"):
            run.run(folder / "s.yaml", folder / "x.h5", stop, signals=signals)
        (folder / "x.h5.run").rename(kept)
        (folder / "x.h5").unlink(missing_ok=True)
    return kept


def hashed(path: Path) -> str:
    with open_results(path) as results:
        return results.traces_hash


def going_on(folder: Path, chosen: random.Random) -> str:
    """Go on with a damaged run directory."""
    place, victim = folder / "x.h5.run", folder / "victim"
    shutil.rmtree(place, ignore_errors=True)
    (folder / "x.h5").unlink(missing_ok=True)
    shutil.copytree(folder / "kept.run", place)
    victim.write_text("dear")
    for path in chosen.sample(sorted(place.iterdir()), chosen.choice([1, 1, 2])):
        match chosen.randrange(6):
            case 0:
                path.unlink()
                path.symlink_to(victim)
            case 1:
                path.unlink()
                path.mkdir()
            case 2:
                path.write_bytes(chosen.randbytes(chosen.choice([0, 100])))
            case _:
                path.write_bytes(flipped(path.read_bytes(), chosen, 3))
    if chosen.random() < 0.2:
        (place / "lock").symlink_to(victim)
    if chosen.random() < 0.2:
        odd_kind(chosen.choice([p for p in place.iterdir() if p.is_file()]), chosen)
    if chosen.random() < 0.3:
        (place / "status.json").unlink(missing_ok=True)
        beat = {key: chosen.choice(ODD[:20]) for key in ("state", "updated", "progress", "pid")}
        (place / "status.json").write_text(sealed({"format": "seismo status", "version": 1} | beat))
    if problem := allowed(*call("status", str(folder / "x.h5")), 0):
        return f"status: {problem}"
    words = ("resume", str(place), "--quiet")
    if chosen.random() < 0.3:
        words = ("run", str(folder / "s.yaml"), "--quiet", "--resume", "-o", str(folder / "x.h5"))
    code, said = call(*words)
    if victim.read_text() != "dear":
        return "another file was overwritten"
    if code == 0 and hashed(folder / "x.h5") != hashed(folder / "sound.h5"):
        return "other traces"
    return allowed(code, said, 0, 2, 75)


def cached(folder: Path, chosen: random.Random) -> str:
    """Run with a damaged kernel cache."""
    cache = folder / "cache"
    files = sorted(cache.glob("*.obj"))
    others = [path.read_bytes() for path in files]
    for path in chosen.sample(files, chosen.randint(1, len(files))):
        match chosen.randrange(4):
            case 0:
                path.write_bytes(chosen.choice(others))
            case 1:
                path.unlink()
            case _:
                path.write_bytes(flipped(path.read_bytes(), chosen))
    path = folder / "x.h5"
    path.unlink(missing_ok=True)
    code, said = call("run", str(folder / "s.yaml"), "--quiet", "-o", str(path))
    if code == 0 and hashed(path) != hashed(folder / "sound.h5"):
        return "other traces"
    return allowed(code, said, 0)


def prepared(kind: str, folder: Path) -> None:
    """Make what all cases of a kind begin with; in a child, so that no kernels are loaded here."""
    os.environ["SEISMO_CACHE_DIR"] = str(folder / "cache")
    if kind in ("results", "runs", "caches"):
        sound_run(folder, "sound.h5")
    if kind == "runs":
        unfinished(folder)


Case = Callable[[Path, random.Random], str]
KINDS: dict[str, tuple[Case, int]] = {  # and how many cases a child has
    "scenarios": (scenario, BATCH), "files": (file, BATCH), "earths": (earth, BATCH),
    "others": (other, BATCH), "results": (result, BATCH),
    "runs": (going_on, 1), "caches": (cached, 1),
}  # fmt: skip


def cases(kind: str, folder: Path, numbers: range, tell: int) -> None:
    """Run cases; write a line of JSON before and after each to a descriptor."""
    case, _ = KINDS[kind]
    limit = SECONDS * (6 if kind == "caches" else 1)  # which compile
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in numbers:
        os.write(tell, json.dumps([number, "begun"]).encode() + b"\n")
        began = time.process_time()
        try:
            problem = case(folder, random.Random(f"{kind} {number}"))
        except ScenarioError as error:
            problem = f"raised {error}"
        took = time.process_time() - began
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
        if not problem and took > limit:
            problem = f"took {took:.1f} s"
        if not problem and grown > BYTES:
            problem = f"took {grown / 1e9:.1f} GB"
        os.write(tell, json.dumps([number, problem]).encode() + b"\n")


def in_child(work: Callable[[int], None]) -> tuple[list, str]:
    """Run in a child; return what it told, line by line, and how it ended if not well."""
    reading, telling = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            work(telling)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(telling)
    told, began = b"", time.monotonic()
    os.set_blocking(reading, False)
    ended, status = 0, 0
    while not ended:
        time.sleep(0.01)
        with contextlib.suppress(BlockingIOError):
            told, began = told + os.read(reading, 1 << 20), time.monotonic()
        ended, status = os.waitpid(child, os.WNOHANG)
        if not ended and time.monotonic() - began > PATIENCE:
            os.kill(child, signal.SIGKILL)
    with contextlib.suppress(BlockingIOError):
        told += os.read(reading, 1 << 24)
    os.close(reading)
    how = f"ended by signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else ""
    how = how or ("raised" if os.WEXITSTATUS(status) else "")
    return [json.loads(line) for line in told.splitlines() if line.endswith(b"]")], how


def fuzz(kind: str, count: int, first: int = 0) -> list[str]:
    """Run so many cases of a kind; return what went wrong, a line for each."""
    wrong, number, last = [], first, first + count
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        folder = Path(name)
        _, how = in_child(lambda tell: prepared(kind, folder))
        assert not how, how
        os.environ["SEISMO_CACHE_DIR"] = str(folder / "cache")
        while number < last:
            batch = range(number, min(last, number + KINDS[kind][1]))
            told, how = in_child(lambda tell, some=batch: cases(kind, folder, some, tell))
            done = [n for n, problem in told if problem != "begun"]
            wrong += [f"{kind} {n}: {p}" for n, p in told if p not in ("", "begun")]
            if how or len(done) < len(batch):
                number = batch[0] + len(done)
                wrong.append(f"{kind} {number}: {how or 'ended early'}")
            number = batch[-1] + 1 if not how else number + 1
    return wrong


if __name__ == "__main__":
    chosen_kind, *numbers = sys.argv[1:]
    began_at = time.monotonic()
    many, *start = [int(n) for n in numbers] or [100]
    found = fuzz(chosen_kind, many, *start)
    print(*found, sep="\n")
    print(f"{chosen_kind}: {many} cases, {len(found)} wrong, {time.monotonic() - began_at:.0f} s")
    sys.exit(bool(found))
