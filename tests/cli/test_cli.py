"""The command line: what each command says, where it writes, and how it fails."""

import errno
import json
import os
import signal
import subprocess
import sys

import pytest

import seismo
from seismo import cli
from seismo.output.figures.style import STYLE
from seismo.runs import run
from synthetic_results import write_elastic_2d, write_elastic_3d

SCENARIO = """\
title: a pulse
physics: acoustic
grid: {extent: {x: 300 m, z: 200 m}, spacing: 10 m, order: 4}
time: {duration: 0.2 s}
boundaries: {layer: {points: 10}}
model: [{type: uniform, vp: 1500 m/s}]
sources:
  - {type: pressure, position: {x: 150 m, z: 100 m}, wavelet: {type: ricker, frequency: 10 Hz}}
receivers:
  - {type: points, positions: [{x: 220 m, z: 100 m}]}
output:
  snapshots: [{fields: [p], interval: 50 ms}]
"""


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Draw at 60 dots per inch: what is drawn is `test_plotting.py`'s."""
    monkeypatch.setitem(STYLE, "savefig.dpi", 60)


@pytest.fixture
def seismo_of(tmp_path, monkeypatch, command_line):
    """Call the command line in a folder of its own; give exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pulse.yaml").write_text(SCENARIO)
    handler = signal.getsignal(signal.SIGTERM)
    yield command_line
    signal.signal(signal.SIGTERM, handler)


def test_run_says_once_what_check_warns_of(seismo_of, tmp_path):
    text = SCENARIO.replace("ricker, frequency: 10 Hz", "triangle, rise: 100 ms")
    (tmp_path / "pulse.yaml").write_text(text)
    _, said, _ = seismo_of("check", "pulse.yaml", "--json")
    warnings = json.loads(said)["warnings"]
    assert warnings
    for quiet in ([], ["--quiet"]):
        code, _, err = seismo_of("run", "pulse.yaml", "--output", f"{len(quiet)}.h5", *quiet)
        assert code == 0
        for warning in warnings:
            assert err.count(f"warning: {warning}\n") == (not quiet)


def test_run_info_and_plot(seismo_of, tmp_path):
    code, out, err = seismo_of("run", "pulse.yaml", "--output", "here.h5")
    assert (code, out) == (0, "here.h5\n")
    assert "100 %" in err
    assert "Mpoint/s" in err.splitlines()[-1]
    code, out, err = seismo_of("resume", "here.h5.run")
    assert (code, out) == (0, f"{tmp_path / 'here.h5'}\n")
    assert err == f"{tmp_path / 'here.h5'}: is complete already; nothing is left to do\n"
    assert (tmp_path / "here.h5").exists()
    code, out, err = seismo_of("info", "here.h5")
    assert code == 0
    assert "a pulse" in out
    assert "source_000: pressure at x 150, z 100 m, ricker centred at 0.15 s" in out
    code, out, err = seismo_of("plot", "here.h5", "model", "-o", "m.png", "-O", "parameters=[vp]")
    assert (code, err) == (0, "")
    assert (tmp_path / "m.png").exists()
    code, out, err = seismo_of("plot", "here.h5", "modle")
    assert code == 2
    assert "did you mean 'model'" in err
    code, out, err = seismo_of("plot", "here.h5", "model", "traces", "-o", "m.png")
    assert code == 2
    assert "folder" in err


def test_run_says_that_it_replaces_results_of_another_scenario(seismo_of, tmp_path):
    here = f"{tmp_path / 'pulse.h5'}: holds results of another scenario, of 2"
    assert here not in seismo_of("run", "pulse.yaml")[2]
    assert here not in seismo_of("run", "pulse.yaml")[2]
    text = (tmp_path / "pulse.yaml").read_text()
    (tmp_path / "pulse.yaml").write_text(text.replace("0.2 s", "0.1 s"))
    assert seismo_of("check", "pulse.yaml")[0] == 0
    code, out, err = seismo_of("run", "pulse.yaml", "--quiet")
    assert (code, out, err) == (0, "", "")
    (tmp_path / "pulse.yaml").write_text(text.replace("a pulse", "another"))
    (line,) = [line for line in seismo_of("run", "pulse.yaml")[2].splitlines() if here in line]
    assert line.endswith(
        "(its title 'a pulse', and 1 more), which are replaced when this run is complete"
    )


def test_plot_draws_all_there_is(seismo_of, tmp_path):
    assert seismo_of("run", "pulse.yaml", "--quiet") == (0, "", "")
    code, out, err = seismo_of("plot", "pulse.h5")
    assert code == 0
    kinds = [line.removesuffix(".png").rpartition("-")[2] for line in out.splitlines()]
    assert len(kinds) == 5
    assert f"pulse.h5: drawn are {', '.join(kinds)}; others by their names" in err
    # What takes longer is drawn by the command that is named.
    assert err.endswith("such as the movie: seismo plot pulse.h5 movie\n")
    assert not list(tmp_path.glob("pulse-movie*"))
    assert seismo_of("plot", "pulse.h5", "movie")[::2] == (0, "")
    assert (tmp_path / "pulse-movie.gif").exists()


def test_plot_says_which_of_several_it_shows(seismo_of, tmp_path, monkeypatch):
    monkeypatch.setattr("seismo.output.figures.draw", lambda *_, **__: "")
    write_elastic_2d(tmp_path / "two.h5")
    shots = "two.h5: 2 shots, of which shot_a is shown; another with --option shot=shot_b\n"
    sets = (
        "two.h5: 2 sets of receivers, of which line is shown; another with --option "
        "receivers=stations\n"
    )
    assert seismo_of("plot", "two.h5", "traces", "gather")[::2] == (0, shots + sets)
    assert seismo_of("plot", "two.h5", "traces", "-O", "shot=shot_b")[2] == sets
    assert seismo_of("plot", "two.h5", "traces", "-O", "receivers=line")[2] == shots
    assert seismo_of("plot", "two.h5", "peaks")[2] == shots
    assert seismo_of("plot", "two.h5", "model")[2] == ""
    write_elastic_3d(tmp_path / "three.h5")
    said = "2 series of snapshots, of which volume is shown; another with --option series=surface"
    assert seismo_of("plot", "three.h5", "snapshot")[2] == f"three.h5: {said}\n"


def test_plot_gives_options_to_the_figures_that_know_them(seismo_of, tmp_path):
    write_elastic_2d(tmp_path / "two.h5")
    for kinds in ([], ["traces", "gather"]):
        code, out, err = seismo_of("plot", "two.h5", *kinds, "-O", "normalize=true", "-O", "shot=0")
        assert (code, out) == (2, "")
        assert "there is no 'normalize'" in err
        assert "did you mean 'normalise'" in err
    assert seismo_of("plot", "two.h5", "traces", "peaks", "-O", "clip=200")[:2] == (2, "")
    assert {path.name for path in tmp_path.iterdir()} == {"two.h5", "pulse.yaml"}
    code, out, _ = seismo_of("plot", "two.h5", "traces", "peaks", "-O", "receivers=stations")
    assert code == 0
    assert [line.rpartition("/")[2] for line in out.splitlines()] == [
        "two-traces-stations.png",
        "two-peaks.png",
    ]
    code, out, _ = seismo_of("plot", "two.h5", "gather", "-O", "shot=1", "-o", ".")
    assert (code, out) == (0, f"{tmp_path / 'two-gather-shot_b.png'}\n")


def test_plot_says_why_it_leaves_traces_out(seismo_of, tmp_path):
    text = SCENARIO.replace("z: 100 m}]}", "z: 100 m}], interval: 3 s}")
    (tmp_path / "pulse.yaml").write_text(text)
    assert seismo_of("run", "pulse.yaml", "--quiet") == (0, "", "")
    code, out, err = seismo_of("plot", "pulse.h5")
    assert code == 0
    assert len(out.splitlines()) == 2
    first, second = err.splitlines()
    assert first.startswith("pulse.h5: receivers receivers: one sample")
    assert "drawn are model, snapshot;" in second


def test_check_as_text_and_json(seismo_of):
    code, out, _ = seismo_of("check", "pulse.yaml")
    assert code == 0
    assert "stability limit" in out
    code, out, _ = seismo_of("check", "pulse.yaml", "--json")
    assert json.loads(out)["physics"] == "acoustic"


def test_check_of_a_grid_that_carries_no_waves_ends_with_one(seismo_of, tmp_path):
    """Less than two points in the wavelength of the dominant frequency."""
    (tmp_path / "coarse.yaml").write_text(SCENARIO.replace("10 Hz", "80 Hz"))
    code, out, _ = seismo_of("check", "coarse.yaml")
    assert code == 1
    assert "\nerror grid.spacing: waves of " in out
    assert out.splitlines()[-1] == "this grid does not carry these waves: the exit code is 1"
    code, out, _ = seismo_of("check", "coarse.yaml", "--json")
    assert code == 1
    assert json.loads(out)["errors"][0] in json.loads(out)["warnings"]


def test_check_run_and_progress_count_the_same_steps(seismo_of):
    plan = json.loads(seismo_of("check", "pulse.yaml", "--json")[1])
    total = plan["steps"] + plan["extra_steps"]
    assert f"and {plan['extra_steps']} more to complete" in seismo_of("check", "pulse.yaml")[1]
    last, closing = seismo_of("run", "pulse.yaml")[2].splitlines()[-2:]
    assert f"100 %  step {total}/{total}  t = 200 ms" in last
    assert closing.startswith(f"{total} steps in ")


def test_check_tells_of_results_that_cannot_be_written(seismo_of, tmp_path):
    """In the words of `run`, which refuses them; nothing stays behind."""
    (tmp_path / "folder").mkdir()
    for path, words in (
        ("missing/a.h5", "the folder does not exist; create it first"),
        ("folder", "is a folder; name a file, such as results.h5"),
    ):
        (tmp_path / "pulse.yaml").write_text(f"{SCENARIO}  path: {path}\n")
        code, out, _ = seismo_of("check", "pulse.yaml")
        warning, last = out.splitlines()[-2:]
        assert code == 2
        assert last == "this run will not start here, as said above; elsewhere it may"
        assert warning.startswith("refused pulse.yaml:13:3: output.path ")
        assert warning.endswith(f"{words}; the run will be refused")
        code, _, err = seismo_of("run", "pulse.yaml")
        assert code == 2
        assert words in err
    assert not list(tmp_path.glob("**/.*"))


def test_check_tells_of_a_folder_that_may_not_be_written_to(seismo_of, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr(os, "open", refuse)
    _, out, _ = seismo_of("check", "pulse.yaml", "--json")
    assert "cannot be written: Permission denied" in json.loads(out)["warnings"][-1]


def test_new_writes_a_scenario_that_is_sound(seismo_of, tmp_path):
    assert seismo_of("new", "mine") == (0, "mine.yaml\n", "")
    assert seismo.load(tmp_path / "mine.yaml").physics == "elastic"
    assert seismo_of("new", "mine")[0] == 0
    (tmp_path / "mine.yaml").write_text("title: edited")
    code, _, err = seismo_of("new", "mine.yaml")
    assert code == 2
    assert err == "mine.yaml: exists with other content; use --force to replace it\n"
    assert (tmp_path / "mine.yaml").read_text() == "title: edited"
    assert seismo_of("new", "mine", "--force")[0] == 0
    assert seismo.load(tmp_path / "mine.yaml").physics == "elastic"


def test_schema_and_version(seismo_of):
    assert "properties" in json.loads(seismo_of("schema")[1])
    shown = seismo_of("schema", "time.step")[1]
    assert "a number in s, above 0" in shown
    assert "|" not in shown
    assert (
        "| `step` | a number in s, above 0 |" in seismo_of("schema", "time.step", "--markdown")[1]
    )
    assert seismo_of("schema", "grd")[2].endswith("no such key; did you mean 'grid'?\n")
    assert seismo_of("--version")[1] == f"seismo {seismo.__version__}\n"


def test_mistakes_are_one_line_each(seismo_of, tmp_path):
    text = SCENARIO.replace("physics: acoustic", "phisics: acoustic").replace("10 m,", "ten m,")
    (tmp_path / "pulse.yaml").write_text(text)
    for command in ("run", "check"):
        code, out, err = seismo_of(command, "pulse.yaml")
        assert (code, out) == (2, "")
        assert len(err.splitlines()) >= 2
        assert all("pulse.yaml" in line for line in err.splitlines())
        assert "Traceback" not in err
    assert not list(tmp_path.glob("*.h5"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "none.yaml"), ("info", "none.h5"), ("plot", "none.h5"), ("nonsense",),
        ("bench", "W99"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_exit_2(seismo_of, arguments):
    code, _, err = seismo_of(*arguments)
    assert code == 2
    assert err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "pulze.yaml"), "No such file or directory; did you mean 'pulse.yaml'?"),
        (("check", "pulse"), "did you mean 'pulse.yaml'?"),
        (("info", "pulze.h5"), "no such file; did you mean 'pulse.h5'?"),
        (("status", "pulze.h5"), "did you mean 'pulse.h5'?"),
        (("check", "scenarios/loh1.yaml"), "no such file; `seismo examples loh1` copies it here"),
        (("run", "pulse.yaml", "--backend", "cuda"), "'cuda' is not one of 'auto', 'cpu', 'gpu'."),
        (("run", "pulse.yaml", "--device", "x"), "'--device': must be a valid integer"),
        (("run", "pulse.yaml", "--output", "a.txt"), "results are an HDF5 file: name it a.h5;"),
    ],
    ids=lambda one: "-".join(one) if isinstance(one, tuple) else "",
)
def test_a_misspelt_name_is_told_with_the_one_meant(seismo_of, tmp_path, arguments, words):
    (tmp_path / "pulse.h5").write_text("")
    code, _, err = seismo_of(*arguments)
    assert code == 2
    assert words in err


@pytest.mark.parametrize(
    ("error", "code"),
    [(KeyboardInterrupt(), 130), (MemoryError(), 4), (ZeroDivisionError("x"), 70)],
)
def test_exit_codes(seismo_of, monkeypatch, error, code):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(run, "run_on", fail)
    found, out, err = seismo_of("run", "pulse.yaml")
    assert (found, out, len(err.splitlines())) == (code, "", 1)
    if code == 70:
        assert "Traceback" in seismo_of("--debug", "run", "pulse.yaml")[2]


@pytest.mark.parametrize(
    "words",
    [["schema"], pytest.param(["schema", "time.step"], marks=pytest.mark.slow), ["--version"]],
)
def test_a_closed_pipe_is_quiet(words):
    """Whether it shows while the command writes, or when what is left is flushed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "seismo", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == cli.PIPE_CLOSED


@pytest.mark.parametrize(
    ("words", "code"), [(["schema"], 75), (["--version"], 75), (["check", "absent.yaml"], 2)]
)
def test_output_that_has_no_room_is_no_fault_of_the_program(tmp_path, words, code):
    """A full disk behind stdout or stderr."""
    full = os.open("/dev/full", os.O_WRONLY)
    channel = {"stdout" if code == 75 else "stderr": full}
    done = subprocess.run(
        [sys.executable, "-m", "seismo", *words], cwd=tmp_path,
        **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | channel), check=False,
    )  # fmt: skip
    os.close(full)
    assert done.returncode == code
    if code == 75:
        assert done.stderr.decode().startswith("output: cannot be written: ")
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (MemoryError(), 4), (OSError(errno.ENOMEM, "Cannot allocate memory"), 4),
        (RuntimeError("can't start new thread"), 4),
        (ImportError("x.so: failed to map segment from shared object"), 4),
        (OSError(errno.ENOSPC, "No space left on device"), 75), (OSError("else"), 70),
        (BlockingIOError(errno.EAGAIN, "write could not complete without blocking"), 75),
        (ZeroDivisionError(), 70),
    ],
)  # fmt: skip
def test_codes_of_what_the_system_refuses(error, code):
    assert cli.code_of(error) == code
    other = OSError("Could not find/load shared object file")  # as llvmlite says
    other.__context__ = error
    assert cli.code_of(other) == (4 if code == 4 else 70)


@pytest.mark.parametrize(("options", "said"), [([], b""), (["-W", "default"], b"overflow")])
def test_warnings_of_libraries_are_for_who_asks(options, said):
    code = (
        "import sys; import numpy; from seismo import cli; sys.argv[1:] = []\n"
        "cli._call = lambda *words, **keys: int(numpy.exp([999.0])[0] < 1.0)\n"
        "cli.main()"
    )
    done = subprocess.run([sys.executable, *options, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (said in done.stderr) if said else not done.stderr


def test_a_run_whose_lines_nobody_reads_ends(tmp_path):
    """As `seismo run pulse.yaml 2>&1 | head -2` does."""
    (tmp_path / "pulse.yaml").write_text(SCENARIO)
    process = subprocess.Popen(
        [sys.executable, "-m", "seismo", "run", "pulse.yaml"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=tmp_path,
    )  # fmt: skip
    process.stdout.close()
    assert process.wait() == cli.PIPE_CLOSED
    assert [path.name for path in tmp_path.iterdir()] == ["pulse.yaml"]


@pytest.mark.parametrize(
    ("line", "absent"),
    [
        ("import seismo", "numpy numba h5py pydantic typer"),
        ("cli._call(['--version'], False)", "typer numpy pydantic"),
        ("cli._call(['--help'], False)", "numpy numba h5py pydantic yaml rich"),
        (
            "cli._call(['check', 'a.yaml', '--backend', 'cpu'], False)",
            "numba llvmlite.binding cupy scipy",
        ),
        # The code of kernels that are kept is loaded without the compiler that wrote it.
        ("import seismo.runs.run", "numba matplotlib scipy"),
    ],
)
def test_heavy_packages_are_imported_when_they_are_used(line, absent, tmp_path):
    """What takes a tenth of a second, or half of one, only where it is needed."""
    (tmp_path / "a.yaml").write_text(SCENARIO)
    imports = "import sys; from seismo import cli" if "cli" in line else "import sys"
    last = f"print({{*{absent.split()}}} & sys.modules.keys())"
    script = "; ".join((imports, line, last))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stdout.endswith("set()\n"), done.stdout + done.stderr


def test_nothing_that_is_said_steers_a_terminal(seismo_of, tmp_path):
    """Names come from files of others."""
    import h5py

    with h5py.File(write_elastic_2d(tmp_path / "x.h5"), "r+") as file:
        file.attrs["title"] = "\x1b[2J\x9b1mpainted"
    code, out, _ = seismo_of("info", "x.h5")
    assert code == 0
    assert "?[2J?1mpainted" in out
    assert all(line.isprintable() for line in out.splitlines())
    code, _, err = seismo_of("info", "\x1b[2Jnone.h5")
    assert code == 2
    assert err.startswith("?[2Jnone.h5: no such file")


def test_a_file_where_a_run_keeps_its_parts_is_the_users_mistake(seismo_of, tmp_path):
    (tmp_path / "pulse.h5.run").write_text("mine")
    code, out, err = seismo_of("run", "pulse.yaml", "--quiet")
    assert (code, out) == (2, "")
    assert "pulse.h5.run: is a link, or no folder, where a run keeps what it has so far" in err
    assert (tmp_path / "pulse.h5.run").read_text() == "mine"


def test_tables_are_not_cut_where_output_goes_to_a_file(seismo_of, tmp_path, monkeypatch):
    """Rich takes 80 columns for what is no terminal; the table of layers has more in 3-D."""
    from seismo.cli.machines import WIDE, table_console

    monkeypatch.delenv("COLUMNS", raising=False)
    assert table_console().width == WIDE
    monkeypatch.setenv("COLUMNS", "70")
    assert table_console().width == 70
