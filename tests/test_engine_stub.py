"""`_engine.pyi` says what the compiled engine has, name for name and argument for argument."""

import ast
from pathlib import Path

import pytest
from nanobind.stubgen import StubGen

import cqrf
from cqrf import _engine


def plain(annotation):
    """A type as both stubs write it: without the shapes, the orders and the contents of tuples."""
    match annotation:
        case ast.Subscript(ast.Name("Annotated"), ast.Tuple([first, _])):
            return plain(first)
        case ast.Subscript(ast.Name("NDArray"), ast.Attribute(_, dtype)):
            return f"NDArray[{dtype}]"
        case ast.Subscript(ast.Name("NDArray" | "tuple" | "Callable" as name)):
            return name
        case ast.Subscript(ast.Name("list" | "Sequence"), item):
            return f"list[{plain(item)}]"
        case ast.BinOp(left, ast.BitOr(), right):
            return f"{plain(left)} | {plain(right)}"
        case None:
            return ""
        case _:
            return ast.unparse(annotation)


def signature(function):
    """Decorators, arguments with their kinds, types and defaults, and the type of the answer."""
    arguments = function.args
    # The names of arguments that have none do not matter.
    shown = {
        "only by position": [plain(each.annotation) for each in arguments.posonlyargs],
        "either way": [(each.arg, plain(each.annotation)) for each in arguments.args],
        "only by name": [(each.arg, plain(each.annotation)) for each in arguments.kwonlyargs],
    }
    defaults = [None if each is None else ast.unparse(each) for each in arguments.kw_defaults]
    return {
        **shown,
        "decorators": [ast.unparse(each) for each in function.decorator_list],
        "defaults": [ast.unparse(each) for each in arguments.defaults] + defaults,
        "returns": plain(function.returns),
    }


def content(body, prefix=""):
    """All names of a stub; what is known of each."""
    found = {}
    for node in body:
        match node:
            case ast.FunctionDef(name):
                found[prefix + name] = signature(node)
            case ast.ClassDef(name):
                found[prefix + name] = "class"
                found |= content(node.body, f"{name}.")
            case ast.AnnAssign(ast.Name(name)):
                found[prefix + name] = plain(node.annotation)
    return found


def generated():
    maker = StubGen(_engine)
    maker.put(_engine)
    return content(ast.parse(maker.get()).body)


def written():
    return content(ast.parse(Path(cqrf.__file__).with_name("_engine.pyi").read_text()).body)


def test_names():
    assert sorted(written()) == sorted(generated())


@pytest.mark.parametrize("name", sorted(written()))
def test_signature(name):
    assert written()[name] == generated()[name]
