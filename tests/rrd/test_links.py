"""A server whose files are partly behind links: rrdcached follows them, and what moves
files does not. So nothing moves, and nothing is said to be done, before they are gone.
"""

import os
import subprocess

import pytest
from rrd_servers import Client, wait_for
from test_repairs import create, lacking, names, status, update


def run(cluster, *words):
    """Runs a verb of the router's program. Returns its exit code and its output."""
    done = subprocess.run(
        [cluster.programs["stead-rrd"], *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_move_does_not_leave_files_behind_links(cluster, by_agent):
    server = cluster.backends["b2"]
    if by_agent:
        server.start_agent(cluster.programs)
        cluster.publish()
        wait_for(
            lambda: status(cluster)[0]["epoch"] == 2, "the router to know the agent"
        )
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    mine = [name for name, at in cluster.located(names()).items() if "b2" in at]
    # one directory has been taken to another disk; the other links hide nothing
    linked = server.base / os.path.dirname(mine[0])
    wait_for(linked.exists, "both copies of the file")
    elsewhere = cluster.place / "elsewhere"
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    (server.base / "broken").symlink_to("nowhere")
    (cluster.backends["a1"].base / "README").symlink_to("/etc/passwd")
    update(cluster, range(1, 11))
    cluster.publish(["a1", "a2", "b1"])
    code, said = run(cluster, "move", cluster.state)
    assert code == 1 and "not done" in said, said
    assert (
        f"on b2, {linked.name} is a link or a directory that is nested too deep" in said
    ), said
    # nothing has moved, and everything can be read and written where it is
    assert all((server.base / name).exists() for name in mine)
    update(cluster, range(11, 16))
    assert not status(cluster)[1]
    linked.unlink()
    elsewhere.rename(linked)
    wait_for(lambda: run(cluster, "move", cluster.state)[0] == 0, "the move to be done")
    assert not any((server.base / name).exists() for name in mine)
    assert lacking(cluster, range(1, 16)) == 0


def test_a_repair_says_what_it_did_not_see(cluster):
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    base = cluster.backends["a1"].base
    for at in range(3):
        (base / f"link{at}").symlink_to(cluster.place)
    code, said = run(cluster, "repair", cluster.state, "b1")
    assert code == 1, said
    assert "on a1, 3 entries, such as link" in said, said
    for at in range(3):
        (base / f"link{at}").unlink()
    code, said = run(cluster, "repair", cluster.state, "b1")
    assert code == 0, said


@pytest.mark.parametrize("by_agent", [False, True])
def test_a_check_says_what_it_did_not_see(cluster, by_agent):
    server = cluster.backends["a1"]
    if by_agent:
        server.start_agent(cluster.programs)
        cluster.publish()
        wait_for(
            lambda: status(cluster)[0]["epoch"] == 2, "the router to know the agent"
        )
    with Client(cluster.unix) as client:
        for name in names():
            assert create(client, name).startswith(b"0 ")
    links = [server.base / "link", server.base / "host00-link"]
    for link in links:
        link.symlink_to(cluster.place)
    deep = server.base / "/".join(["deep"] * 32)
    deep.mkdir(parents=True)
    code, said = run(cluster, "check", cluster.state)
    assert code == 1 and "not compared: on a1, 3 entries, such as " in said, said
    for link in links:
        link.unlink()
    code, said = run(cluster, "check", cluster.state)
    assert code == 1 and "not compared: on a1, deep/deep/" in said, said
    deep.rmdir()
    code, said = run(cluster, "check", cluster.state)
    assert code == 0 and "all copies are equal" in said, said
