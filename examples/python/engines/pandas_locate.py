"""Locates the keys of a pandas series.

python examples/python/engines/pandas_locate.py
"""

import pandas as pd
import pyarrow as pa
import stead


def locate(keys, members):
    """Returns the nodes of a series of keys, as a series with the same index. Each node
    is a category, so a row costs 4 bytes or less; a missing key gives NaN.
    """
    nodes = pa.array(members.locate_many(keys)).to_pandas()
    return pd.Series(nodes.array, index=keys.index, name="node")


def main():
    members = stead.Map.build(
        {"name": "members", "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}]}
    )
    grown = stead.Map.build(
        {
            "name": "members",
            "node": [{"name": "db1"}, {"name": "db2", "weight": 1.5}, {"name": "db3"}],
        },
        members,
    )
    users = pd.DataFrame({"key": [f"user{i}" for i in range(1_000_000)]})

    users["node"] = locate(users["key"], members)
    print(users.groupby("node", observed=True).size())

    # the rows that a migration moves; compared as strings, since two maps have
    # different categories
    pair = pd.DataFrame(
        {
            "from": users["node"].astype(str),
            "to": locate(users["key"], grown).astype(str),
        }
    )
    # a row without a key does not move, but two missing nodes differ to pandas
    moves = users["key"].notna() & (pair["from"] != pair["to"])
    print(pair[moves].value_counts(["from", "to"], sort=False))


if __name__ == "__main__":
    main()
