"""The house rules that a machine can hold: imports, questions for the device, length of code.

Prose about structure rots; these tests read the syntax tree of every file under ``src/seismo``.
The folders of the package are its layers, in the order of the table in ``docs/architecture.md``: a
module imports from its own folder or those above it. Features and formats are no layers: a module
sees through them, so that what it reaches by them has to stand above it as well. The limits on
length are guards against drift
(the aim is lower: functions of 40 lines, a median under 10); none of them comes from a theory.
"""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from statistics import median

import pytest

from seismo.equations.framework.registry import EQUATIONS

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "seismo"

_TABLE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYERS = tuple(re.findall(r"^\| `(\w+)(?:/|\.py)` \|", _TABLE, re.MULTILINE))
ABOVE_ALL = {"seismo", "__main__"}
# Their modules may belong to any layer.
ACROSS = {"features", "formats"}

MOST_ENTRIES = 15  # of a folder
LONG_FOLDERS = {".": 17}  # that have more: the package
# Imports of features by modules that belong to none: they may only become fewer.
CORE_TO_FEATURES = 5
LONGEST_CHAIN = 25  # of modules that import each the next
MOST_LOADED = 202  # modules, one or two of each feature, by importing the one that runs scenarios

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
LONGEST_MEDIAN = 10

DEVICE_WORD = re.compile(r"(?i)gpu|cuda|cupy")
EMPTY_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}

# Parameters that are objects of seismo's own classes wherever they stand.
OWN_CLASSES = {"scenario", "backend", "ranks", "card", "earth", "simulation"}


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def nodes(syntax: ast.AST) -> tuple[ast.AST, ...]:
    """Return all nodes of a syntax tree, which many rules look at."""
    return tuple(ast.walk(syntax))


def dotted(path: Path) -> str:
    """Return ``seismo.output.store.chunks`` for its file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def top_name(module: str) -> str:
    """Return the name a module has in the layers: ``output`` for ``seismo.output.store.chunks``."""
    return module.split(".")[1] if "." in module else module


def layer_of(name: str) -> int:
    return len(LAYERS) if name in ABOVE_ALL else LAYERS.index(name)


def own_imports(syntax: ast.AST, module: str, is_package: bool, known: set[str]) -> set[str]:
    """Return the names, as in the layers, of the seismo modules that a syntax tree imports."""
    found = set()
    for node in nodes(syntax):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                package = module.split(".") if is_package else module.split(".")[:-1]
                base = ".".join(package[: len(package) - node.level + 1] + [base] * bool(base))
            if base == "seismo":
                # `from seismo import grid` imports seismo.grid, `from seismo import run` seismo.
                names = {alias.name for alias in node.names}
                found |= {f"seismo.{name}" if name in known else base for name in names}
            else:
                found.add(base)
    return {top_name(name) for name in found if name.split(".")[0] == "seismo"}


def import_mistakes(syntax: ast.AST, module: str, is_package: bool, known: set[str]) -> list[str]:
    """Return a line for each import that goes up."""
    importer = top_name(module)
    if importer in ACROSS:
        return []
    own_layer = layer_of(importer)
    mistakes = []
    imported_names = own_imports(syntax, module, is_package, known) - {importer} - ACROSS
    for imported in sorted(imported_names):
        if layer_of(imported) >= own_layer:
            mistakes.append(f"{module} imports {imported}, which stands below it in the table")
    return mistakes


def known_names() -> set[str]:
    return set(LAYERS) | {"__main__"}


def conditions(syntax: ast.AST) -> list[ast.expr | ast.match_case]:
    """Return what is asked anywhere: tests of if, while, and conditional expressions; cases."""
    asked: list[ast.expr | ast.match_case] = []
    for node in nodes(syntax):
        if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            asked.append(node.test)
        elif isinstance(node, ast.comprehension):
            asked += node.ifs
        elif isinstance(node, ast.Match):
            asked += node.cases
    return asked


def device_questions(syntax: ast.AST) -> list[int]:
    """Return the lines that ask which device they run on."""
    lines = []
    for asked in conditions(syntax):
        node = asked.pattern if isinstance(asked, ast.match_case) else asked
        if DEVICE_WORD.search(ast.unparse(node)):
            lines.append(node.lineno)
    return sorted(lines)


def equations_named(syntax: ast.AST) -> list[int]:
    """Return the lines that hold the name of a wave equation, or import its folder."""
    lines = []
    for node in nodes(syntax):
        if isinstance(node, ast.Constant) and node.value in EQUATIONS:
            lines.append(node.lineno)
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported = {*node.module.split("."), *(alias.name for alias in node.names)}
            lines += [node.lineno] * bool(imported & EQUATIONS.keys())
    return lines


def functions(syntax: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [n for n in nodes(syntax) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function without its docstring."""
    body = function.body
    has_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = (body[0].end_lineno or 0) - body[0].lineno + 1 if has_docstring else 0
    return (function.end_lineno or function.lineno) - function.lineno + 1 - docstring


def outside_imports(syntax: ast.Module) -> set[str]:
    """Return what a file imports from other distributions as soon as it is imported."""
    found = set()
    pending: list[ast.AST] = list(syntax.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").split(".")[0])
        is_guarded = isinstance(node, ast.Try) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        if not is_guarded and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            pending += ast.iter_child_nodes(node)
    return found - set(sys.stdlib_module_names) - {"seismo", ""}


def every(mistakes: list[str]) -> str:
    return "\n".join(["", *mistakes])


def test_the_folders_are_the_layers():
    names = {p.stem for p in PACKAGE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    layers = names - {"__init__", "__main__"} - ACROSS
    assert layers == set(LAYERS), "docs/architecture.md has the table"


def test_imports_go_down():
    known = known_names()
    mistakes = [
        mistake
        for path in files()
        for mistake in import_mistakes(tree(path), dotted(path), path.name == "__init__.py", known)
    ]
    assert not mistakes, every(mistakes)


def imported_modules() -> dict[str, set[str]]:
    """Return the modules of seismo that each module imports from, in functions too."""
    return {
        module: {
            max(
                (known for known in imported_names() if f"{name}.".startswith(f"{known}.")), key=len
            )
            for name in names
            if name.split(".")[0] == "seismo"
        }
        - {module}
        for module, names in imported_names().items()
    }


def test_layers_hold_through_features():
    """What a module reaches by features and formats stands above it, too."""
    imports = imported_modules()
    mistakes = []
    for module in imports:
        pending = [(name, module) for name in imports[module] if top_name(name) in ACROSS]
        seen = set()
        while pending and top_name(module) not in ACROSS:
            name, path = pending.pop()
            if top_name(name) not in ACROSS:
                if layer_of(top_name(name)) > layer_of(top_name(module)):
                    mistakes.append(f"{path} -> {name}")
            elif name not in seen:
                seen.add(name)
                pending += [(further, f"{path} -> {name}") for further in imports[name]]
    assert not mistakes, every(sorted(mistakes))


def test_the_core_imports_no_more_of_features():
    edges = [
        (module, name)
        for module, names in imported_modules().items()
        for name in names
        if name.startswith("seismo.features.") and not module.startswith("seismo.features.")
    ]
    assert len(edges) <= CORE_TO_FEATURES, every([f"{a} -> {b}" for a, b in sorted(edges)])


def test_kernels_are_made_of_no_feature():
    """Features are no part of the key of compiled kernels (`kernel_cache.source_digest`)."""
    mistakes = [
        f"{module} imports {name}"
        for module, names in imported_modules().items()
        for name in names
        if top_name(module) in {"backends", "equations"} and top_name(name) == "features"
    ]
    assert not mistakes, every(sorted(mistakes))


def test_folders_are_short():
    for folder in {path.parent for path in files()}:
        entries = [
            entry
            for entry in folder.iterdir()
            if (entry.suffix == ".py" and entry.stem != "__init__")
            or (not entry.is_symlink() and any(entry.glob("*.py")))
        ]
        most = LONG_FOLDERS.get(str(folder.relative_to(PACKAGE)), MOST_ENTRIES)
        assert len(entries) <= most, folder


@cache
def imported_names() -> dict[str, list[str]]:
    """Return all that each module imports from others, in functions too."""
    return {
        dotted(path): [
            name
            for node in nodes(tree(path))
            if isinstance(node, ast.ImportFrom) and node.module
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
        ]
        for path in files()
    }


def reached_from(start: str) -> set[str]:
    """Return the modules of seismo that one imports at any distance."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        module = pending.pop()
        if module in imported_names() and module not in reached:
            reached.add(module)
            pending += imported_names()[module]
    return reached


EXECUTION = {
    "run", "loop.run_loop", "loop.actions", "checkpoints", "file_contents",
}  # fmt: skip


def test_check_and_run_share_what_neither_of_them_owns():
    reporting = {module for module in reached_from("seismo.runs.check.plan") if ".runs." in module}
    execution = {f"seismo.runs.{name}" for name in EXECUTION}
    assert execution <= reached_from("seismo.runs.run")
    assert not reporting & execution
    for start in ("run", "tools.bench", "batch", "resources.placement", "prediction.assess"):
        assert "seismo.runs.check.plan" not in reached_from(f"seismo.runs.{start}")


def test_bodies_of_kernels_reach_no_other_folder():
    """Their compiled code is kept under the text of `backends` alone (`body_digest`)."""
    bodies = {dotted(path) for path in (PACKAGE / "backends").glob("*_kernels.py")}
    assert bodies == {f"seismo.backends.{name}_kernels" for name in ("point", "row")}
    reached = set().union(*map(reached_from, bodies))
    assert {module for module in reached if not module.startswith("seismo.backends.")} == set()


def import_graph(anywhere: bool) -> dict[str, set[str]]:
    """Return the modules that each imports: in functions and for annotations, too, or at once."""
    modules = {dotted(path): path for path in files()}
    graph: dict[str, set[str]] = {module: set() for module in modules}
    for module, path in modules.items():
        for node in nodes(tree(path)) if anywhere else tree(path).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {f"{node.module}.{alias.name}" for alias in node.names}
                graph[module] |= {name if name in modules else node.module for name in names}
    return graph


@pytest.mark.parametrize("anywhere", [False, True])
def test_no_modules_import_each_other(anywhere):
    TopologicalSorter(import_graph(anywhere)).prepare()  # raises CycleError, which names them


def test_chains_of_imports_are_short():
    graph = import_graph(anywhere=True)
    chains: dict[str, list[str]] = {}
    for module in TopologicalSorter(graph).static_order():
        below = [chains[name] for name in graph.get(module, ()) if name in graph]
        chains[module] = [module, *max(below, key=len, default=[])]
    longest = max((chains[module] for module in graph), key=len)
    assert len(longest) <= LONGEST_CHAIN, every(longest)


def test_only_backends_ask_for_the_device():
    mistakes = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in files()
        if PACKAGE / "backends" not in path.parents
        for line in device_questions(tree(path))
    ]
    assert not mistakes, every(mistakes)


def test_only_its_own_folder_names_an_equation():
    """A case of the benchmark or a verification is a scenario, and says which equation it has."""
    cases = {"seismo.runs.tools.bench.cases", "seismo.runs.tools.verification"}
    mistakes = []
    for path in files():
        module = dotted(path)
        if top_name(module) != "equations" and module not in cases:
            mistakes += [f"{module}:{line}" for line in equations_named(tree(path))]
    assert not mistakes, every(mistakes)


def test_importing_seismo_needs_only_the_core_dependencies():
    """A plain `pip install .` must run: extras are imported where they are used."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    core = {re.split(r"[<>=\[ ]", need)[0].lower() for need in project["dependencies"]}
    # The import name of pyyaml; what numba, pydantic and matplotlib always bring themselves.
    core |= {"yaml", "llvmlite", "pydantic_core", "annotated_types", "PIL"}
    # Imported by the factory only, once a card is to be opened.
    late = {
        PACKAGE / "backends" / f"{name}.py"
        for name in (
            "gpu/card",
            "gpu/launches",
            "gpu/graphs",
        )
    }
    mistakes = [
        f"{path.relative_to(ROOT)} imports {sorted(extra)} at the top"
        for path in files()
        if path not in late
        if (extra := outside_imports(tree(path)) - core)
    ]
    assert not mistakes, every(mistakes)


def test_a_run_loads_few_modules():
    """Of those of seismo, before anything is asked of it."""
    counted = "len([name for name in sys.modules if name.split('.')[0] == 'seismo'])"
    program = f"import sys, seismo.runs.run; print({counted})"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert int(ended.stdout) <= MOST_LOADED


def test_files_and_functions_stay_short():
    mistakes = []
    for path in files():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_FILE:
            mistakes.append(f"{path.relative_to(ROOT)}: {lines} lines, at most {LONGEST_FILE}")
        mistakes += [
            f"{path.relative_to(ROOT)}:{f.lineno} {f.name}: {length(f)} lines of {LONGEST_FUNCTION}"
            for f in functions(tree(path))
            if length(f) > LONGEST_FUNCTION
        ]
    assert not mistakes, every(mistakes)


def test_median_function_is_short():
    lengths = [length(function) for path in files() for function in functions(tree(path))]
    assert median(lengths) <= LONGEST_MEDIAN


def test_own_classes_are_annotated_by_name():
    unnamed = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {argument.arg}"
        for path in files()
        for function in functions(tree(path))
        for argument in (*function.args.args, *function.args.kwonlyargs)
        if argument.arg in OWN_CLASSES and ast.unparse(argument.annotation or ast.Tuple()) == "Any"
    ]
    assert not unnamed, every(unnamed)


def test_modules_say_why_they_exist():
    spoken = [path for path in files() if tree(path).body]
    silent = [str(p.relative_to(ROOT)) for p in spoken if not ast.get_docstring(tree(p))]
    assert not silent, every(silent)


def test_module_names_say_something():
    assert not [str(p.relative_to(ROOT)) for p in files() if p.stem in EMPTY_NAMES]


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("seismo.scenario.units", "from seismo.model import build_earth"),
        ("seismo.scenario.units", "from seismo import solver"),
        ("seismo.scenario.units", "import seismo.output.store.chunks"),
        ("seismo.scenario.units", "def late():\n    from seismo.solver.simulation import build"),
        ("seismo.scenario.units", "from ..output import results"),
        ("seismo.output.store.chunks", "from ...runs.run import run"),
        ("seismo.scenario.units", "from seismo import run"),
    ],
)
def test_an_import_that_goes_up_is_found(module, code):
    assert len(import_mistakes(ast.parse(code), module, False, known_names())) == 1


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("seismo.solver.simulation", "from seismo import grid\nfrom seismo.model import Earth"),
        (
            "seismo.output.store.chunks",
            "from seismo.output.store.layout import attach_scales",
        ),
        ("seismo.output.store.chunks", "from . import layout\nfrom ...scenario import Scenario"),
        ("seismo", "from seismo.runs.run import run"),
        ("seismo.scenario.units", "import numpy\nfrom decimal import Decimal"),
    ],
)
def test_an_import_that_goes_down_passes(module, code):
    assert not import_mistakes(ast.parse(code), module, module == "seismo", known_names())


@pytest.mark.parametrize(
    "code",
    [
        "if use_cuda:\n    pass",
        "x = 1 if backend.name == 'gpu' else 2",
        "while cupy is None:\n    pass",
        "y = [a for a in b if a.is_gpu]",
        "match device:\n    case 'cuda':\n        pass",
    ],
)
def test_a_question_for_the_device_is_found(code):
    assert len(device_questions(ast.parse(code))) == 1


def test_naming_a_device_without_asking_passes():
    assert not device_questions(ast.parse("backend = get_backend('gpu')\nif ready:\n    pass"))


def test_the_name_of_an_equation_is_found():
    code = "if discretization.scenario.physics == 'elastic':\n    pass\nfound = KINDS['acoustic']"
    assert sorted(equations_named(ast.parse(code))) == [1, 3]
    assert equations_named(ast.parse("from seismo.equations.elastic.velocity import x"))
    assert equations_named(ast.parse("from seismo.equations import elastic"))
    assert not equations_named(ast.parse("found = physics.differences"))


def test_length_leaves_the_docstring_out():
    code = 'def f():\n    """One.\n\n    Two.\n    """\n    x = 1\n    return x'
    assert length(functions(ast.parse(code))[0]) == 3


def test_links_between_pages_lead_to_files() -> None:
    """They are followed in the repository too, without a site."""
    kept = [ROOT, *(ROOT / name for name in ("docs", "docs/adr", "benchmarks", "validation"))]
    pages = [page for folder in kept for page in folder.glob("*.md")]
    lost = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert pages
    assert not lost, every(lost)
