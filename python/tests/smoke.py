"""Tests that an installed module works at all, with only the standard library. Run it
in a writable folder.
"""

import os
import pickle
import subprocess
import sys

import stead

assert "site-packages" in stead.__file__, stead.__file__
fleet = {
    "name": "members",
    "replicas": 2,
    "spread": ["zone"],
    "node": [
        {"name": n, "weight": w, "labels": {"zone": n[0]}}
        for n, w in (("a1", 1), ("a2", 0.5), ("b1", 1.5))
    ],
}
first = stead.Map.build(fleet)
fleet["node"].append({"name": "b2", "weight": "2.5", "labels": {"zone": "b"}})
second = stead.Map.build(fleet, first)
plan = stead.Plan.between(first, second)
# the same everywhere: the digest that `stead history` shows for this fleet
assert (
    first.digest.hex()[:16] == "9dcf62cb305a7524"
    and second.digest.hex()[:16] == "cca302f1fe9234d5"
), (first.digest.hex(), second.digest.hex())
keys = [f"user{i}" for i in range(1000)]
for key in keys:
    gone, new = set(first.locate_all(key)), set(second.locate_all(key))
    assert {move.from_ for move in plan.affects(key)} - {None} == gone - new
first.publish("members.map")
assert stead.Map.open("members.map") == first
second.publish("members.map", first)
assert stead.Map.open("members.map").epoch == 2 and sorted(
    os.listdir("members.map.history")
) == ["1", "2", "log"]
try:
    stead.Map.build(fleet, first).publish("members.map", first)
    raise SystemExit("no conflict")
except stead.ConflictError as error:
    assert error.status == 10
assert (
    pickle.loads(pickle.dumps(plan)) == plan and stead.path("frank") == "38/37/60/frank"
)
program = os.path.join(os.path.dirname(sys.executable), "stead")
nodes = ",".join(second.locate_all("frank"))
for command in ([program], [sys.executable, "-m", "stead"]):
    said = subprocess.run(
        [*command, "locate", "members.map", "frank"],
        stdout=subprocess.PIPE,
        check=True,
    ).stdout
    assert said.decode() == f"frank\t{nodes}\n"
major, minor = sys.version_info[:2]
print(f"stead {stead.__version__} works with Python {major}.{minor}")
