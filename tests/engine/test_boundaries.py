"""Who knows whom: the engine, the sensors and what learns on top of them never name a family; importing is quick."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heliotrope

ROOT = Path(heliotrope.__file__).parent
FAMILIES = {"growspace", "gridworlds"}
FREE = ("engine", "sensors", "agents", "benchmark")


def imported_modules(path: Path) -> set[str]:
    """The absolute names of all modules that a file imports, anywhere in it."""
    package = ["heliotrope", *path.relative_to(ROOT).parts[:-1]]
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def texts_and_names(path: Path) -> str:
    """All identifiers and texts of a file, without docstrings, in lower case."""
    tree = ast.parse(path.read_text())
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False)
    }
    words = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            words.append(node.value)
        words += [
            getattr(node, name) for name in ("id", "attr", "name", "arg") if isinstance(getattr(node, name, 0), str)
        ]
    return " ".join(words).lower()


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", FREE)
def test_what_serves_all_families_names_none(package):
    for path in files(package):
        for module in imported_modules(path):
            assert not FAMILIES & set(module.split(".")), f"{path.name} imports {module}"
        words = texts_and_names(path)
        for family in ("growspace", "gridworld", "boat_race", "boatrace", "dark_sea", "darksea", "island"):
            assert family not in words, f"{path.name} names {family}"


def test_engine_and_sensors_need_nothing_else_of_this_library():
    for package in ("engine", "sensors"):
        for path in files(package):
            for module in imported_modules(path):
                if module.split(".")[0] == "heliotrope" and module != "heliotrope":
                    assert module.split(".")[1] in ("engine", "sensors"), f"{path.name} imports {module}"


def test_families_do_not_know_each_other():
    for family in FAMILIES:
        for path in files(family):
            for module in imported_modules(path):
                assert not (FAMILIES - {family}) & set(module.split(".")), f"{path.name} imports {module}"


def test_importing_loads_nothing_heavy():
    heavy = ["pygame", "matplotlib", "torch", "PIL", "pandas", "scipy", "rich", *(f"heliotrope.{x}" for x in FAMILIES)]
    code = f"import sys, heliotrope; print([name for name in {heavy!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(answer.stdout))
    # SciPy, where it is installed, comes with Numba.
    assert loaded <= {"scipy"}
    assert answer.stderr == ""
