"""A random fleet that changes step by step, from a seed: the same seed gives the same
history on every machine.
"""

import copy
import json

# the kinds of changes, and how often each is drawn
CHANGES = {
    "added": 4,
    "removed": 2,
    "weighted": 3,
    "relabelled": 2,
    "renamed": 2,
    "attribute": 1,
    "policy": 2,
    "pinned": 2,
    "unpinned": 1,
    "replicas": 1,
}
MOST_NODES = 14


class Random:
    """SplitMix64: the same numbers in every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        """A number from 0 to bound - 1."""
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return (z ^ z >> 31) % bound

    def one(self, items):
        """One of the items."""
        items = list(items)
        return items[self.below(len(items))]


class Fleet:
    """A fleet, as the value of its JSON form."""

    def __init__(self, random):
        self.random, self.number = random, 0
        self.value = {
            "name": "späte \u2713 history",
            "replicas": 1,
            "spread": ["zone", "rack"],
            "node": [],
            "policy": [],
            "pin": [],
        }
        for _ in range(3):
            self.added()

    def change(self):
        """Makes one change; returns its kind, or None when it is not possible now."""
        kinds = [kind for kind, times in CHANGES.items() for _ in range(times)]
        kind = self.random.one(kinds)
        for node in self.value["node"]:
            # a rename is said in one fleet, and not again
            node.pop("formerly", None)
        return kind if getattr(self, kind)() else None

    def weight(self):
        """A weight as a number of JSON: some are whole, some have six places."""
        return self.random.one(
            [1, 2.5, 0.1, 0.000001 * (1 + self.random.below(3 * 10**6)), 3]
        )

    def labels(self):
        """The labels of a node."""
        zone, rack = self.random.below(3), self.random.below(3)
        return {"zone": f"z{zone}", "rack": f"r{rack}", "höhe": f"{zone}{rack}"}

    def added(self):
        self.number += 1
        nodes = self.value["node"]
        if len(nodes) >= MOST_NODES:
            return False
        node = {
            "name": self.random.one(["n", "späti", "db-", "\U0001f600"])
            + str(self.number),
            "weight": round(self.weight(), 6),
            "labels": self.labels(),
            "attributes": {"address": f"10.0.0.{self.number}:3306"},
        }
        nodes.insert(self.random.below(len(nodes) + 1), node)
        return True

    def removed(self):
        nodes = self.value["node"]
        if len(nodes) < self.value["replicas"] + 3:
            return False
        name = nodes.pop(self.random.below(len(nodes)))["name"]
        for list_ in (self.value["policy"], self.value["pin"]):
            for one in list(list_):
                if name in one.get("nodes", []):
                    self.drop(list_, one)
        return True

    def drop(self, list_, one):
        """Drops a policy or a pin, and with a policy its pins."""
        list_.remove(one)
        if list_ is self.value["policy"]:
            self.value["pin"] = [
                pin for pin in self.value["pin"] if pin.get("policy") != one["name"]
            ]

    def weighted(self):
        self.random.one(self.value["node"])["weight"] = round(self.weight(), 6)
        return True

    def relabelled(self):
        self.random.one(self.value["node"])["labels"] = self.labels()
        return True

    def renamed(self):
        node = self.random.one(self.value["node"])
        self.number += 1
        old, new = node["name"], f"renamed{self.number}"
        node.update(name=new, formerly=old)
        for one in self.value["policy"] + self.value["pin"]:
            if "nodes" in one:
                one["nodes"] = [new if name == old else name for name in one["nodes"]]
        return True

    def attribute(self):
        self.random.one(self.value["node"])["attributes"] = {
            "address": f"10.1.0.{self.random.below(250)}",
            "note": self.random.one(["", 'a "quoted" one', "weiß\\nicht"]),
        }
        return True

    def some_nodes(self):
        """Between one node and three, in any order."""
        names = [node["name"] for node in self.value["node"]]
        return [
            names.pop(self.random.below(len(names)))
            for _ in range(1 + self.random.below(3))
        ]

    def policy(self):
        policies = self.value["policy"]
        if policies and self.random.below(3) == 0:
            self.drop(policies, self.random.one(policies))
            return True
        self.number += 1
        policy = {"name": f"p{self.number}", "nodes": self.some_nodes()}
        if self.random.below(2):
            policy["kind"] = "chain"
        if self.value["replicas"] == 1 and self.random.below(2):
            policy["weight"] = self.random.one([0.5, 1])
        policies.append(policy)
        return True

    def pinned(self):
        self.number += 1
        pin = {"key": f"hot-{self.number}"}
        if self.random.below(2):
            # a ten-thousandth part of its own for each number
            start = self.number % 1000
            pin = {"range": [f"{start / 100:.2f}%", f"{start / 100 + 0.005:.3f}%"]}
        if self.value["policy"] and self.random.below(2):
            pin["policy"] = self.random.one(self.value["policy"])["name"]
        else:
            pin["nodes"] = self.some_nodes()
        if self.random.below(2):
            pin["short"] = True
        self.value["pin"].append(pin)
        return True

    def unpinned(self):
        pins = self.value["pin"]
        if not pins:
            return False
        pins.pop(self.random.below(len(pins)))
        return True

    def replicas(self):
        wanted = 1 + self.random.below(3)
        if wanted == self.value["replicas"] or wanted > len(self.value["node"]):
            return False
        self.value["replicas"] = wanted
        if wanted > 1:
            for policy in self.value["policy"]:
                policy.pop("weight", None)
        return True

    def copy(self):
        """The value, to be kept or changed by the caller."""
        return copy.deepcopy(self.value)


def as_json(value):
    """A fleet as JSON. Weights are numbers: a language reads them as its floats."""
    return json.dumps(value, ensure_ascii=False, indent=1)


def as_toml(value):
    """A fleet as TOML."""
    lines = []

    def put(table):
        for key, item in table.items():
            if not isinstance(item, list) or not item or isinstance(item[0], str):
                lines.append(f"{key} = {inline(item)}")

    put(value)
    for name in ("node", "policy", "pin"):
        for table in value[name]:
            lines.append(f"[[{name}]]")
            put(table)
    # an empty list of tables is none
    return (
        "\n".join(line for line in lines if line not in ("policy = []", "pin = []"))
        + "\n"
    )


def inline(item):
    """A value of TOML: the strings of JSON are also TOML's."""
    if isinstance(item, dict):
        pairs = (
            f"{json.dumps(k, ensure_ascii=False)} = {inline(v)}"
            for k, v in item.items()
        )
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(item, list):
        return "[" + ", ".join(map(inline, item)) + "]"
    if isinstance(item, float):
        return f"{item:.6f}"
    return json.dumps(item, ensure_ascii=False)
