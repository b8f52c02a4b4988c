"""The clients answer, a second run gives the same answers, and clients that are known
to agree do.
"""

import sys

import agreement
import clients
import fleet
import pytest
from clients import CLIENTS, Client

BY_MODE = {(client.program, client.mode): client for client in CLIENTS}


def test_every_row_is_one_of_a_kind():
    assert len(BY_MODE) == len(CLIENTS) == len({client.label for client in CLIENTS})


@pytest.mark.parametrize(
    "client", [c for c in CLIENTS if not c.random], ids=lambda client: client.label
)
def test_a_client_uses_every_server_and_answers_the_same_in_a_second_process(
    client, asked, servers
):
    first = asked(client)
    # clients.ask has checked that each answer is a server
    assert set(first) == set(servers)
    assert asked(client, again=True) == first


@pytest.mark.parametrize(
    "client", [c for c in CLIENTS if c.random], ids=lambda client: client.label
)
def test_a_client_that_draws_its_points_at_random_is_found_out(client, asked):
    """The control of the test above."""
    assert asked(client, again=True) != asked(client)


# groups of clients that are known to follow the same rule
ALIKE = {
    "libmemcached, weighted": [
        ("libmemcached", "weighted"),
        ("php.php", "memcached-ketama"),
        ("perl.pl", "libmemcached-ketama"),
        ("python.py", "pylibmc-ketama-weighted"),
        ("nutcracker.py", "ketama-md5"),
    ],
    "libmemcached, modula": [
        ("libmemcached", "modula"),
        ("php.php", "memcached"),
        ("perl.pl", "libmemcached"),
        ("python.py", "pylibmc"),
    ],
    "libmemcached, ketama": [
        ("libmemcached", "ketama"),
        ("php.php", "memcached-consistent"),
        ("python.py", "pylibmc-ketama"),
    ],
    "Cache::Memcached": [
        ("perl.pl", "cache-memcached"),
        ("perl.pl", "fast"),
        ("python.py", "python-memcached"),
        ("nginx.py", "modulo"),
    ],
    "nginx, consistent": [("nginx.py", "consistent"), ("perl.pl", "fast-ketama-160")],
}


@pytest.mark.parametrize(
    ("one", "other"),
    [(members[0], other) for members in ALIKE.values() for other in members[1:]],
    ids="=".join,
)
def test_clients_of_one_rule_agree_on_every_key(one, other, asked):
    assert (
        agreement.differing(
            {"one": asked(BY_MODE[one]), "other": asked(BY_MODE[other])}
        )
        == []
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("libmemcached", "weighted"), ("libmemcached", "ketama")),
        (("php.php", "memcached-ketama"), ("php.php", "memcached-consistent")),
    ],
    ids="/".join,
)
def test_clients_of_two_rules_do_not(one, other, asked, keys):
    """The control of the test above."""
    ((_, wrong, _),) = agreement.differing(
        {"one": asked(BY_MODE[one]), "other": asked(BY_MODE[other])}
    )
    assert wrong > len(keys) / 2


@pytest.mark.parametrize(("port", "alike"), [(11211, False), (11212, True)])
def test_libmemcached_leaves_the_default_port_out_of_the_name_that_it_hashes(
    port, alike, keys
):
    """So its ketama agrees with uhashring's, except for the port that everybody
    uses.
    """
    servers = [f"10.0.0.{last}:{port}" for last in range(1, 11)]
    try:
        found = [
            clients.ask(BY_MODE[mode], servers, keys)
            for mode in (
                ("libmemcached", "weighted"),
                ("python.py", "uhashring-ketama"),
            )
        ]
    except clients.Lacking as why:
        pytest.skip(str(why))
    assert (found[0] == found[1]) is alike


# ---- invented programs: a client's mistake must not become a figure in the table

ANSWERS = {
    "a server that is none": (
        "import sys; [print('10.9.9.9:1') for _ in range(3)]",
        "which is no server",
    ),
    "an answer too few": ("print('a:1'); print('a:1')", "2 answers to 3 keys"),
    "no answer for a key": (
        "print('a:1'); print(); print('a:1')",
        "which is no server",
    ),
    "a failure": ("import sys; sys.exit('out of order')", "ended with 1: out of order"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_that_is_wrong_is_an_error(what, monkeypatch):
    program, message = ANSWERS[what]
    monkeypatch.setattr(
        clients, "command_of", lambda client: [sys.executable, "-c", program]
    )
    with pytest.raises(RuntimeError, match=message):
        clients.ask(
            Client("Made", "up", "x.py", "x"), ["a:1", "b:2"], [b"x", b"y", b"z"]
        )


def test_a_client_that_is_not_installed_says_what_is_lacking(monkeypatch):
    monkeypatch.setattr(
        clients,
        "command_of",
        lambda client: [
            sys.executable,
            "-c",
            "import sys; sys.stderr.write('no x here\\n'); sys.exit(77)",
        ],
    )
    with pytest.raises(clients.Lacking, match="^no x here$"):
        clients.ask(Client("Made", "up", "x.py", "x"), ["a:1"], [b"x"])


def test_memcacheds_that_were_started_end(keys):
    with fleet.memcacheds() as servers:
        if servers is None:
            pytest.skip("memcached is not installed, or cannot listen on port 11211")
        assert len(set(servers)) == 10
        pids = [fleet.process_that_answers(server) for server in servers]
        assert all(pids) and len(set(pids)) == 10
    assert all(fleet.process_that_answers(server) not in pids for server in servers)
