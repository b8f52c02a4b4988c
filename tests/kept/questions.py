"""What is put into an archive: fleets with each feature of maps, rings that are adopted, and what is
asked.
"""

HEAD = 'name = "members"\n'
THREE = "".join(f'[[node]]\nname = "n{i}"\n' for i in range(3))
ZONES = "".join(
    f'[[node]]\nname = "z{i}"\nlabels = {{ zone = "{"abc"[i % 3]}", rack = "r{i % 2}" }}\n'
    f'attributes = {{ address = "10.0.0.{i}:11211" }}\nweight = {1 + i % 2}.5\n'
    for i in range(6)
)
COPIES = 'replicas = 2\nspread = ["zone"]\n'
# {name of a map: the fleets of its epochs}
FLEETS = {
    "plain": [HEAD + THREE],
    "copies": [HEAD + COPIES + ZONES],
    "racks": [HEAD + 'replicas = 3\nspread = ["zone", "rack"]\n' + ZONES],
    "sha1": [HEAD + 'hash = "sha1"\n' + THREE],
    "xxh3": [HEAD + 'hash = "xxh3"\n' + THREE],
    "siphash": [
        HEAD + 'hash = "siphash"\nsecret = "000102030405060708090a0b0c0d0e0f"\n' + THREE
    ],
    "segment": [HEAD + 'key = "first 1 segment"\n' + THREE],
    "pins": [HEAD + THREE + '[[pin]]\nkey = "frank"\nnodes = ["n2", "n0"]\n'],
    "ranges": [
        HEAD
        + COPIES
        + ZONES
        + '[[pin]]\nrange = ["10%", "10.5%"]\nnodes = ["z0"]\nshort = true\n'
    ],
    # z5 has frank, and would be second
    "firsts": [
        HEAD
        + COPIES
        + ZONES
        + '[[first]]\nkey = "frank"\nnode = "z5"\n'
        + '[[first]]\nrange = ["50%", "60%"]\nnode = "z1"\n'
    ],
    "policies": [
        HEAD
        + THREE
        + '[[policy]]\nname = "chain1"\nkind = "chain"\nnodes = ["n0", "n1"]\nweight = 2\n'
    ],
    "tolerance": [HEAD + 'tolerance = "2%"\n' + THREE],
    "slices": [HEAD + COPIES + "max_slices = 100\n" + ZONES],
    "grown": [HEAD + THREE, HEAD + THREE + '[[node]]\nname = "n3"\nweight = 2\n'],
    "renamed": [
        HEAD + THREE,
        HEAD + THREE.replace('"n2"', '"n9"\nformerly = "n2"'),
    ],
}
# the fleet of a saved plan of `grown`
NEXT = FLEETS["grown"][1] + '[[node]]\nname = "n4"\n'

MEMCACHED = "10.0.0.1:11211\n10.0.0.2:11211:2\n10.0.0.3:11211\n"
REDIS = "".join(
    f"{i:040x} 10.0.0.{i}:6379@16379 master - 0 0 {i} connected {first}-{last}\n"
    for i, (first, last) in enumerate([(0, 5460), (5461, 10922), (10923, 16383)], 1)
)
# {name of a map: the kind of a ring, its servers and its settings}
RINGS = {
    "ring-memcached": ("libmemcached", MEMCACHED, ""),
    "ring-karger": ("karger", "a\nb\nc 2\n", "--set replicas=2"),
    # a preference list that names a node twice
    "ring-riak": (
        "riak",
        "".join(f"{i} n{i % 3}\n" for i in range(8)),
        "--set keys=plain",
    ),
    "ring-redis": ("redis-slots", REDIS, ""),
    "ring-modulo": (
        "explicit",
        "0 a\n1 b\n2 a\n3 c\n",
        "--set modulo=4 --set hash=crc32",
    ),
    "ring-envoy": ("envoy-ring-hash", "a\nb\nc\n", ""),
}
# the ring that is grown after it was adopted, and what is added to its fleet
ADOPTED = "ring-memcached"
MORE = '\n[[node]]\nname = "10.0.0.4:11211"\nweight = 1.5\n'

# a scenario of two steps: figures of the article
SCENARIO = "figure-5"

QUESTIONS = [
    "locate MAP frank bob erin justin user/7",
    "locate MAP --prefer 3 frank bob erin justin user/7",
    "locate MAP --carry frank bob erin justin user/7",
]
# {name: a command}; FILES is the directory of the files. They are asked in this order: some change a
# map.
JSON = {
    "locate": "stead locate FILES/copies.map --json frank bob",
    "locate-explain": "stead locate FILES/pins.map --json --explain frank",
    "locate-first": "stead locate FILES/firsts.map --json --explain frank",
    "locate-carry": "stead locate FILES/carried.map --json --carry frank justin",
    "locate-count": "stead locate FILES/plain.map --json --count frank bob",
    "show": "stead show FILES/copies.map --json",
    "show-slices": "stead show FILES/grown.map --json --slices",
    "show-policies": "stead show FILES/policies.map --json",
    "show-firsts": "stead show FILES/firsts.map --json",
    "show-ring": "stead show FILES/ring-riak.map --json",
    "show-carry": "stead show FILES/carried.map --json",
    "plan": "stead plan FILES/next.toml FILES/grown.map --json",
    "plan-moves": "stead plan FILES/next.toml FILES/grown.map --json --moves",
    "plan-copies": "stead plan FILES/copies.toml FILES/copies.map --json",
    "plan-firsts": "stead plan FILES/firsts.toml FILES/copies.map --json --moves",
    "apply": "stead apply FILES/next.plan FILES/grown.map --json",
    "check": "stead check FILES/copies.map --json",
    "check-ring": "stead check FILES/ring-riak.map --json",
    "check-observed": "stead check FILES/ring-memcached.map --json --observed FILES/observed.tsv",
    "check-off": "stead check FILES/copies.map --json --off z1",
    "what-if": "stead what-if FILES/copies.map --down zone=a --json",
    "load": "stead load FILES/copies.map FILES/access.log --json",
    "load-within": "stead load FILES/copies.map FILES/access.log --json --within 20%",
    "history": "stead history FILES/renamed.map --json",
    "diff": "stead diff FILES/grown.map.history/1 FILES/grown.map --json",
    "who": "stead who FILES/copies.map z1 --json",
    "carry": "stead carry FILES/carried.map --json",
    "carry-next": "stead carry FILES/carried.map next --confirmed 2 --json",
    "path": "stead path --json frank",
    "rollback": "stead rollback FILES/renamed.map 1 --json",
    "survey": "stead survey FILES/names.txt --json",
    "simulate": f"stead simulate {SCENARIO} --no-times --json",
    "ring": "stead ring libmemcached FILES/ring-memcached.servers --json",
    "ring-list": "stead ring --list --json",
}
# those of these that end with 1, since they report what is broken
ENDS_WITH_1 = ("check-ring", "check-observed", "check-off")

# Where the words are for people and may change, as docs/cli.md says.
WORDS = ("about", "found", "reason", "text", "why", "servers", "change")
# Lists that may get more items: of checks, of rings and of their settings.
GROWING = ("checks", "choices", "ring-list")
