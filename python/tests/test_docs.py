"""All docstrings exist, and their examples run. So do the examples of the guide."""

import doctest
import inspect
import os

import pytest
import stead
import stead.duckdb
import stead.polars
from conftest import ROOT, fleet_of

# fleets that every example of the module may use
BEFORE = {"fleet": fleet_of("db1", "db2"), "grown": fleet_of("db1", "db2", "db3")}
# names that are too simple to need an example
PLAIN = {
    "name",
    "epoch",
    "digest",
    "parent",
    "replicas",
    "hash",
    "spread",
    "nodes",
    "policies",
    "slices",
    "old",
    "new",
    "moved",
    "lower_bound",
    "by_hand",
    "reordered",
    "fraction",
    "null_count",
}


def documented():
    """Returns {name: docstring} of everything public."""
    found = {"stead": stead.__doc__}
    for name in stead.__all__:
        thing = getattr(stead, name)
        if name == "__version__":
            continue
        found[f"stead.{name}"] = thing.__doc__
        if isinstance(thing, type) and not issubclass(
            thing, (stead.Error, tuple, stead.Status)
        ):
            for member in vars(thing):
                if not member.startswith("_"):
                    found[f"stead.{name}.{member}"] = inspect.getdoc(
                        getattr(thing, member)
                    )
    for module in (stead.duckdb, stead.polars):
        for name in module.__all__:
            found[f"{module.__name__}.{name}"] = getattr(module, name).__doc__
    return found


def run(text, name, globs):
    test = doctest.DocTestParser().get_doctest(text, globs, name, name, 0)
    failed, tried = doctest.DocTestRunner(verbose=False).run(test)
    assert failed == 0, f"{failed} examples of {name} failed; see the output"
    return tried


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", documented())
def test_everything_has_a_docstring_and_its_examples_run(name, folder):
    text = documented()[name]
    assert text and text.strip(), f"{name} has no docstring"
    members = stead.Map.build(BEFORE["fleet"])
    members.publish("members.map")
    globs = {
        "stead": stead,
        "members": members,
        "fleet": fleet_of("db1", "db2"),
        "grown": stead.Map.build(BEFORE["grown"], members),
    }
    tried = run(text, name, globs)
    last = name.rpartition(".")[2]
    assert tried or last in PLAIN or isinstance(getattr(stead, last, None), type), (
        f"{name} has no example"
    )


@pytest.mark.parametrize("page", ["docs/python.md", "python/README.md"])
def test_the_examples_of_the_pages_run(page, folder):
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        # doctest would take a fence for output
        text = file.read().replace("```", "")
    assert run(text, page, {}) >= 3
