"""The reference has a page for all that users import, and for all that a forest gives them."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import cqrf

API = Path(__file__).parents[1] / "docs" / "api.md"
PUBLIC = ("cqrf", "cqrf.metrics", "cqrf.plot", "cqrf.datasets")


def documented():
    """What the tables of docs/api.md list, under the names by which it is imported."""
    module, found = "", []
    for line in API.read_text().splitlines():
        if start := re.match(r"\.\. (?:currentmodule|automodule):: (\S+)", line):
            module = start[1]
        elif entry := re.match(r"   ([\w.]+)$", line):
            found.append(f"{module}.{entry[1]}")
    return found


def found_at(name):
    """The object of a full name."""
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


def classes_of_cqrf():
    """Names of all public classes."""
    texts = [file.read_text() for file in Path(cqrf.__file__).parent.rglob("*.py")]
    return set(re.findall(r"^class ([A-Z]\w+)", "\n".join(texts), re.M))


def given_back():
    """Classes that are named by what public functions return, and by attributes in docstrings."""
    named, bases = set(), set()
    for name in documented():
        thing = found_at(name)
        things = [thing]
        if inspect.isclass(thing):
            bases |= {base.__name__ for base in thing.__mro__[1:]}
            members = inspect.getmembers(thing)
            things += [member for key, member in members if not key.startswith("_")]
        for each in things:
            function = each.fget if isinstance(each, property) else each
            returns = getattr(function, "__annotations__", {}).get("return", "")
            named |= set(re.findall(r"\w+", str(returns)))
        attributes = re.findall(r"^\s*[\w, ]+_ : (.*)$", inspect.getdoc(thing) or "", re.M)
        named |= set(re.findall(r"\w+", " ".join(attributes)))
    return sorted((named & classes_of_cqrf()) - bases)


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_has_a_page(module):
    names = {f"{module}.{name}" for name in import_module(module).__all__}
    assert names - set(documented()) == set()


def test_every_page_is_of_something():
    assert len(documented()) == len(set(documented()))
    for name in documented():
        assert found_at(name) is not None


def test_the_types_that_come_back_are_found():
    assert {"StepFunction", "Importance", "Report", "Trees", "Calibration"} <= set(given_back())


@pytest.mark.parametrize("name", given_back())
def test_every_type_that_comes_back_has_a_page(name):
    assert name in {page.rpartition(".")[2] for page in documented()}
