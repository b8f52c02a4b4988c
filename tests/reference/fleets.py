"""The fleets that must be refused, by docs/fleet.md. `@@` marks the line that the error
names, and is not part of the text.

Each is the fleet of a first map. Where the page allows the error to name either of two
lines, the two are the same line here. Some fleets are written in rare but valid ways up
to their last mistake, so a parser that refuses these ways names another line.
"""

GOOD = 'name = "m"\n[[node]]\nname = "a"\n'
TWO = GOOD + '[[node]]\nname = "b"\n'
POLICY = TWO + '[[policy]]\nname = "p"\nnodes = ["a", "b"]\n'
LONG = "x" * 256

# (comment, text, words of the message)
TOML = [
    ("empty file: the name is missing", "@@", ["name"]),
    ("name missing", '@@[[node]]\nname = "a"\n', ["name"]),
    ("name empty", 'name = ""@@\n[[node]]\nname = "a"\n', ["name"]),
    ("name of 256 bytes", f'name = "{LONG}"@@\n[[node]]\nname = "a"\n', ["name"]),
    (
        "name of 256 bytes, 128 characters",
        f'name = "{"é" * 128}"@@\n[[node]]\nname = "a"\n',
        ["name"],
    ),
    (
        "name with a control character",
        'name = "a\\u0007"@@\n[[node]]\nname = "a"\n',
        ["name"],
    ),
    ("name with U+0085", 'name = "a\\u0085"@@\n[[node]]\nname = "a"\n', ["name"]),
    ("name is a number", 'name = 7@@\n[[node]]\nname = "a"\n', ["name"]),
    ("no nodes at all", 'name = "m"@@\n', []),
    (
        "zero total weight",
        '@@name = "m"\n[[node]]\nname = "a"\nweight = 0\n',
        ["weight"],
    ),
    (
        "zero total weight of nodes and policies",
        (
            '@@name = "m"\n[[node]]\nname = "a"\nweight = 0.000000\n[[policy]]\n'
            'name = "p"\nnodes = ["a"]\nweight = 0\n'
        ),
        ["weight"],
    ),
    (
        "a policy without weight is no holder",
        '@@name = "m"\n[[node]]\nname = "a"\nweight = 0\n[[policy]]\nname = "p"\nnodes = ["a"]\n',
        ["weight"],
    ),
    (
        "unknown key at the top",
        'name = "m"\nreplica = 1@@\n[[node]]\nname = "a"\n',
        ["replica", "replicas", "spread", "hash", "max_slices"],
    ),
    ("unknown table at the top", GOOD + '[[nodes]]@@\nname = "b"\n', ["nodes", "node"]),
    (
        "a capital letter makes another key",
        'Name = "m"@@\n[[node]]\nname = "a"\n',
        ["Name"],
    ),
    (
        "key given twice",
        'name = "m"\nreplicas = 1\nname = "m"@@\n[[node]]\nname = "a"\n',
        ["name"],
    ),
    ("replicas 0", 'name = "m"\nreplicas = 0@@\n[[node]]\nname = "a"\n', ["replicas"]),
    (
        "replicas 256",
        'name = "m"\nreplicas = 256@@\n[[node]]\nname = "a"\n',
        ["replicas"],
    ),
    (
        "replicas negative",
        'name = "m"\nreplicas = -1@@\n[[node]]\nname = "a"\n',
        ["replicas"],
    ),
    (
        "replicas is text",
        'name = "m"\nreplicas = "1"@@\n[[node]]\nname = "a"\n',
        ["replicas"],
    ),
    (
        "replicas with a point",
        'name = "m"\nreplicas = 1.0@@\n[[node]]\nname = "a"\n',
        ["replicas"],
    ),
    (
        "spread is no array",
        'name = "m"\nspread = "zone"@@\n[[node]]\nname = "a"\n',
        ["spread"],
    ),
    (
        "spread holds a number",
        'name = "m"\nspread = [1]@@\n[[node]]\nname = "a"\n',
        ["spread"],
    ),
    (
        "unknown hash",
        'name = "m"\nhash = "murmur3"@@\n[[node]]\nname = "a"\n',
        ["murmur3", "md5", "siphash"],
    ),
    ("hash in capitals", 'name = "m"\nhash = "MD5"@@\n[[node]]\nname = "a"\n', ["MD5"]),
    ("hash is a number", 'name = "m"\nhash = 1@@\n[[node]]\nname = "a"\n', ["hash"]),
    (
        "siphash without secret",
        'hash = "siphash"@@\nname = "m"\n[[node]]\nname = "a"\n',
        ["secret"],
    ),
    (
        "secret without siphash",
        f'name = "m"\nhash = "md5"\nsecret = "{"0" * 32}"@@\n[[node]]\nname = "a"\n',
        ["secret"],
    ),
    (
        "secret, hash left out",
        f'name = "m"\nsecret = "{"0" * 32}"@@\n[[node]]\nname = "a"\n',
        ["secret"],
    ),
    (
        "secret of 31 digits",
        f'name = "m"\nhash = "siphash"\nsecret = "{"0" * 31}"@@\n[[node]]\nname = "a"\n',
        ["secret", "32"],
    ),
    (
        "secret of 33 digits",
        f'name = "m"\nhash = "siphash"\nsecret = "{"0" * 33}"@@\n[[node]]\nname = "a"\n',
        ["secret", "32"],
    ),
    (
        "secret and secret_file",
        (
            f'name = "m"\nhash = "siphash"\nsecret = "{"0" * 32}"\n'
            'secret_file = "secret"@@\n[[node]]\nname = "a"\n'
        ),
        ["secret", "secret_file"],
    ),
    (
        "secret with a letter g",
        f'name = "m"\nhash = "siphash"\nsecret = "{"g" * 32}"@@\n[[node]]\nname = "a"\n',
        ["secret"],
    ),
    (
        "secret is a number",
        'name = "m"\nhash = "siphash"\nsecret = 1@@\n[[node]]\nname = "a"\n',
        ["secret"],
    ),
    (
        "key rule without segments",
        'name = "m"\nkey = "first 0 segments"@@\n[[node]]\nname = "a"\n',
        ["key", "first 0 segments", "whole", "first N segments", "255"],
    ),
    (
        "key rule of 256 segments",
        'name = "m"\nkey = "first 256 segments"@@\n[[node]]\nname = "a"\n',
        ["key", "first 256 segments", "255"],
    ),
    (
        "key rule in other words",
        'name = "m"\nkey = "first segment"@@\n[[node]]\nname = "a"\n',
        ["key", "first segment", "first N segments"],
    ),
    (
        "key rule with a zero before",
        'name = "m"\nkey = "first 01 segments"@@\n[[node]]\nname = "a"\n',
        ["key", "first 01 segments"],
    ),
    (
        "key rule in capitals",
        'name = "m"\nkey = "Whole"@@\n[[node]]\nname = "a"\n',
        ["key", "Whole", "whole"],
    ),
    (
        "key rule that is empty",
        'name = "m"\nkey = ""@@\n[[node]]\nname = "a"\n',
        ["key", "whole"],
    ),
    (
        "key rule is a number",
        'name = "m"\nkey = 1@@\n[[node]]\nname = "a"\n',
        ["key", "string"],
    ),
    (
        "pins whose keys have the same first segment",
        (
            'name = "m"\nkey = "first 1 segments"\n[[node]]\nname = "a"\n[[pin]]\n'
            'key = "web1/cpu"\nnodes = ["a"]\n@@[[pin]]\nkey = "/web1/mem"\n'
            'nodes = ["a"]\n'
        ),
        ["line 5", "first 1 segments", "overlap"],
    ),
    (
        "max_slices 0",
        'name = "m"\nmax_slices = 0@@\n[[node]]\nname = "a"\n',
        ["max_slices"],
    ),
    (
        "max_slices 2^32",
        'name = "m"\nmax_slices = 4294967296@@\n[[node]]\nname = "a"\n',
        ["max_slices"],
    ),
    (
        "max_slices beyond 64 bits",
        'name = "m"\nmax_slices = 99999999999999999999@@\n[[node]]\nname = "a"\n',
        [],
    ),
    (
        "max_slices is text",
        'name = "m"\nmax_slices = "8000"@@\n[[node]]\nname = "a"\n',
        ["max_slices"],
    ),
    (
        "max_slices with a point",
        'name = "m"\nmax_slices = 8000.5@@\n[[node]]\nname = "a"\n',
        ["max_slices"],
    ),
    *(
        (
            f"tolerance {what}",
            f'name = "m"\ntolerance = {value}@@\n[[node]]\nname = "a"\n',
            ["tolerance"],
        )
        for what, value in (
            ("0%", '"0%"'),
            ("0.0000%", '"0.0000%"'),
            ("above 10%", '"10.0001%"'),
            ("100%", '"100%"'),
            ("of five places", '"0.00001%"'),
            ("of five places, all zeros", '"1.00000%"'),
            ("without %", '"1"'),
            ("of white space", '" 1%"'),
            ("with a sign", '"-1%"'),
            ("is a number", "0.01"),
            ("is empty", '""'),
        )
    ),
    (
        "tolerance below a table",
        'name = "m"\n[[node]]\nname = "a"\ntolerance = "1%"@@\n',
        ["tolerance"],
    ),
    # guards
    (
        "guard is text",
        'name = "m"\nguard = "20%"@@\n[[node]]\nname = "a"\n',
        ["guard", "[guard]"],
    ),
    (
        "unknown key in guard",
        GOOD + '[guard]\nmoves = "20%"@@\n',
        ["moves", "move"],
    ),
    ("move without %", GOOD + '[guard]\nmove = "20"@@\n', ["20", "%"]),
    ("move is a number", GOOD + "[guard]\nmove = 20@@\n", ["move"]),
    ("move above 100%", GOOD + '[guard]\nmove = "100.5%"@@\n', ["100"]),
    (
        "guard.carry is text",
        GOOD + '[guard]\ncarry = "yes"@@\n',
        ["carry", "true or false"],
    ),
    (
        "guard.carry is a number, in JSON",
        '{"name": "m", "node": [{"name": "a"}],\n"guard": {"carry": 1@@}}',
        ["carry", "true or false"],
    ),
    (
        "first_map is text",
        GOOD + '[guard]\nfirst_map = "no"@@\n',
        ["first_map", "true or false"],
    ),
    (
        "first_map is a number, in JSON",
        '{"name": "m", "node": [{"name": "a"}],\n"guard": {"first_map": 0@@}}',
        ["first_map", "true or false"],
    ),
    (
        "a first map of a fleet that only goes on from one",
        'name = "m"\n[guard]\nfirst_map = false@@\n[[node]]\nname = "a"\n',
        ["first_map", "goes on from a map"],
    ),
    # nodes
    ("node is a table", 'name = "m"\n[node]@@\nname = "a"\n', ["node"]),
    ("node is a number", 'name = "m"\nnode = 3@@\n', ["node"]),
    ("node without name", GOOD + "[[node]]@@\nweight = 2\n", ["name"]),
    ("node name empty", GOOD + '[[node]]\nname = ""@@\n', ["name"]),
    ("node name of 256 bytes", GOOD + f'[[node]]\nname = "{LONG}"@@\n', ["name"]),
    ("node name with a comma", GOOD + '[[node]]\nname = "b,c"@@\n', ["comma"]),
    ("node name with a newline", GOOD + '[[node]]\nname = "b\\n"@@\n', ["control"]),
    ("node name with DEL", GOOD + '[[node]]\nname = "b\\u007F"@@\n', ["control"]),
    ("node name is a number", GOOD + "[[node]]\nname = 5@@\n", ["name"]),
    ("two nodes of one name", GOOD + '[[node]]\nweight = 2\nname = "a"@@\n', ["a"]),
    (
        "unknown key of a node",
        GOOD + '[[node]]\nname = "b"\nwieght = 1@@\n',
        ["wieght", "weight", "labels", "attributes", "formerly"],
    ),
    ("key of a policy in a node", GOOD + 'kind = "chain"@@\n', ["kind"]),
    ("weight twice", GOOD + "weight = 1\nweight = 1@@\n", ["weight"]),
    ("labels are an array", GOOD + 'labels = ["a"]@@\n', ["labels"]),
    ("label value is a number", GOOD + "labels = { zone = 1 }@@\n", ["zone"]),
    ("label value empty", GOOD + 'labels = { zone = "" }@@\n', []),
    ("label name empty", GOOD + 'labels = { "" = "a" }@@\n', []),
    (
        "label value with a control character",
        GOOD + 'labels = { zone = "a\\u0000" }@@\n',
        ["control"],
    ),
    (
        "label name with a control character",
        GOOD + 'labels = { "a\\tb" = "x" }@@\n',
        ["control"],
    ),
    (
        "label value of 4096 bytes",
        GOOD + f'labels = {{ zone = "{"x" * 4096}" }}@@\n',
        ["zone"],
    ),
    ("label name of 4096 bytes", GOOD + f'labels = {{ {"x" * 4096} = "a" }}@@\n', []),
    ("label twice", GOOD + 'labels = { zone = "a", zone = "b" }@@\n', ["zone"]),
    ("attribute name empty", GOOD + 'attributes = { "" = "a" }@@\n', []),
    (
        "attribute value of 4096 bytes",
        GOOD + f'attributes = {{ note = "{"x" * 4096}" }}@@\n',
        ["note"],
    ),
    (
        "attribute value with a control character",
        GOOD + 'attributes = { note = "a\\u001F" }@@\n',
        ["control"],
    ),
    (
        "attribute value is a boolean",
        GOOD + "attributes = { note = true }@@\n",
        ["note"],
    ),
    ("attributes are text", GOOD + 'attributes = "10.0.0.1"@@\n', ["attributes"]),
    ("formerly with a comma", GOOD + 'formerly = "b,c"@@\n', ["formerly"]),
    ("formerly empty", GOOD + 'formerly = ""@@\n', ["formerly"]),
    (
        "formerly is another node",
        GOOD + 'formerly = "b"@@\n[[node]]\nname = "b"\n',
        ["formerly", "b"],
    ),
    (
        "formerly used by two nodes",
        GOOD + 'formerly = "x"\n[[node]]\nname = "b"\nformerly = "x"@@\n',
        ["formerly", "x"],
    ),
    # policies
    ("policy without name", GOOD + '[[policy]]@@\nnodes = ["a"]\n', ["name"]),
    ("policy without nodes", GOOD + '[[policy]]@@\nname = "p"\n', ["nodes"]),
    ("policy with no node", GOOD + '[[policy]]\nname = "p"\nnodes = []@@\n', ["nodes"]),
    (
        "policy of an unknown node",
        GOOD + '[[policy]]\nname = "p"\nnodes = ["a", "zz"]@@\n',
        ["zz"],
    ),
    (
        "policy of an unknown node, in a line of its own",
        GOOD + '[[policy]]\nname = "p"\nnodes = [\n  "a",\n  "zz",@@\n]\n',
        ["zz"],
    ),
    (
        "policy with a node twice",
        TWO + '[[policy]]\nname = "p"\nnodes = ["a", "b", "a"]@@\n',
        ["a"],
    ),
    (
        "policy nodes are text",
        GOOD + '[[policy]]\nname = "p"\nnodes = "a"@@\n',
        ["nodes"],
    ),
    (
        "policy nodes are numbers",
        GOOD + '[[policy]]\nname = "p"\nnodes = [1]@@\n',
        ["nodes"],
    ),
    (
        "two policies of one name",
        POLICY + '[[policy]]\nname = "p"@@\nnodes = ["a"]\n',
        ["p"],
    ),
    (
        "policy name with a comma",
        GOOD + '[[policy]]\nname = "p,q"@@\nnodes = ["a"]\n',
        ["comma"],
    ),
    ("policy name empty", GOOD + '[[policy]]\nname = ""@@\nnodes = ["a"]\n', ["name"]),
    ("policy kind of 256 bytes", POLICY + f'kind = "{LONG}"@@\n', ["kind"]),
    ("policy kind with a control character", POLICY + 'kind = "a\\r"@@\n', ["kind"]),
    ("policy kind is a number", POLICY + "kind = 1@@\n", ["kind"]),
    ("policy weight too large", POLICY + "weight = 1000001@@\n", ["weight"]),
    (
        "policy weight with 7 places",
        POLICY + "weight = 0.1234567@@\n",
        ["weight", "0.1234567"],
    ),
    (
        "unknown key of a policy",
        POLICY + 'members = ["a"]@@\n',
        ["members", "kind", "nodes", "weight"],
    ),
    # pins
    (
        "pin of an unknown policy",
        GOOD + '[[pin]]\nkey = "k"\npolicy = "zz"@@\n',
        ["zz"],
    ),
    ("pin of an unknown node", GOOD + '[[pin]]\nkey = "k"\nnodes = ["zz"]@@\n', ["zz"]),
    ("pin of no node", GOOD + '[[pin]]\nkey = "k"\nnodes = []@@\n', ["nodes"]),
    (
        "pin with a node twice",
        GOOD + '[[pin]]\nkey = "k"\nnodes = ["a", "a"]@@\n',
        ["a"],
    ),
    (
        "pin without key and range",
        GOOD + '[[pin]]@@\nnodes = ["a"]\n',
        ["key", "range"],
    ),
    (
        "pin without policy and nodes",
        GOOD + '[[pin]]@@\nkey = "k"\n',
        ["policy", "nodes"],
    ),
    (
        "pin with key and range",
        (
            'name = "m"\npin = [{ key = "k", range = ["1%", "2%"], nodes = ["a"] '
            '}]@@\n[[node]]\nname = "a"\n'
        ),
        ["key", "range"],
    ),
    (
        "pin with policy and nodes",
        (
            'name = "m"\npin = [{ key = "k", policy = "p", nodes = ["a"] }]@@\n'
            'node = [{ name = "a" }]\npolicy = [{ name = "p", nodes = ["a"] }]\n'
        ),
        ["policy", "nodes"],
    ),
    ("pin key is a number", GOOD + '[[pin]]\nkey = 1@@\nnodes = ["a"]\n', ["key"]),
    (
        "pin range of one",
        GOOD + '[[pin]]\nrange = ["1%"]@@\nnodes = ["a"]\n',
        ["range"],
    ),
    (
        "pin range of three",
        GOOD + '[[pin]]\nrange = ["1%", "2%", "3%"]@@\nnodes = ["a"]\n',
        ["range"],
    ),
    (
        "pin range is text",
        GOOD + '[[pin]]\nrange = "1%-2%"@@\nnodes = ["a"]\n',
        ["range"],
    ),
    (
        "pin short is text",
        GOOD + '[[pin]]\nkey = "k"\nnodes = ["a"]\nshort = "true"@@\n',
        ["short", "true or false", "a string"],
    ),
    (
        "pin short is a number",
        GOOD + '[[pin]]\nkey = "k"\nnodes = ["a"]\nshort = 1@@\n',
        ["short", "true or false", "a number"],
    ),
    (
        "short of a policy",
        GOOD + '[[policy]]\nname = "p"\nnodes = ["a"]\nshort = true@@\n',
        ["short", "policy"],
    ),
    ("pin range of numbers", GOOD + '[[pin]]\nrange = [1, 2]@@\nnodes = ["a"]\n', []),
    (
        "unknown key of a pin",
        GOOD + '[[pin]]\nkey = "k"\nnodes = ["a"]\nweight = 1@@\n',
        ["weight", "key", "range", "policy", "nodes", "short"],
    ),
    (
        "two pins by one key",
        (
            'name = "m"\npin = [\n{ key = "k", nodes = ["a"] },\n'
            '{ key = "k", nodes = ["b"] }]@@\n'
            'node = [{ name = "a" }, { name = "b" }]\n'
        ),
        ["3"],
    ),
    (
        "a pin by key in a pin by range",
        (
            'name = "m"\npin = [\n{ range = ["0%", "100%"], nodes = ["a"] },\n\n'
            '{ key = "k", nodes = ["a"] }]@@\nnode = [{ name = "a" }]\n'
        ),
        ["3", "overlap"],
    ),
    (
        "ranges overlap",
        (
            'name = "m"\nnode = [{ name = "a" }]\n'
            'pin = [{ range = ["5%", "6%"], nodes = ["a"] },\n'
            '{ range = ["1%", "2%"], nodes = ["a"] },\n'
            '{ range = ["5.999999%", "7%"], nodes = ["a"] }]@@\n'
        ),
        ["3", "overlap"],
    ),
    # order of reports, line ends, syntax
    (
        "the first mistake of two",
        'name = "m"\nfoo = 1@@\nbar = 2\n[[node]]\nname = "a"\n',
        ["foo"],
    ),
    (
        "a syntax error comes before a mistake above it",
        'name = "m"\nfoo = 1\n[[node]]\nname = "a@@\n',
        [],
    ),
    ("an open table header", GOOD + "[[node@@\n", []),
    (
        "a byte order mark and CR LF count no lines",
        '\ufeffname = "m"\r\n\r\n[[node]]\r\nname = "a"\r\nfoo = 1@@\r\n',
        ["foo"],
    ),
    # rare and valid, before the mistake
    (
        "an empty table for [guard]",
        'name = "m"\nguard = {}\nreplicas = 0@@\n[[node]]\nname = "a"\n',
        ["replicas"],
    ),
    (
        "dotted keys",
        GOOD + 'labels.zone = "x"\nlabels."rack" = "y"\nlabels.shelf = ""@@\n',
        ["shelf"],
    ),
    (
        "a table of the node that follows it",
        GOOD + '[node.labels]\nzone = "x"\n[[node]]\nname = "b"\nlabels = []@@\n',
        ["labels"],
    ),
    (
        "zeros at the end of a weight are no places",
        (
            GOOD + "weight = 1.50000000\n"
            '[[node]]\nname = "b"\nweight = "1.50000000"\n'
            '[[node]]\nname = "c"\nweight = 1.50000001@@\n'
        ),
        ["1.50000001"],
    ),
    (
        "underscores in a weight",
        GOOD + 'weight = 1_000.2_5\n[[node]]\nname = "b"\nweight = 1_000_001@@\n',
        ["weight"],
    ),
    (
        "capital letters in a secret",
        (
            f'name = "m"\nhash = "siphash"\nsecret = "{"aB" * 16}"\n'
            'replicas = 0@@\n[[node]]\nname = "a"\n'
        ),
        ["replicas"],
    ),
    (
        "one segment, in the singular",
        (
            'name = "m"\nkey = "first 1 segment"\n[[node]]\nname = "a"\n[[pin]]\n'
            'key = "web1/cpu"\nnodes = ["a"]\n@@[[pin]]\nkey = "/web1/mem"\n'
            'nodes = ["a"]\n'
        ),
        ["line 5", "first 1 segments", "overlap"],
    ),
    (
        "an escape of eight digits is its character",
        GOOD + '[[node]]\nname = "\\U0001F600"\n[[node]]\nname = "\U0001f600"@@\n',
        ["\U0001f600"],
    ),
    (
        "formerly is the own name",
        GOOD + 'formerly = "a"\n[[node]]\nname = "b"\nformerly = "a"@@\n',
        ["formerly", "a"],
    ),
    (
        "a comment and blank lines count",
        '# a fleet\n\nname = "m"\n\n# more\n[[node]]\nname = "a"\n\nfoo = 1@@\n',
        ["foo"],
    ),
]

WEIGHTS = [
    "1e3",
    "1E3",
    "1e-3",
    "+1",
    "-1",
    "-0.5",
    "nan",
    "inf",
    "-inf",
    "+inf",
    "0x10",
    "0o7",
    "0b1",
    "1.0000001",
    "1000000.000001",
    "1000001",
    "18446744073709551616",
    "true",
    "1979-05-27",
    "[1]",
    '""',
    '"abc"',
    '"1e3"',
    '"+1"',
    '"-1"',
    '".5"',
    '"1.0000001"',
    '"0x10"',
    '"nan"',
    '"1,5"',
    '"1 000"',
    '"1.2.3"',
    '"1000000.000001"',
    '"\u0663"',
]
BROKEN = [".5", "1__000", "_1", "1_", "1.", "abc", ""]
PERCENTS = [
    "6.00000",
    "6 %",
    "%",
    ".5%",
    "-1%",
    "+1%",
    "1e0%",
    "0.1234567890123456789%",
    "0,5%",
    "",
    "six%",
    "0x1%",
    "1.2.3%",
]
RANGES = [
    ("100.000000000000000001%", "100%"),
    ("0%", "101%"),
    ("0%", "100.000000000000000001%"),
    ("5%", "5%"),
    ("6%", "5%"),
    ("0%", "0.000000000000000001%"),
    ("100%", "100%"),
    ("5.0%", "5.00%"),
]

# (comment, text, words)
JSON = [
    (
        "first_map is a number",
        '{"name": "m", "node": [{"name": "a"}],\n"guard": {"first_map": 0@@}}',
        ["first_map", "true or false"],
    ),
    ("name missing", '{"node": [{"name": "a"}]}@@', ["name"]),
    ("empty object", "{}@@", ["name"]),
    (
        "zero total weight",
        '@@{"name": "m",\n"node": [{"name": "a", "weight": 0}]}',
        ["weight"],
    ),
    (
        "unknown key at the top",
        '{"name": "m",\n"foo": 1,@@\n"node": [{"name": "a"}]}',
        ["foo"],
    ),
    (
        "unknown key of a node",
        '{"name": "m",\n"node": [{"name": "a",\n"wieght": 1}]}@@',
        ["wieght", "weight"],
    ),
    (
        "key given twice",
        '{"name": "m",\n"node": [{"name": "a"}],\n"name": "m"}@@',
        ["name"],
    ),
    (
        "key of a node given twice",
        '{"name": "m",\n"node": [{"name": "a",\n"name": "b"}]}@@',
        ["name"],
    ),
    (
        "a key twice, once with an escape",
        '{"name": "m",\n"node": [{"name": "a"}],\n"n\\u0061me": "m"}@@',
        ["name"],
    ),
    ("node is an object", '{"name": "m",\n"node": {"name": "a"}}@@', ["node"]),
    ("node holds text", '{"name": "m",\n"node": ["a"]}@@', ["node"]),
    ("name is null", '{"name": null,@@\n"node": [{"name": "a"}]}', ["name"]),
    (
        "weight is null",
        '{"name": "m",\n"node": [{"name": "a", "weight": null}]}@@',
        ["weight"],
    ),
    (
        "node name twice",
        '{"name": "m",\n"node": [{"name": "a"},\n{"name": "a"}]}@@',
        ["a"],
    ),
    (
        "node without name",
        '{"name": "m",\n"node": [{"name": "a"},\n{"weight": 1}]}@@',
        ["name"],
    ),
    (
        "policy of an unknown node",
        '{"name": "m", "node": [{"name": "a"}],\n"policy": [{"name": "p", "nodes": ["zz"]}]}@@',
        ["zz"],
    ),
    (
        "pin of an unknown policy",
        '{"name": "m", "node": [{"name": "a"}],\n"pin": [{"key": "k", "policy": "zz"}]}@@',
        ["zz"],
    ),
    (
        "two pins by one key",
        (
            '{"name": "m", "node": [{"name": "a"}],\n'
            '"pin": [{"key": "k", "nodes": ["a"]},\n{"key": "k", "nodes": ["a"]}]}@@'
        ),
        ["2"],
    ),
    (
        "pin short is null",
        (
            '{"name": "m", "node": [{"name": "a"}],\n'
            '"pin": [{"key": "k", "nodes": ["a"], "short": null}]}@@'
        ),
        ["short", "true or false", "null"],
    ),
    (
        "hash unknown",
        '{"name": "m", "hash": "crc32",@@\n"node": [{"name": "a"}]}',
        ["crc32"],
    ),
    (
        "node name with a control character",
        '{"name": "m",\n"node": [{"name": "a\\u0000"}]}@@',
        ["control"],
    ),
    ("a comma too many", '{"name": "m",\n"node": [{"name": "a"},]}@@', []),
    ("a comment", '{"name": "m",\n"node": [{"name": "a"}]} // nodes@@', []),
    ("single quotes", "{'name': 'm'}@@", []),
    ("text after the object", '{"name": "m", "node": [{"name": "a"}]}\nx@@', []),
    ("a newline in a string", '{"name": "m@@\n", "node": [{"name": "a"}]}', []),
    *(
        (
            f"half a surrogate pair: {what}",
            f'{{"name": "m",\n"node": [{{"name": "{half}"}}]}}@@',
            ["half", half[half.index("\\") :][:6]],
        )
        for what, half in (
            ("the first", "\\ud800"),
            ("the second", "a\\udfffb"),
            ("two first ones", "\\ud83d\\ud83d"),
            ("the wrong way round", "\\uDE00\\uD83D"),
            ("before a backslash", "\\ud83d\\\\ude00"),
            ("before another character", "\\ud83d\\u0041"),
        )
    ),
    (
        "half a surrogate pair in a name",
        '{"name": "m",\n"node": [{"name": "a",\n"labels": {"\\ud83d": "x"}}]}@@',
        ["half", "\\ud83d"],
    ),
    (
        "a surrogate pair is its character in a node's name",
        (
            '{"name": "\\ud83d\\ude00",\n"node": [{"name": "\\uD83D\\uDE00"},\n'
            '{"name": "\U0001f600"}]}@@'
        ),
        ["\U0001f600"],
    ),
    (
        "a surrogate pair is its character in a pin's key",
        (
            '{"name": "m", "node": [{"name": "a"}],\n"pin": [{"key": "\\ud83d\\ude00",'
            ' "nodes": ["a"]},\n{"key": "\U0001f600", "nodes": ["a"]}]}@@'
        ),
        ["line 2", "overlap"],
    ),
    (
        "a surrogate pair is its character in a label's name",
        (
            '{"name": "m", "spread": ["\U0001f30d"],\n"node": [{"name": "a",'
            ' "labels": {"\\ud83c\\udf0d": "x"}},\n{"name": "b"}]}@@'
        ),
        ["b", "\U0001f30d"],
    ),
    (
        "a surrogate pair and its character in the attributes of a node",
        (
            '{"name": "m",\n"node": [{"name": "a", "attributes": {"\\ud83d\\ude00": "x",\n'
            '"\U0001f600": "x"}}]}@@'
        ),
        ["\U0001f600"],
    ),
    ("an array", "[]@@", []),
    (
        "nested a thousand times, in one line",
        '{"name": ' + "[" * 1000 + "]" * 1000 + "}@@",
        [],
    ),
    (
        "a syntax error comes before a mistake above it",
        '{"name": "m", "foo": 1,\n"node": [{"name": "a"} {"name": "b"}]}@@',
        [],
    ),
]
JSON_WEIGHTS = [
    "1e3",
    "1E0",
    "-1",
    "1.0000001",
    "1000000.000001",
    "1000001",
    '"1e3"',
    '"-1"',
    "true",
    "[]",
    "{}",
]
JSON_BROKEN = [".5", "+1", "NaN", "Infinity", "0x10", "1_000", "1.", "01"]

# Copies and fault domains: (file, comment, text, words)
COPIES = [
    (
        "fleet.toml",
        "replicas 3 of two nodes",
        'name = "m"\nreplicas = 3@@\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n',
        ["replicas", "3", "2"],
    ),
    (
        "fleet.toml",
        "replicas 255 of one node",
        'name = "m"\nreplicas = 255@@\n[[node]]\nname = "a"\n',
        ["replicas", "255"],
    ),
    (
        "fleet.toml",
        "replicas 2, and one of two nodes has weight 0",
        'name = "m"\nreplicas = 2@@\n[[node]]\nname = "a"\n[[node]]\nname = "b"\nweight = 0\n',
        ["replicas", "weight"],
    ),
    (
        "fleet.toml",
        "replicas 3 of two zones with one node each",
        (
            'name = "m"\nreplicas = 3@@\nspread = ["zone"]\n[[node]]\nname = "a"\n'
            'labels = { zone = "x" }\n[[node]]\nname = "b"\nlabels = { zone = "y" }\n'
        ),
        ["replicas"],
    ),
    (
        "fleet.toml",
        "a node without the label of spread",
        (
            'name = "m"\nspread = ["zone"]\n[[node]]\nname = "a"\n'
            'labels = { zone = "x" }\n[[node]]@@\nname = "b"\n'
        ),
        ["b", "zone", "weight"],
    ),
    (
        "fleet.toml",
        "a node without the second label of spread",
        'name = "m"\nspread = ["zone", "rack"]\n[[node]]@@\nname = "a"\nlabels = { zone = "x" }\n',
        ["a", "rack"],
    ),
    (
        "fleet.toml",
        "only the node that can hold needs the label",
        (
            'name = "m"\nspread = ["zone"]\n[[node]]\nname = "a"\nweight = 0\n'
            '[[node]]@@\nname = "b"\nweight = 0.000001\n'
        ),
        ["b", "zone"],
    ),
    (
        "fleet.toml",
        "a label twice in spread",
        (
            'name = "m"\nspread = ["zone", "rack", "zone"]@@\n[[node]]\nname = "a"\n'
            'labels = { zone = "x", rack = "y" }\n'
        ),
        ["zone", "spread"],
    ),
    (
        "fleet.toml",
        "an empty label in spread",
        'name = "m"\nspread = [""]@@\n[[node]]\nname = "a"\n',
        ["spread"],
    ),
    (
        "fleet.toml",
        "17 labels in spread",
        'name = "m"\nspread = [{}]@@\n[[node]]\nname = "a"\nweight = 0\n'.format(
            ", ".join(f'"l{i}"' for i in range(17))
        ),
        ["16", "spread"],
    ),
    (
        "fleet.toml",
        "a policy with a weight at replicas 2",
        (
            'name = "m"\nreplicas = 2\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n'
            '[[policy]]\nname = "p"\nnodes = ["a"]\nweight = 1@@\n'
        ),
        ["policy", "replicas", "weight"],
    ),
    (
        "fleet.toml",
        "a policy with weight 0 at replicas 2",
        (
            'name = "m"\nreplicas = 2\n[[node]]\nname = "a"\n[[node]]\nname = "b"\n'
            '[[policy]]\nname = "p"\nnodes = ["a"]\nweight = 0@@\n'
        ),
        ["policy", "replicas", "weight"],
    ),
    (
        "fleet.json",
        "replicas 3 of one node",
        '{"name": "m",\n"replicas": 3,@@\n"node": [{"name": "a"}]}',
        ["replicas"],
    ),
    (
        "fleet.json",
        "replicas 2 of one node, after it",
        '{"name": "m",\n"node": [{"name": "a"}],\n"replicas": 2}@@',
        ["replicas"],
    ),
    (
        "fleet.json",
        "a node without the label of spread, which follows",
        '{"name": "m",\n"node": [{"name": "a"}],@@\n"spread": ["zone"]}',
        ["a", "zone"],
    ),
    (
        "fleet.json",
        "a policy with a weight, and replicas 2 after it",
        (
            '{"name": "m", "node": [{"name": "a"}, {"name": "b"}],\n'
            '"policy": [{"name": "p", "nodes": ["a"], "weight": 1}],@@\n"replicas": 2}'
        ),
        ["policy", "replicas", "weight"],
    ),
]


def errors():
    """The vectors of fleet_errors.json."""
    found = [error("fleet.toml", *case) for case in TOML] + [
        error("fleet.json", *case) for case in JSON
    ]
    for weights, words in ((WEIGHTS, ["weight"]), (BROKEN, [])):
        found += [
            error("fleet.toml", f"weight = {w}", GOOD + f"weight = {w}@@\n", words)
            for w in weights
        ]
    for weights, words in ((JSON_WEIGHTS, ["weight"]), (JSON_BROKEN, [])):
        found += [
            error(
                "fleet.json",
                f'"weight": {w}',
                f'{{"name": "m", "node": [\n{{"name": "a", "weight": {w}}}]}}@@',
                words,
            )
            for w in weights
        ]
    pairs = [(p, "100%") for p in PERCENTS] + [("0%", p) for p in PERCENTS] + RANGES
    for pair in pairs:
        text = f'[[pin]]\nnodes = ["a"]\nrange = ["{pair[0]}", "{pair[1]}"]@@\n'
        found.append(
            error("fleet.toml", f"pin from {pair[0]} to {pair[1]}", GOOD + text, [])
        )
    found += [error(*case) for case in COPIES]
    found.append(
        error(
            "fleet.toml",
            "a file named .toml that starts with a brace is JSON",
            '\n {"name": "m",\n"foo": 1,@@\n"node": []}',
            ["foo"],
        )
    )
    for raw in ('name = "b\xf6b"\n', 'name = "m" # \xff\n'):
        data = raw.encode("latin-1") + b'[[node]]\nname = "a"\n'
        found.append(
            {
                "file": "fleet.toml",
                "hex": data.hex(),
                "status": "fleet",
                "line": 1,
                "words": ["UTF-8"],
                "comment": "not UTF-8",
            }
        )
    return found


def error(file, comment, text, words):
    """Returns one vector; the place of the mark becomes its line number."""
    before, after = text.split("@@")
    line = before.count("\n") + 1
    return {
        "file": file,
        "text": before + after,
        "status": "fleet",
        "line": line,
        "words": words,
        "comment": comment,
    }
