"""The rooms of the package: imports point one way, and nobody reaches into another's privates."""

import ast
from pathlib import Path

import pytest

import cqrf

PACKAGE = Path(cqrf.__file__).parent

# Every room, and those below it, which it may import. DEVELOPING.md says what belongs where.
BELOW = {
    "support": [],
    "data": ["support"],
    "growing": ["data", "support"],
    "solving": ["data", "support"],
    "storage": ["growing", "data", "support"],
    "metrics": ["solving", "data", "support"],
    "model": ["storage", "metrics", "growing", "solving", "data", "support"],
    "forest": ["model", "storage", "metrics", "growing", "solving", "data", "support"],
    "datasets": ["data", "support"],
}
TOP = ["forest", *BELOW["forest"], "datasets"]
BELOW |= {"plot": TOP, "paper": [*TOP, "plot"], "app": [*TOP, "plot", "paper"]}
# Made when a page is asked for; a forest that needs none must not load it.
LATE = {("forest", "app")}

SOURCES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE)
SOURCES.append(PACKAGE / "forest.py")


def room_of(path):
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(tree):
    """Modules of the package that a module imports, wherever the statement stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cqrf."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if "cqrf." in name.name)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    room = room_of(path)
    allowed = {room, *BELOW[room], *(there for here, there in LATE if here == room)}
    assert set(imported(ast.parse(path.read_text(encoding="utf-8")))) <= allowed


def is_private(name):
    return name.startswith("_") and not name.startswith("__") and name != "_engine"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_privates_stay_at_home(path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    own = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("self", "cls")
    }
    own |= {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    own |= {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cqrf"):
            assert not [name.name for name in node.names if is_private(name.name)]
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            # Private names of other packages are theirs to know.
            whose = ast.unparse(node.value)
            assert whose in ("sys", "os"), f"line {node.lineno}: {whose}.{node.attr}"


def test_every_room_is_listed():
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert rooms | {"forest"} == set(BELOW)
