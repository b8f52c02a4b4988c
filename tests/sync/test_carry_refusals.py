"""What `stead-sync carry` refuses: to go on without hosts that it knows, and to remove
what a program that does not follow the map has written.
"""

from carry_site import Carry

KEYS = [f"key{n:03}" for n in range(120)]
NEW = ("a", "b", "c", "d")


def test_a_carry_does_not_go_on_without_the_hosts_of_a_hub_that_lost_everything(site):
    carry = Carry(site, KEYS)
    carry.fill()
    hosts = [site.host(f"web{n}") for n in (1, 2, 3)]
    for host in hosts:
        host.wait(1)
    # forgotten before the carry, and in its first state
    hosts.pop().stop()
    assert site.sync("forget", site.url, "web3").returncode == 0
    carry.begin(*NEW)
    late = site.host("late")
    late.wait(1)
    assert carry.run("--until", "old").returncode == 0
    late.stop()
    assert site.sync("forget", site.url, "late").returncode == 0
    assert carry.run("--until", "both_old_first").returncode == 0
    before = carry.copies()
    # the hosts are down, and the hub is set up anew
    for host in hosts:
        host.stop()
    site.lose()
    empty = carry.run()
    assert empty.returncode == 66 and "this hub has no map" in empty.stderr
    assert site.sync("forget", site.url, "web1").returncode == 66
    assert carry.anna.push("--allow", "first").returncode == 0
    for _ in range(2):
        lost = carry.run()
        assert (lost.returncode, carry.state()) == (69, "both_old_first"), lost
        told = (
            "the hub has lost 2 hosts that had confirmed epoch 3: web1, web2; the carry"
        )
        assert told in lost.stderr, lost.stderr
        assert f"`stead-sync forget {site.url} web1`" in lost.stderr
    assert carry.copies() == before
    # one is back, and the other one is gone for good
    hosts[1].start()
    hosts[1].wait(3)
    alone = carry.run()
    assert (alone.returncode, carry.state()) == (69, "both_old_first"), alone
    assert "1 host that had confirmed epoch 3: web1;" in alone.stderr, alone.stderr
    gone = site.sync("forget", site.url, "web1")
    assert gone.returncode == 0
    assert "web1 is not registered, and the open carry does not wait" in gone.stdout
    done = carry.run()
    assert (done.returncode, carry.state()) == (0, None), done.stderr
    carry.judge()
    assert site.sync("forget", site.url, "web9").returncode == 66
