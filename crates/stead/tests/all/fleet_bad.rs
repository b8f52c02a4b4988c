//! Bad fleets: each mistake is reported with its file, its line and a message, in TOML and in JSON.

use stead::error::{Error, Status};
use stead::fleet::Fleet;

/// The text, the line of the mistake, a part of the message. `NODE` stands for a node `a`, in lines
/// of its own.
type Bad<'a> = (&'a str, usize, &'a str);

const TOML: &[Bad] = &[
    // the fleet itself
    ("NODE", 1, "required key `name` is missing in the fleet; add it"),
    ("name = ''\nNODE", 1, "name is empty; write 1 to 255 bytes"),
    ("name = 'm'\n\n", 1, "the fleet has no node; add a [[node]] with a name"),
    ("name = 3\nNODE", 1, "name must be a string, but is a number; write it in quotes"),
    ("name = \"a\\nb\"\nNODE", 1, "name `a\\nb` has the control character U+000A; remove it"),
    ("name = \"a\\u0085b\"\nNODE", 1, "name `a\\u{85}b` has the control character U+0085; remove \
        it"),
    ("name = 'm'\nname = 'm'\nNODE", 2, "key `name` is given twice; keep one"),
    (
        "name = 'm'\nreplica = 1\nNODE",
        2,
        "unknown key `replica` in the fleet; known keys: name, replicas, spread, hash, secret, secret_file, \
         key, max_slices, tolerance, guard, node, policy, pin, first",
    ),
    ("name = 'm'\nnodes = []\nNODE", 2, "unknown key `nodes` in the fleet; known keys: name, \
        replicas, spread, hash, secret, secret_file, key, max_slices, tolerance, guard, node, \
        policy, pin, first; begin each node with [[node]]"),
    ("name = 'm'\ncopies = 2\nNODE", 2, "first; `replicas` is the number of copies"),
    ("[fleet]\nname = 'm'\nNODE", 1, "unknown key `fleet` in the fleet; known keys: name, replicas, \
        spread, hash, secret, secret_file, key, max_slices, tolerance, guard, node, policy, pin, \
        first; keys of the fleet itself have no header"),
    ("name = 'm'\nNODE\nzone = 'a'", 5, "formerly; write attributes = { zone = \"...\" }, or labels = \
        { zone = \"...\" } if spread names it"),
    ("name = 'm'\nNODE\n'the zone' = 'a'", 5, "unknown key `the zone` in [[node]]; known keys: name, \
        weight, labels, attributes, formerly"),
    ("name = 'm'\n[x]\nNODE", 2, "unknown key `x` in the fleet; known keys: name, "),
    ("name = 'm'\nreplicas = 0\nNODE", 2, "replicas 0 is not a whole number from 1 to 255; write \
        it in plain digits"),
    ("name = 'm'\nreplicas = 256\nNODE", 2, "replicas 256 is not a whole number from 1 to 255"),
    ("name = 'm'\nreplicas = 1.0\nNODE", 2, "replicas 1.0 is not a whole number from 1 to 255"),
    ("name = 'm'\nreplicas = 0x1\nNODE", 2, "replicas 0x1 is not a whole number"),
    ("name = 'm'\nreplicas = +1\nNODE", 2, "replicas +1 is not a whole number"),
    ("name = 'm'\nreplicas = '1'\nNODE", 2, "replicas must be a whole number, but is a string; \
        write 1 to 255"),
    ("name = 'm'\nspread = 'zone'\nNODE", 2, "spread must be an array of label names, but is a \
        string; write it in brackets"),
    ("name = 'm'\nspread = [\n'zone',\n3]\nreplicas = 0\nNODE", 4, "a label of spread must be a \
        string, but is a number"),
    ("name = 'm'\nspread = ['zone',\n'zone']\nreplicas = 0\nNODE", 3, "label `zone` is listed twice \
        in spread; keep one"),
    ("name = 'm'\nkey = 1\nNODE", 2, "key must be a string, but is a number; write it in quotes"),
    (
        "name = 'm'\nkey = 'first 0 segments'\nNODE",
        2,
        "key is `first 0 segments`, which is not a key rule; write whole, or \
         first N segments with N from 1 to 255",
    ),
    ("name = 'm'\nNODE\nkey = 'whole'", 5, "unknown key `key` in [[node]]; known keys: name, \
        weight, labels, attributes, formerly; keys of the fleet itself must come before the \
        first [[...]]"),
    ("name = 'm'\nmax_slices = 0\nNODE", 2, "max_slices 0 is not a whole number from 1 to \
        4294967295"),
    ("name = 'm'\nmax_slices = 4294967296\nNODE", 2, "max_slices 4294967296 is not a whole number \
        from 1 to 4294967295"),
    ("name = 'm'\nmax_slices = true\nNODE", 2, "max_slices must be a whole number, but is true or \
        false"),
    ("name = 'm'\nmax_slices = 1979-05-27\nNODE", 2, "max_slices must be a whole number, but is a \
        date or time"),
    ("name = 'm'\ntolerance = '0%'\nNODE", 2, "tolerance \"0%\" is no tolerance; leave it out for \
        exact shares"),
    ("name = 'm'\ntolerance = '10.0001%'\nNODE", 2, "tolerance \"10.0001%\" is above 10%, the \
        largest tolerance"),
    ("name = 'm'\ntolerance = '0.00001%'\nNODE", 2, "tolerance \"0.00001%\" has more than 4 \
        places; leave out the rest"),
    ("name = 'm'\ntolerance = '1'\nNODE", 2, "tolerance \"1\" does not end in %; write it like \
        \"1%\""),
    ("name = 'm'\ntolerance = 0.01\nNODE", 2, "tolerance must be a string, but is a number; write \
        it in quotes"),
    ("name = 'm'\nNODE\ntolerance = '1%'", 5, "unknown key `tolerance` in [[node]]; known keys: \
        name, weight, labels, attributes, formerly; keys of the fleet itself must come before the \
        first [[...]]"),
    // the hash and its secret
    ("name = 'm'\nhash = 'crc32'\nNODE", 2, "unknown hash `crc32`; known hashes: md5, sha1, xxh3, \
        siphash"),
    ("name = 'm'\nhash = 'MD5'\nNODE", 2, "unknown hash `MD5`; known hashes: "),
    ("name = 'm'\nhash = ['md5']\nNODE", 2, "hash must be a string, but is an array"),
    (
        "name = 'm'\nhash = 'siphash'\nNODE",
        2,
        "siphash needs a secret; add secret = \"32 hex digits\" or secret_file = \"its file\"",
    ),
    ("name = 'm'\nhash = 'siphash'\nsecret = '00'\nNODE", 3, "secret is not 32 hex digits; write \
        32 of 0-9 and a-f"),
    ("name = 'm'\nsecret = 5\nhash = 'siphash'\nNODE", 2, "secret must be a string, but is a \
        number"),
    ("name = 'm'\nsecret = '00'\nhash = 5\nNODE", 3, "hash must be a string, but is a number"),
    ("name = 'm'\nsecret = '00'\nNODE", 2, "secret is given without a hash; write hash \
        = \"siphash\", or remove it"),
    ("name = 'm'\nsecret_file = 'x'\nNODE", 2, "secret_file is given without a hash; write hash \
        = \"siphash\", or remove it"),
    (
        "name = 'm'\nhash = 'sha1'\nsecret = '00'\nNODE",
        3,
        "secret is for siphash only, and hash is sha1; remove it, or write hash = \"siphash\"",
    ),
    (
        "name = 'm'\nhash = 'siphash'\nsecret_file = 'x'\nsecret = '0'\nNODE",
        4,
        "secret and secret_file are both given; keep one of them",
    ),
    (
        "name = 'm'\nhash = 'siphash'\nsecret_file = 'no/such/file'\nNODE",
        3,
        "secret_file no/such/file cannot be read (No such file or directory (os error 2)); \
         correct ",
    ),
    // nodes
    ("name = 'm'\n[node]\nname = 'a'", 2, "node is a table; write it as [[node]]"),
    ("name = 'm'\nnode.name = 'a'", 2, "node is a table; write it as [[node]]"),
    ("name = 'm'\nnode = ['a']", 2, "node holds a string; write it as [[node]]"),
    ("name = 'm'\nnode = 'a'", 2, "node is a string; write it as [[node]]"),
    ("name = 'm'\nnode = []", 1, "the fleet has no node; add a [[node]] with a name"),
    ("name = 'm'\n[[node]]\n\nweight = 1", 2, "required key `name` is missing in [[node]]; add it"),
    ("name = 'm'\n[[node]]\nname = ''", 3, "node name is empty; write 1 to 255 bytes"),
    ("name = 'm'\n[[node]]\nname = 'a,b'", 3, "node name `a,b` has a comma; choose a name without one"),
    ("name = 'm'\n[[node]]\nname = \"a\\u007f\"", 3, "node name `a\\u{7f}` has the control \
        character U+007F; remove it"),
    ("name = 'm'\nNODE\n[[node]]\nname = 'a'", 6, "node name `a` is already used in line 3; names \
        must be unique"),
    ("name = 'm'\n[[node]]\nnmae = 'a'", 3, "unknown key `nmae` in [[node]]; known keys: name, "),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnode = ['a']", 7, "unknown key `node` in [[policy]]"),
    ("name = 'm'\nNODE\n[[pin]]\nkeys = 'p'\nnodes = ['a']", 6, "unknown key `keys` in [[pin]]"),
    ("name = 'm'\nNODE\n[[first]]\nkey = 'p'\nnod = 'a'", 7, "unknown key `nod` in [[first]]"),
    (
        "name = 'm'\nNODE\nwieght = 2",
        5,
        "unknown key `wieght` in [[node]]; known keys: name, weight, labels, attributes, formerly",
    ),
    (
        "name = 'm'\nNODE\nreplicas = 1",
        5,
        "unknown key `replicas` in [[node]]; known keys: name, weight, labels, attributes, formerly; keys of the \
         fleet itself must come before the first [[...]]",
    ),
    (
        "name = 'm'\n[guard]\ncarry = true\nnode = [{name = 'a'}]\n",
        4,
        "unknown key `node` in [guard]; known keys: move, carry, first_map; what stands below the \
         line [guard] belongs to [guard], so move `node` above it",
    ),
    (
        "[guard]\ncarry = true\nname = 'm'\nNODE",
        3,
        "unknown key `name` in [guard]; known keys: move, carry, first_map; what stands below the \
         line [guard] belongs to [guard], so move `name` above it",
    ),
    ("name = 'm'\n[guard]\nmoves = '5%'\nNODE", 3, "unknown key `moves` in [guard]; known keys: move, carry, first_map"),
    ("name = 'm'\nNODE\nweight = 1.0000001", 5, "weight 1.0000001 has 7 places; at most 6 are \
        exact here"),
    ("name = 'm'\nNODE\nweight = 1000000.000001", 5, "weight 1000000.000001 is above 1000000, the \
        largest weight"),
    ("name = 'm'\nNODE\nweight = 1_000_001", 5, "weight 1000001 is above 1000000, the largest \
        weight"),
    ("name = 'm'\nNODE\nweight = 1e3", 5, "weight 1e3 has an exponent; write it out as a plain \
        decimal"),
    ("name = 'm'\nNODE\nweight = .5", 5, "not valid TOML: "),
    ("name = 'm'\nNODE\nweight = +1", 5, "weight +1 has a sign; weights go from 0 to 1000000"),
    ("name = 'm'\nNODE\nweight = -1", 5, "weight -1 has a sign; weights go from 0 to 1000000"),
    ("name = 'm'\nNODE\nweight = nan", 5, "weight nan is not a finite number"),
    ("name = 'm'\nNODE\nweight = inf", 5, "weight inf is not a finite number"),
    ("name = 'm'\nNODE\nweight = 0x10", 5, "weight 0x10 is not a plain decimal number; write \
        digits"),
    ("name = 'm'\nNODE\nweight = 99999999999999999999", 5, "the number is too large; "),
    ("name = 'm'\nNODE\nweight = '1_0'", 5, "weight \"1_0\" is not a plain decimal number"),
    ("name = 'm'\nNODE\nweight = ''", 5, "weight \"\" is not a plain decimal number"),
    ("name = 'm'\nNODE\nweight = false", 5, "weight must be a number, but is true or false; write \
        digits, like 1.5"),
    ("name = 'm'\nNODE\nweight = 0", 1, "no node or policy has a weight above 0; give at least one \
        a weight"),
    (
        "name = 'm'\nNODE\nlabels = ['zone']",
        5,
        "labels must be a table of strings, but is an array; write names and values in braces",
    ),
    ("name = 'm'\nNODE\n[node.labels]\nzone = 1", 6, "label `zone` must be a string, but is a \
        number; write it in quotes"),
    ("name = 'm'\nNODE\nlabels = { zone = '' }", 5, "label `zone` is empty; write 1 to 4095 bytes"),
    ("name = 'm'\nNODE\nlabels = { '' = 'a' }", 5, "label name is empty; write 1 to 4095 bytes"),
    ("name = 'm'\nNODE\nlabels = { \"a\\u001f\" = 'a' }", 5, "label name `a\\u{1f}` has the \
        control character U+001F"),
    ("name = 'm'\nNODE\nlabels.zone.x = 'a'", 5, "label `zone` must be a string, but is a table"),
    ("name = 'm'\nNODE\nattributes = { x = 'a', x = 'b' }", 5, "key `x` is given twice; keep one"),
    ("name = 'm'\nNODE\nattributes = { '' = 'a' }", 5, "attribute name is empty; write 1 to 4095 \
        bytes"),
    ("name = 'm'\nNODE\nattributes.x = \"\\t\"", 5, "attribute `x` `\\t` has the control character \
        U+0009; remove it"),
    ("name = 'm'\nNODE\nformerly = ''", 5, "formerly is empty; write 1 to 255 bytes"),
    ("name = 'm'\nNODE\nformerly = 'a,b'", 5, "formerly `a,b` has a comma"),
    (
        "name = 'm'\nNODE\nformerly = 'b'\n[[node]]\nname = 'b'",
        5,
        "formerly `b` is the name of the node in line 7; rename that node, or drop formerly",
    ),
    (
        "name = 'm'\nNODE\nformerly = 'x'\n[[node]]\nname = 'b'\nformerly = 'x'",
        8,
        "formerly `x` is already used in line 5; only one node can have had this name",
    ),
    // policies
    ("name = 'm'\nNODE\n[policy]\nname = 'p'", 5, "policy is a table; write it as [[policy]]"),
    ("name = 'm'\nNODE\n[[policy]]\nnodes = ['a']", 5, "required key `name` is missing in \
        [[policy]]; add it"),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'", 5, "required key `nodes` is missing in \
        [[policy]]; add it"),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p,q'\nnodes = ['a']", 6, "policy name `p,q` has a \
        comma; choose a name without one"),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = []", 7, "nodes is empty; name at least one \
        node, the primary first"),
    (
        "name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = 'a'",
        7,
        "nodes must be an array of node names, but is a string; write it in brackets",
    ),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a',\n1]", 8, "a name in nodes must be a \
        string, but is a number"),
    (
        "name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a',\n'b']",
        8,
        "node `b` is not in this fleet; add it as a [[node]], or name another",
    ),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a',\n'a']", 8, "node `a` is listed twice in \
        nodes; keep one"),
    (
        "name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a']\n[[policy]]\nname = 'p'\nnodes = \
         ['a']",
        9,
        "policy name `p` is already used in line 6; names must be unique",
    ),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a']\nweight = -1", 8, "weight -1 has a \
        sign"),
    ("name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a']\nkind = 1", 8, "kind must be a \
        string, but is a number"),
    (
        "name = 'm'\nNODE\n[[policy]]\nname = 'p'\nnodes = ['a']\nlabels = 1",
        8,
        "unknown key `labels` in [[policy]]; known keys: name, kind, nodes, weight",
    ),
    (
        "name = 'm'\nNODE\nweight = 0\n[[policy]]\nname = 'p'\nnodes = ['a']\nweight = 0",
        1,
        "no node or policy has a weight above 0",
    ),
    // pins
    ("name = 'm'\nNODE\n[[pin]]\nnodes = ['a']", 5, "a pin needs `key` or `range`; add one of \
        them"),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 'x'", 5, "a pin needs `policy` or `nodes`; add one of them"),
    (
        "name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = ['a']\nrange = ['0%', '1%']",
        8,
        "a pin has either `key` or `range`; remove one of them",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = ['a']\npolicy = 'p'",
        8,
        "a pin has either `nodes` or `policy`; remove one of them",
    ),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 5\nnodes = ['a']", 6, "key must be a string, but is a \
        number"),
    (
        "name = 'm'\nNODE\n[[pin]]\nkey = 'x'\npolicy = 'p'",
        7,
        "policy `p` is not in this fleet; add it as a [[policy]], or name another",
    ),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = ['a']\nshort = 1", 8, "short must be true or \
        false, but is a number; write true, or leave it out"),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = ['a']\nshort = 'true'", 8, "short must be \
        true or false, but is a string; "),
    ("name = 'm'\nNODE\n[[pin]]\nshort = true\nnodes = ['a']", 5, "a pin needs `key` or `range`; "),
    ("name = 'm'\nNODE\nshort = true", 5, "unknown key `short` in [[node]]; "),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = ['b']", 7, "node `b` is not in this fleet; "),
    ("name = 'm'\nNODE\n[[pin]]\nkey = 'x'\nnodes = []", 7, "nodes is empty; "),
    (
        "name = 'm'\nNODE\n[[pin]]\nnodes = ['a']\nkey = 'x'\nnode = ['a']",
        8,
        "unknown key `node` in [[pin]]; known keys: key, range, policy, nodes, short",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nrange = '6%'\nnodes = ['a']",
        6,
        "range must be an array of two percentages, but is a string; write it in brackets",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nrange = ['6%']\nnodes = ['a']",
        6,
        "range must hold two percentages; write it like [\"6%\", \"6.5%\"]",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nrange = ['6%',\n7]\nnodes = ['a']",
        7,
        "a percentage of range must be a string, but is a number; write it in quotes",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nrange = ['6%',\n'7']\nnodes = ['a']",
        7,
        "percentage \"7\" does not end in %; write it like \"6.25%\"",
    ),
    (
        "name = 'm'\nNODE\n[[pin]]\nrange = ['6%', '6%']\nnodes = ['a']",
        6,
        "the first percentage of range must be at least one point",
    ),
    ("name = 'm'\nNODE\n[[pin]]\nrange = ['0%', '0.000000000000000005%']\nnodes = ['a']", 6, "must be at least one point"),
    ("name = 'm'\nNODE\n[[pin]]\nrange = ['100%', '100%']\nnodes = ['a']", 6, "must be at least \
        one point"),
    ("name = 'm'\nNODE\n[[pin]]\nrange = ['7%', '6%']\nnodes = ['a']", 6, "must be at least one \
        point"),
    ("name = 'm'\nNODE\n[[pin]]\nrange = ['7%', '100.1%']\nnodes = ['a']", 6, "percentage \"100.1%\" is above 100%"),
    // several mistakes at once: the first in the file is reported, and syntax before all others
    ("name = 'm'\nnode = [{ name = 'a' }, { nam = 'b' }]\npolicy = 1", 2, "unknown key `nam` in [[node]]; "),
    ("name = 'm'\npolicy = [{ name = 'p', nodes = ['b'] }]\nnode = [{ name = '' }]", 2, "node `b` is not in this fleet"),
    ("name = 'm'\nNODE\nformerly = 'b'\nx = 1\n[[node]]\nname = 'b'", 5, "formerly `b` is the name \
        of the node in line 8"),
    ("nam = 'm'\nweight = \nx = 1", 2, "not valid TOML: "),
    ("nam = 'm'\nNODE\nname = 'b'", 5, "key `name` is given twice"),
    (
        "name = 'm'\nNODE\nlabels = { zone = 'a' }\n[[policy]]\nname = 'p'\nnodes = \
         ['a']\n[node.labels]\nx = 'y'",
        9,
        "key `labels` is given twice",
    ),
    // copies and where they may be placed
    (
        "name = 'm'\nreplicas = 3\nNODE",
        2,
        "replicas = 3 needs 3 nodes with a weight above 0, and there is 1; add 2, or set replicas \
         = 1",
    ),
    (
        "name = 'm'\nreplicas = 3\nNODE\nweight = 0\n[[node]]\nname = 'b'\n[[node]]\nname = 'c'",
        2,
        "replicas = 3 needs 3 nodes with a weight above 0, and there are 2; add 1, or set replicas \
         = 2",
    ),
    ("name = 'm'\nreplicas = 3\nx = 1\nNODE", 3, "unknown key `x`"),
    (
        "name = 'm'\nspread = ['zone', 'rack']\nNODE",
        3,
        "node `a` has no label `zone`, which spread names; add it to its labels, or give it weight \
         0",
    ),
    (
        "name = 'm'\nspread = ['zone', 'rack']\nNODE\nlabels = { zone = 'x', Rack = 'y' }",
        3,
        "node `a` has no label `rack`, which spread names",
    ),
    (
        "name = 'm'\nspread = ['zone']\nNODE\nweight = 0\n[[node]]\nname = 'b'\nweight = 0.5",
        7,
        "node `b` has no label `zone`, which spread names",
    ),
    (
        "name = 'm'\nreplicas = 2\nNODE\n[[node]]\nname = 'b'\n[[policy]]\nname = 'p'\nnodes = \
         ['a']\nweight = 0",
        11,
        "a policy can have a weight only with replicas = 1, but replicas is 2; remove the weight",
    ),
    // mistakes of syntax
    ("name = 'm'\nlabels = {\na = 1}\nNODE", 2, "a line end inside an inline table is not allowed in \
        TOML 1.0; write it in the older way"),
    ("name = 'm", 1, "not valid TOML: "),
    ("name = 'm'\n[[node]\nname = 'a'", 2, "not valid TOML: "),
    ("name = 'm'\nNODE\nlabels = { zone = 'a'\n", 5, "TOML"),
    ("name = 'm'\n- a: b\n", 2, "not valid TOML: "),
];

const JSON: &[Bad] = &[
    ("{}", 1, "required key `name` is missing in the fleet; add it"),
    // half a surrogate pair, in a value, a name, and before a character that is no other half
    ("{\"name\": \"m\",\n\"node\": [{\"name\": \"\\ud83d\"}]}", 2, "not valid JSON: the escape \\ud83d \
        is half of a surrogate pair; write both halves, such as \\ud83d\\ude00, or the character \
        itself"),
    ("{\"name\": \"\\ud83d\\ude00\",\n\"node\": [{\"name\": \"a\",\n\"labels\": {\"\\uDE00\\uD83D\": \
        \"x\"}}]}", 3, "the escape \\uDE00 is half of a surrogate pair; "),
    ("{\"name\": \"m\",\n\"pin\": [{\"key\":\n\"\\ud83d\\u0041\"}]}", 3, "the escape \\ud83d is half"),
    ("{\"name\": \"m\", \"wrong\": 1,\n\"\\ud83d\\\\ude00\": []}", 2, "the escape \\ud83d is half"),
    ("{\"name\": \"m\",\n\"node\": {\"name\": \"a\"}}", 2, "node is an object; write an array of \
        objects, [{...}]"),
    ("{\"name\": \"m\",\n\"node\": [\n\"a\"]}", 3, "node holds a string; write an array of \
        objects, [{...}]"),
    (
        "{\"name\": \"m\",\n\"node\": [{\"name\":\n\"a\", \"wieght\": 1}]}",
        3,
        "unknown key `wieght` in `node`; known keys: name, weight, labels, attributes, formerly",
    ),
    (
        "{\"name\": \"m\",\n\"node\": [{\"name\": \"a\",\n\"hash\": 1}]}",
        3,
        "unknown key `hash` in `node`; known keys: name, weight, labels, attributes, formerly",
    ),
    ("{\"name\": \"m\",\n\"node\": [\n{}]}", 3, "required key `name` is missing in `node`; add it"),
    ("{\"name\": null}", 1, "name must be a string, but is null; write it in quotes"),
    ("{\"name\": \"m\",\n\"name\": \"m\"}", 2, "key `name` is given twice; keep one"),
    (
        "{\"name\": \"m\",\n\"pin\": [{\"key\": \"x\",\n\"nodes\": [\"a\"]}], \"node\": []}",
        3,
        "node `a` is not in this fleet; add it as a `node`, or name another",
    ),
    (
        "{\"name\": \"m\",\n\"pin\": [{\"key\": \"x\",\n\"policy\": \"p\"}], \"node\": []}",
        3,
        "policy `p` is not in this fleet; add it as a `policy`, or name another",
    ),
    ("{\"name\": \"m\",\n\"node\": [{\"name\": \"a\", \"weight\":\n1e3}]}", 3, "weight 1e3 has an \
        exponent"),
    (
        "{\"name\": \"m\",\n\"node\": [{\"name\": \"a\", \"weight\":\n1.0000001}]}",
        3,
        "weight 1.0000001 has 7 places; at most 6 are exact here",
    ),
    (
        "{\"name\": \"m\",\n\"node\": [{\"name\": \"a\", \"weight\":\n99999999999999999999}]}",
        3,
        "weight 99999999999999999999 is above 1000000, the largest weight",
    ),
    ("{\"name\": \"m\",\n\"node\": [{\"name\": \"a\", \"weight\":\n-0}]}", 3, "weight -0 has a \
        sign"),
    ("{\"name\": \"m\",\n\"replicas\": 1e0}", 2, "replicas 1e0 is not a whole number from 1 to \
        255"),
    (
        "{\"name\": \"m\", \"node\": [{\"name\": \"a\"}],\n\"replicas\": 2}",
        2,
        "replicas = 2 needs 2 nodes with a weight above 0, and there is 1; add 1, or set replicas \
         = 1",
    ),
    (
        "{\"name\": \"m\", \"node\": [\n{\"name\": \"a\"}],\n\"spread\": [\"zone\"]}",
        2,
        "node `a` has no label `zone`, which spread names",
    ),
    (
        "{\"name\": \"m\", \"node\": [{\"name\": \"a\"}, {\"name\": \"b\"}],\n\"policy\": [{\"name\": \"p\", \"nodes\": [\"a\"],\n\"weight\": 1}],\n\"replicas\": 2}",
        3,
        "a policy can have a weight only with replicas = 1, but replicas is 2",
    ),
    ("{\"name\": \"m\",\n\"spread\": [\"zone\", \"rack\",\n\"zone\"]}", 3, "label `zone` is \
        listed twice in spread; keep one"),
    ("{\"name\": \"m\",\n\"spread\": [\"\"], \"node\": []}", 2, "a label of spread is empty; write \
        1 to 4095 bytes"),
    ("{\n\"name\": \"m\", \"node\": []}", 1, "the fleet has no node; add a `node` with a name"),
    ("\n\n{\"node\": []}", 3, "required key `name` is missing in the fleet"),
    ("{\"name\": \"m\", // x\n\"node\": []}", 1, "not valid JSON: key must be a string; write \
        names in double quotes, no comma before }; JSON has no comments"),
    ("{\"name\": \"m\",\n\"node\": [],\n}", 3, "not valid JSON: key must be a string; write names \
        in double quotes, no comma before }"),
    ("{\"nam\": 1,\n\"node\": [}", 2, "not valid JSON: "),
    ("{\"name\": \"m\"", 1, "not valid JSON: EOF while parsing an object; something is not closed"),
    ("{\"name\": \"m\ny\"}", 1, "not valid JSON: control character"),
    ("{\"name\": \"m\"}\n\n{}", 3, "not valid JSON: trailing characters; a fleet is one object"),
    ("[]", 1, "not a fleet in JSON; write one object"),
    ("name = 'm'", 1, "not valid JSON: "),
];

fn check(text: &str, file: &str, line: usize, words: &str) {
    let text = text.replace("NODE", "[[node]]\nname = 'a'\n");
    // every line end may be CRLF
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let error = match Fleet::parse(&text, file) {
            Ok(_) => panic!("taken for a fleet:\n{text}"),
            Err(error) => error,
        };
        let message = error.to_string();
        let start = format!("{file}:{line}: ");
        assert!(
            message.starts_with(&start) && message.contains(words),
            "{message}\nshould be {start}{words}\n{text}"
        );
        assert!(!message.contains(['\n', '\r']), "{message}");
        match error {
            Error::Fleet { .. } => {
                let advises = message[start.len()..].contains([';', '?']);
                assert!(advises, "does not say what to do: {message}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn every_mistake_in_toml_is_reported_with_its_line() {
    assert!(TOML.len() >= 60);
    for (text, line, words) in TOML {
        check(text, "fleet.toml", *line, words);
    }
}

#[test]
fn every_mistake_in_json_is_reported_with_its_line() {
    for (text, line, words) in JSON {
        check(text, "fleet.json", *line, words);
    }
}

#[test]
fn one_byte_more_than_the_longest_is_refused() {
    let (name, text) = ("x".repeat(256), "y".repeat(4096));
    for (fleet, line, words) in [
        (
            format!("name = '{name}'\nNODE"),
            1,
            "name has 256 bytes; at most 255 are allowed",
        ),
        (
            format!("name = 'm'\nNODE\n[[node]]\nname = '{name}'"),
            6,
            "node name has 256 bytes; at most 255 are allowed",
        ),
        (
            format!("name = 'm'\nNODE\nformerly = '{name}'"),
            5,
            "formerly has 256 bytes; at most 255 are allowed",
        ),
        (
            format!("name = 'm'\nNODE\nlabels.x = '{text}'"),
            5,
            "label `x` has 4096 bytes; at most 4095 are allowed",
        ),
        (
            format!("name = 'm'\nNODE\nlabels.{text} = 'x'"),
            5,
            "label name has 4096 bytes; at most 4095 are allowed",
        ),
        (
            format!("name = 'm'\nNODE\nattributes.x = '{text}'"),
            5,
            "attribute `x` has 4096 bytes; at most 4095",
        ),
        (
            format!("name = 'm'\nNODE\nattributes.{text} = 'x'"),
            5,
            "attribute name has 4096 bytes; at most 4095",
        ),
        (
            format!("name = 'm'\nNODE\n[[policy]]\nnodes = ['a']\nname = '{name}'"),
            7,
            "policy name has 256 bytes",
        ),
        (
            format!("name = 'm'\nNODE\n[[policy]]\nnodes = ['a']\nname = 'p'\nkind = '{name}'"),
            8,
            "kind has 256 bytes",
        ),
        (
            format!("name = 'm'\nspread = [\n'{text}']\nNODE"),
            3,
            "a label of spread has 4096 bytes; at most 4095",
        ),
    ] {
        check(&fleet, "f", line, words);
    }
}

#[test]
fn what_the_user_wrote_is_shown_short_and_in_one_line() {
    let long = "z".repeat(100_000);
    for text in [
        format!("name = 'm'\n{long} = 1"),
        format!("name = 'm'\n{long} = 1\n{long} = 1"),
        format!("name = 'm'\n[[node]]\nname = '{}'\nweight = '{long}'", "a"),
        format!("name = 'm'\nreplicas = 1.{}", "1".repeat(100_000)),
        format!("name = 'm'\nhash = '{long}'"),
        format!("name = 'm'\n\"a\\nb\\u2028\" = '{long}'"),
    ] {
        let message = Fleet::parse(&text, "f").unwrap_err().to_string();
        assert!(
            message.len() < 300 && !message.contains(['\n', '\u{2028}']),
            "{message}"
        );
    }
}

#[test]
fn spread_names_at_most_16_labels() {
    let spread = |levels: usize| {
        let labels: Vec<String> = (0..levels).map(|i| format!("'l{i}',\n")).collect();
        let of_node: Vec<String> = (0..levels).map(|i| format!("l{i} = 'x'")).collect();
        format!(
            "name = 'm'\nspread = [\n{}]\nNODE\nlabels = {{ {} }}",
            labels.concat(),
            of_node.join(", ")
        )
    };
    let fleet = Fleet::parse(&spread(16).replace("NODE", "[[node]]\nname = 'a'\n"), "f").unwrap();
    assert_eq!((fleet.spread.len(), fleet.spread[15].as_str()), (16, "l15"));
    // the label that is one too many stands in its own line
    check(
        &spread(17),
        "f",
        19,
        "spread names more than 16 labels; name fewer",
    );
}

#[test]
fn the_status_of_a_mistake_is_that_of_the_list() {
    let status = |text: &str| Fleet::parse(text, "f").unwrap_err().status();
    assert_eq!(
        status("name = 'm'\nreplicas = 2\n[[node]]\nname = 'a'"),
        Status::Fleet
    );
    assert_eq!(status("name = 'm'\nreplicas = 0"), Status::Fleet);
}
