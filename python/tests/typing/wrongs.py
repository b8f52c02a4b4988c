"""Wrong uses: every line that ends in `# type: ignore[...]` is an error of exactly that
kind, and no other line is an error.

mypy checks that: with --warn-unused-ignores, a mark on a line without an error is an
error. This file is never run.
"""

# the expressions here have no effect, since only their types matter; a second comment
# cannot follow a mark
# ruff: noqa: B015, B018, PLR0124

import stead

members = stead.Map.build({"name": "m", "node": [{"name": "a"}]})
plan = stead.Plan.between(members, members)

members.locate(1)  # type: ignore[arg-type]
members.locate(None)  # type: ignore[arg-type]
members.locate(bytearray(b"a"))  # type: ignore[arg-type]
members.locate()  # type: ignore[call-arg]
members.locate("a", "b")  # type: ignore[call-arg]
members.locate_all(["a"])  # type: ignore[arg-type]
members.locate_all_many([1])  # type: ignore[list-item]
members.locate_many("a", True)  # type: ignore[call-overload]
members.locate_many([1])  # type: ignore[list-item]
members.locate_many(["a"]).to_pylist()  # type: ignore[attr-defined]
members.prefer("a")  # type: ignore[call-arg]
members.prefer("a", "2")  # type: ignore[arg-type]
members.prefer("a", 1.5)  # type: ignore[arg-type]
members.point(7)  # type: ignore[arg-type]
members.locate_point("0")  # type: ignore[arg-type]
members.epoch = 2  # type: ignore[misc]
members.name += "x"  # type: ignore[misc]
members.nodes[0] = members.nodes[0]  # type: ignore[index]
members.nodes[0].name = "b"  # type: ignore[misc]
members.nodes[0].labels["zone"] = "b"  # type: ignore[index]
members.nothing  # type: ignore[attr-defined]
members < members  # type: ignore[operator]
members.same(b"")  # type: ignore[arg-type]
members.publish()  # type: ignore[call-arg]
members.publish("m.map", "old.map")  # type: ignore[arg-type]
number: int = members.locate("a")  # type: ignore[assignment]
text: str = members.to_bytes()  # type: ignore[assignment]
stead.Map()  # type: ignore[call-arg]
stead.Plan()  # type: ignore[call-arg]
stead.build("")  # type: ignore[attr-defined]
stead.plan(members, members)  # type: ignore[attr-defined]
members.node(1)  # type: ignore[arg-type]
members.attribute("a")  # type: ignore[call-arg]
plan.affects_many("a", 1)  # type: ignore[call-overload]
stead.Map.open(7)  # type: ignore[arg-type]
stead.Map.open(b"m.map")  # type: ignore[arg-type]
stead.Map.open("m.map", True)  # type: ignore[call-arg]
stead.Map.open("m.map", mmap=True)  # type: ignore[call-arg]
stead.Map.from_bytes("text")  # type: ignore[arg-type]
stead.Map.build(["a"])  # type: ignore[arg-type]
stead.Map.build({1: "a"})  # type: ignore[dict-item]
stead.Map.build("", "old.map")  # type: ignore[arg-type]
stead.Map.build("", max_move=0.05)  # type: ignore[arg-type]
stead.Map.build("", None, "5%")  # type: ignore[call-arg]
stead.Plan.between(members)  # type: ignore[call-arg]
stead.Plan.between(members, None)  # type: ignore[arg-type]
stead.path("a", [64])  # type: ignore[call-arg]
stead.path("a", levels=64)  # type: ignore[arg-type]
stead.path("a", fold="ASCII")  # type: ignore[arg-type]
stead.survey([1, 2])  # type: ignore[list-item]
stead.survey(["a"], members="5")  # type: ignore[arg-type]
plan["0"]  # type: ignore[call-overload]
plan[0].from_ + "x"  # type: ignore[operator]
plan.moved = 0  # type: ignore[misc]
plan.affects(0)  # type: ignore[arg-type]
plan.append(plan[0])  # type: ignore[attr-defined]
report: str = plan.report()  # type: ignore[assignment]
stead.Plan.nothing()  # type: ignore[attr-defined]
stead.NoSuchError  # type: ignore[attr-defined]


class Mine(stead.Map):  # type: ignore[misc]
    """A subclass of a final class."""
