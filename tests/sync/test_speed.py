"""How soon a push arrives, what a watcher costs, and a map of 29 MB. The figures are
printed; none is asserted.
"""

import os
import resource
import statistics
import time
from pathlib import Path

from sync_servers import wait_for
from sync_site import verify

MANY = 100


def arrivals(site, anna, hosts, nodes):
    """Pushes an epoch, and returns after how many seconds each host had it."""
    anna.apply(*nodes)
    number = len(nodes)
    began = time.monotonic()
    push = anna.start_push()
    late = dict.fromkeys(hosts)
    pushed = None
    while pushed is None or not all(late.values()):
        now = time.monotonic()
        if pushed is None and push.poll() is not None:
            pushed = now
        for host in hosts:
            if not late[host] and host.epoch() == number:
                late[host] = now - began
        assert now - began < 120
        time.sleep(0.002)
    assert push.returncode == 0, push.communicate()
    push.communicate()
    return pushed - began, sorted(late.values())


def test_seconds_from_push_to_watch(site, record_property):
    anna = site.operator()
    anna.apply("n1")
    anna.push()
    hosts = [site.host("h0")]
    hosts[0].wait(1)
    nodes = ["n1"]
    times = []
    for n in range(2, 7):
        nodes.append(f"n{n}")
        times += arrivals(site, anna, hosts, nodes)[1]
    told = f"median {statistics.median(times):.3f}, worst {max(times):.3f}"
    record_property("seconds from the start of a push to the map at 1 watcher:", told)


def test_seconds_from_push_to_a_hundred_watchers(site, record_property):
    anna = site.operator()
    anna.apply("n1")
    anna.push()
    hosts = [site.host(f"h{n}") for n in range(MANY)]
    for host in hosts:
        host.wait(1)
    wait_for(lambda: len(site.status()) == MANY, "all to be registered")
    nodes = ["n1"]
    medians, worst = [], []
    for n in range(2, 5):
        nodes.append(f"n{n}")
        _, times = arrivals(site, anna, hosts, nodes)
        medians.append(statistics.median(times))
        worst.append(times[-1])
    done = site.sync("wait", site.url, "--epoch", str(len(nodes)))
    assert done.stdout.startswith(f"{MANY} hosts have"), done
    told = f"median {statistics.median(medians):.3f}, worst {max(worst):.3f}"
    record_property(
        f"seconds from the start of a push to the map at {MANY} watchers "
        f"({os.cpu_count()} cores for all of them):",
        told,
    )


def test_an_idle_watcher_uses_next_to_no_processor(site, record_property):
    anna = site.operator()
    anna.apply("n1")
    anna.push()
    hosts = [site.host(f"h{n}") for n in range(3)]
    for host in hosts:
        host.wait(1)
        site.wait_state(host.name, "current")
    before = [host.cpu() for host in hosts]
    began = time.monotonic()
    # at etcd with a heartbeat of each, which comes every 10 s
    time.sleep(10.5 if site.cluster else 4)
    seconds = time.monotonic() - began
    used = sum(host.cpu() for host in hosts) - sum(before)
    record_property(
        "processor seconds of an idle watcher, in an hour:",
        f"{used / len(hosts) / seconds * 3600:.1f}",
    )


def test_a_map_of_29_mb(site, record_property):
    anna = site.operator()
    # 7,200 attributes of 4,000 bytes
    names = ", ".join(f"a{i} = '{'x' * 4000}'" for i in range(8))
    nodes = [f"n{i:04}" for i in range(900)]
    anna.apply(*nodes, attributes=f"attributes = {{ {names} }}\n")
    size = anna.map.stat().st_size
    assert size > 28e6
    host = site.host("web1")
    wait_for(lambda: "the hub has no map yet" in host.said(), "the watch to wait")
    began = time.monotonic()
    push = anna.start_push()
    wait_for(lambda: host.epoch() == 1 or push.poll(), "the map")
    arrived = time.monotonic() - began
    assert push.wait() == 0, push.communicate()
    push.communicate()
    assert host.map.read_bytes() == anna.bytes()
    verify(site, host.map)
    site.wait_state("web1", "current", epoch=1)
    pages = int(Path(f"/proc/{host.process.pid}/statm").read_text().split()[1])
    record_property(
        f"a map of {size / 1e6:.1f} MB: seconds from the start of the push to the map at the "
        "watcher; MB of the watcher:",
        f"{arrived:.2f}; {pages * resource.getpagesize() / 1e6:.0f}",
    )
