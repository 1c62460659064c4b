"""Batch scripts: what profiles may say, and what becomes of it. `test_slurm.py` runs one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from decomposition_cases import VOLUME
from seismo.backends.cpu.backend import CpuBackend
from seismo.errors import ScenarioError
from seismo.runs.batch import JobArray, MachineProfile, batch_script, load_profile, write_script
from seismo.runs.resources.memory_fit import HypotheticalRanks
from seismo.runs.resources.placement import FeasibleRanks, place_run
from seismo.scenario import from_dict, load
from seismo.solver.discretize import discretize
from seismo.solver.parallel.partition import divide
from test_cli import SCENARIO, seismo_of  # noqa: F401

ROOT = Path(__file__).parents[2]
SURVEY = SCENARIO + "survey: {line: {start: {x: 50, z: 9}, end: {x: 250, z: 9}, count: 8}}\n"


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "my wave.yaml").write_text(SCENARIO)
    return load(tmp_path / "my wave.yaml")


def sbatch_lines(script: str) -> list[str]:
    return [line.split(" ", 1)[1] for line in script.splitlines() if line.startswith("#SBATCH")]


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda p: p.stem)
def test_shipped_profiles(path, tmp_path):
    """Each is sound, and its script is one that the shell can read."""
    profile = load_profile(path)
    (tmp_path / "survey.yaml").write_text(SURVEY)
    script = write_script(load(tmp_path / "survey.yaml"), profile, tmp_path)
    subprocess.run(["bash", "-n", script], check=True)
    lines = sbatch_lines(script.read_text())
    assert f"--cpus-per-task={profile.cpus // profile.ranks}" in lines
    assert f"--nodes={profile.nodes}" in lines
    assert "--time=0-12:00:00" in lines
    assert ("--signal=B:USR1@240" in lines, "--requeue" in lines) == (True, True)
    count = script.read_text().count(" -m seismo run ")
    assert count == (max(1, profile.gpus) if profile.nodes * profile.ranks == 1 else 1)


@pytest.mark.parametrize("survey", [False, True])
@pytest.mark.parametrize("parts", ["auto", [2, 2]])
def test_so_many_ranks_suit_as_can_divide_the_grid(survey, parts):
    """As a run finds out whose earth leaves all rows to be cut."""
    document = VOLUME | {
        "grid": VOLUME["grid"] | {"decomposition": parts},
        "model": [{"type": "uniform", "vp": 1800.0, "vs": 900.0, "rho": 1700.0}],
        "boundaries": VOLUME["boundaries"] | {"top": "absorbing"},
    }
    found = from_dict(document if survey else {k: document[k] for k in document if k != "survey"})
    crowd, setup = FeasibleRanks(found), discretize(found)
    backend, able = CpuBackend(found.precision), []
    for count in range(1, 16):
        try:
            divide(
                place_run(setup, backend, HypotheticalRanks(count))[0],
                backend,
                HypotheticalRanks(count),
            )
        except ScenarioError:
            continue
        able.append(count)
    assert [count for count in range(1, 16) if crowd.suits(count)] == able
    assert crowd.most(15) == able[-1] > 1


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ("{backend: gpu, nodes: 64, ranks: 4, gpus: 4}", "nodes: 64, ranks: 4: 256 ranks"),
        ("{backend: gpu, gpus: 60}", "gpus: 60: 60 GPUs"),
    ],
)
def test_more_ranks_than_can_share_a_run_are_refused(scenario, tmp_path, profile, told):
    (tmp_path / "p.yaml").write_text(profile)
    with pytest.raises(ScenarioError, match=rf"^{told} cannot share .*: use at most [1-9]\d?; see"):
        write_script(scenario, load_profile(tmp_path / "p.yaml"), tmp_path)
    assert not list(tmp_path.glob("*.sbatch"))


def test_a_survey_on_more_gpus_than_shots_is_refused(tmp_path):
    (tmp_path / "p.yaml").write_text("{backend: gpu, gpus: 64}")
    found = from_dict(VOLUME)
    with pytest.raises(ScenarioError, match=r"^gpus: 64: .* has \d shots to share out: give \d or"):
        write_script(found, load_profile(tmp_path / "p.yaml"), tmp_path)


def test_every_key_of_a_profile_reaches_the_script(scenario, tmp_path):
    text = """\
backend: gpu
cpus: 9
gpus: 2
memory: 40G
time: 90 min
warning: 5 min
exclusive: true
partition: fast
account: quakes
options: ['--constraint="a100|h100"']
setup: [module load cuda, 'export A="b c"']
progress: 20
"""
    (tmp_path / "p.yaml").write_text(text)
    (tmp_path / "survey.yaml").write_text(SURVEY)
    script = batch_script(
        load(tmp_path / "survey.yaml"), load_profile(tmp_path / "p.yaml"), tmp_path
    )
    assert sbatch_lines(script) == [
        "--job-name=survey", "--nodes=1", "--ntasks-per-node=1", "--cpus-per-task=9",
        "--gpus-per-node=2", "--mem=40G",
        "--time=0-01:30:00", "--signal=B:USR1@300", "--requeue", "--open-mode=append",
        "--output=survey-%j.log", "--partition=fast", "--account=quakes", "--exclusive",
        '--constraint="a100|h100"',
    ]  # fmt: skip
    assert 'module load cuda\nexport A="b c"\n' in script
    for n in (0, 1):
        words = f"--backend gpu --progress 20 --shots {n + 1}/2 --device {n} & runs"
        assert words in script


def test_tasks_of_an_array_share_the_shots(tmp_path):
    (tmp_path / "survey.yaml").write_text(SURVEY)
    survey = load(tmp_path / "survey.yaml")
    for profile, tasks, gpus in (("one_gpu", 8, 1), ("four_gpu_node", 2, 4), ("cpu_nodes", 3, 1)):
        machine = load_profile(ROOT / "configs" / f"{profile}.yaml")
        script = write_script(
            survey, machine, tmp_path, replace=True, array=JobArray.read(f"{tasks}%2")
        ).read_text()
        lines = sbatch_lines(script)
        assert {f"--array=1-{tasks}%2", "--output=survey-%A-%a.log"} <= set(lines)
        shares = []
        for task in range(1, tasks + 1):
            said = [line.split(" --shots ")[1].split(" & ")[0] for line in script.splitlines()
                    if " --shots " in line]  # fmt: skip
            assert len(said) == gpus
            shares += [
                subprocess.run(
                    ["bash", "-c", f"echo {text}"], env={"SLURM_ARRAY_TASK_ID": str(task)},
                    capture_output=True, text=True, check=True,
                ).stdout.split()[0]
                for text in said
            ]  # fmt: skip
        count = tasks * gpus
        assert shares == [f"{n + 1}/{count}" for n in range(count)]


@pytest.mark.parametrize(
    ("text", "array", "told"),
    [
        (SURVEY, "9", "--array 9: .* has 8 shots to share out, .*: give 8 or fewer"),
        (SCENARIO, "2", "--array 2: .* has one shot: .* leave --array out"),
        (SURVEY, "1-4", "--array 1-4: give tasks, such as 16"),
    ],
)
def test_an_array_without_work_is_refused(tmp_path, text, array, told):
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(ScenarioError, match=told):
        write_script(load(tmp_path / "s.yaml"), MachineProfile(), tmp_path,
                     array=JobArray.read(array))  # fmt: skip


def test_ranks_on_several_nodes_are_started_by_srun(scenario, tmp_path):
    """Each with its share of the cores of a node; a rank that dies takes the others with it."""
    (tmp_path / "p.yaml").write_text("nodes: 3\nranks: 2\ncpus: 12\n")
    script = batch_script(scenario, load_profile(tmp_path / "p.yaml"), tmp_path)
    assert sbatch_lines(script)[1:4] == ["--nodes=3", "--ntasks-per-node=2", "--cpus-per-task=6"]
    (line,) = [line for line in script.splitlines() if " -m seismo run " in line]
    assert line.startswith("srun --kill-on-bad-exit=1 --cpu-bind=cores --cpus-per-task=6 ")
    assert line.endswith(" --threads 6 & runs+=($!)")


def test_names_are_made_harmless(scenario, tmp_path):
    script = batch_script(scenario, MachineProfile(), tmp_path / "a b")
    assert "--job-name=my_wave" in sbatch_lines(script)
    assert f"cd '{tmp_path}/a b' || exit\n" in script
    assert f" run '{tmp_path}/my wave.yaml' --resume " in script


MISTAKES = {
    "gpsu: 1": "p.yaml:1:1: gpsu: 1: unknown key; did you mean 'gpus'?",
    "cpus: 0": "cpus: 0: must be a whole number, at least 1",
    "memory: 64 GB": "memory: '64 GB': must be a whole number with K, M, G or T, such as 64G",
    "options: [-n 4]": "options[0]: '-n 4': must be an option such as --constraint=a100",
    'setup: ["a\\nb"]': "must be one line of shell",
    "partition: 'a b'": "partition: 'a b': must be a name",
    "backend: gpu": "backend: gpu needs one: give gpus: 1",
    "{backend: gpu, gpus: 2, nodes: 2}": "each rank takes one: give ranks: 2",
    "ranks: 5": "ranks: must not exceed the cores of a node (cpus)",
    "time: 3 min": "warning: must be shorter than time (180 s)",
    "time: 3": "warning: must be shorter than time (3 s)",
    "[]": "must be a mapping",
    "a: {": "not readable as YAML",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_profile(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_profile(tmp_path / "p.yaml")
    assert MISTAKES[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_shot_is_shared_by_the_cards_of_a_node(scenario, tmp_path):
    script = batch_script(scenario, load_profile(ROOT / "configs" / "four_gpu_node.yaml"), tmp_path)
    (line,) = [line for line in script.splitlines() if " -m seismo run " in line]
    assert line.endswith(" --backend gpu --progress 5 --gpus 4 & runs+=($!)")


def test_ranks_on_nodes_with_cards_take_one_each(scenario, tmp_path):
    script = batch_script(scenario, load_profile(ROOT / "configs" / "gpu_nodes.yaml"), tmp_path)
    assert {"--nodes=2", "--ntasks-per-node=4", "--gpus-per-node=4"} <= set(sbatch_lines(script))
    (line,) = [line for line in script.splitlines() if " -m seismo run " in line]
    assert line.startswith("srun ")
    assert line.endswith(" --backend gpu --progress 5 & runs+=($!)")


def test_the_command(seismo_of, tmp_path, monkeypatch):  # noqa: F811
    """With a stand-in for sbatch; where there is none that is said."""
    assert seismo_of("submit", "pulse.yaml", "--dry-run") == (0, "pulse.sbatch\n", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = seismo_of("submit", "pulse.yaml")
    assert (code, err.count("\n")) == (2, 1)
    assert "go where SLURM is, or look at the script with --dry-run" in err
    for text, wanted in (
        ("echo '12;cluster'", (0, "pulse.sbatch: job 12\n", "")),
        ("echo no such >&2; exit 1", (2, "", "pulse.sbatch: sbatch refuses the job: no such\n")),
    ):
        (tmp_path / "sbatch").write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "sbatch").chmod(0o755)
        assert seismo_of("submit", "pulse.yaml") == wanted


def test_an_edited_script_is_not_replaced(seismo_of, tmp_path):  # noqa: F811
    assert seismo_of("submit", "pulse.yaml", "--dry-run")[0] == 0
    script = tmp_path / "pulse.sbatch"
    ours = script.read_text()
    script.write_text(ours + "# mine\n")
    assert seismo_of("submit", "pulse.yaml", "--dry-run") == (
        2, "", "pulse.sbatch: exists with other content; use --force to replace it\n"
    )  # fmt: skip
    assert script.read_text() == ours + "# mine\n"
    assert seismo_of("submit", "pulse.yaml", "--dry-run", "--force")[0] == 0
    assert script.read_text() == ours


STAND_IN = """\
#!/bin/bash
trap 'exit 85' TERM
echo "$@" >> calls
for n in $(seq $LIFE); do sleep 0.05; done
exit ${CODE:-0}
"""


@pytest.mark.parametrize(
    ("asked", "code"), [(signal.SIGUSR1, 85), (signal.SIGTERM, 85), (None, 3), (None, 0)]
)
def test_the_script_asks_its_runs_to_end(tmp_path, monkeypatch, asked, code):
    """Stopped runs are queued again; others end the job with their code."""
    (tmp_path / "survey.yaml").write_text(SURVEY)
    for name, text in (("python", STAND_IN), ("scontrol", '#!/bin/sh\necho "$@" >> requeued\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "p.yaml").write_text("{backend: gpu, gpus: 2}")
    script = write_script(
        load(tmp_path / "survey.yaml"), load_profile(tmp_path / "p.yaml"), tmp_path
    )
    life = "2" if asked is None else "200"
    environment = os.environ | {"SLURM_JOB_ID": "7", "CODE": str(code), "LIFE": life}
    environment["PATH"] = f"{tmp_path}:{environment['PATH']}"
    job = subprocess.Popen(["bash", script], env=environment)
    calls = tmp_path / "calls"
    while not calls.exists() or calls.read_text().count("\n") < 2:
        time.sleep(0.02)
    if asked is not None:
        job.send_signal(asked)
    assert job.wait() == code
    requeued = tmp_path / "requeued"
    assert (requeued.read_text() if requeued.exists() else "") == "requeue 7\n" * (code == 85)


@pytest.mark.parametrize("name", ["-rf.yaml", "--resume=x.yaml"])
def test_a_name_that_looks_like_an_option_is_none(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(SCENARIO)
    script = write_script(load(name), MachineProfile(), Path())
    assert not script.name.startswith("-")
    assert f" -m seismo run ./{name} --resume " in script.read_text()
