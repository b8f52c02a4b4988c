"""Asks Python's clients where keys live: `python python.py MODE` or `python python.py
MODE version`; clients.py describes input and output.
"""

import sys
from importlib import import_module, metadata


def each(locate):
    """Makes a function for a list of keys from one for a single key. Most clients take
    text.
    """
    return lambda keys: [locate(key.decode()) for key in keys]


def values(get_multi):
    """For clients without a call that names the server: returns the values of the keys,
    which are the names of the servers. The client may return keys and values as text.
    """
    text = lambda found: found.decode() if isinstance(found, bytes) else found

    def ask(keys):
        found = {
            text(key): text(value)
            for key, value in get_multi([key.decode() for key in keys]).items()
        }
        return [found.get(key.decode(), "") for key in keys]

    return ask


def pymemcache(module, servers):
    client = module.client.hash.HashClient(servers)
    return each(client.hasher.get_node)


def flexihash(module, servers):
    ring = module.Flexihash()
    ring.addTargets(servers)
    return each(ring.lookup)


# mode: the name of the package, the module, and a function that takes the module and
# the servers and returns a function for a list of keys (bytes)
MODES = {
    "uhashring": (
        "uhashring",
        "uhashring",
        lambda m, servers: each(m.HashRing(servers).get_node),
    ),
    "uhashring-ketama": (
        "uhashring",
        "uhashring",
        lambda m, servers: each(m.HashRing(servers, hash_fn="ketama").get_node),
    ),
    "hashring": (
        "hashring",
        "hashring",
        lambda m, servers: each(m.HashRing(servers).get_node),
    ),
    "hash-ring": (
        "hash-ring",
        "hash_ring",
        lambda m, servers: each(m.HashRing(servers).get_node),
    ),
    "consistent-hash-git": (
        "consistent-hash-git",
        "consistent_hash.consistent_hash",
        lambda m, servers: each(m.ConsistentHash(servers).get_node),
    ),
    "clandestined": (
        "clandestined",
        "clandestined",
        lambda m, servers: each(m.RendezvousHash(servers).find_node),
    ),
    "flexihash": ("flexihash", "flexihash", flexihash),
    "pymemcache": ("pymemcache", "pymemcache.client.hash", pymemcache),
    "libmc": (
        "libmc",
        "libmc",
        lambda m, servers: each(m.Client(servers).get_host_by_key),
    ),
    "python-memcached": (
        "python-memcached",
        "memcache",
        lambda m, servers: values(m.Client(servers).get_multi),
    ),
    "pylibmc": (
        "pylibmc",
        "pylibmc",
        lambda m, servers: values(m.Client(servers).get_multi),
    ),
    "pylibmc-ketama": (
        "pylibmc",
        "pylibmc",
        lambda m, servers: values(
            m.Client(servers, behaviors={"ketama": True}).get_multi
        ),
    ),
    "pylibmc-ketama-weighted": (
        "pylibmc",
        "pylibmc",
        lambda m, servers: values(
            m.Client(servers, behaviors={"ketama_weighted": True}).get_multi
        ),
    ),
}


def main(mode, *version):
    package, module, make = MODES[mode]
    try:
        has = metadata.version(package)
        module = import_module(module)
    except Exception as why:  # noqa: BLE001  also a SyntaxError: one client is Python 2
        sys.stderr.write(
            f"Python's {package} cannot be imported: {type(why).__name__}: "
            f"{str(why).splitlines()[0]}\n"
        )
        return 77
    if version:
        print(has)
        return 0
    servers, _, keys = sys.stdin.buffer.read().partition(b"\n\n")
    # make() takes the top-level package
    locate = make(
        sys.modules[module.__name__.partition(".")[0]]
        if mode == "pymemcache"
        else module,
        servers.decode().split("\n"),
    )
    keys = keys.rstrip(b"\n").split(b"\n")
    for first in range(0, len(keys), 500):
        print("\n".join(locate(keys[first : first + 500])))
    return 0


if __name__ == "__main__":
    # this directory has files with the names of modules
    sys.path.pop(0)
    sys.exit(main(*sys.argv[1:]))
