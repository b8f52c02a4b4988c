"""The class Cache of examples/adopt in PHP, Perl, Python and C, in processes that fork and in
threads: each of them must have connections of its own. Otherwise a process reads the answers to
the questions of another one.
"""

import socket
import subprocess
import threading

import built
import pytest
import rings
from rings import PATIENCE
from test_adopt_examples import (  # noqa: F401  fixtures
    EXAMPLES,
    KEYS,
    program,
    servers,
    site,
    started,
)
from test_cache_in_c import FLAGS, compiled  # noqa: F401  a fixture

DRIVER = rings.ROOT / "tests" / "rings" / "cache_forks.c"
# A parent sets all items and forks four children. Two of them read with the parent's Cache, two
# with one of their own. A child complains and ends at the first value that is not the one that was
# set. Then the parent reads all items: no child may have closed its connections.
FORKS = (
    """
    $c = new Cache('shop.map');
    for ($i = 0; $i < 400; $i++) $c->set("item/$i", "value $i");
    for ($n = 0; $n < 4; $n++) {
        if (pcntl_fork()) continue;
        $own = $n % 2 ? $c : new Cache('shop.map');
        mt_srand($n);
        for ($t = 0; $t < 2000; $t++) {
            $i = mt_rand(0, 399);
            $got = $own->get("item/$i");
            if ($got !== "value $i") { echo "item/$i: ", $got ?? 'miss', "\n"; exit(1); }
        }
        exit(0);
    }
    for ($n = 0; $n < 4; $n++) pcntl_wait($status);
    if (!$c->set('item/1', 'value 1')) echo "the parent cannot set\n";
    for ($i = 0; $i < 400; $i++) if ($c->get("item/$i") !== "value $i") echo "the parent misses item/$i\n";
    """,
    """
    my $c = Cache->new(map => 'shop.map');
    $c->set("item/$_", "value $_") for 0 .. 399;
    for my $n (0 .. 3) {
        next if fork;
        my $own = $n % 2 ? $c : Cache->new(map => 'shop.map');
        srand $n;
        for (1 .. 2000) {
            my $i = int rand 400;
            my $got = $own->get("item/$i") // 'miss';
            if ($got ne "value $i") { print "item/$i: $got\n"; exit 1 }
        }
        exit 0;
    }
    wait for 0 .. 3;
    for (0 .. 399) { print "the parent misses item/$_\n" if ($c->get("item/$_") // '') ne "value $_" }
    """,
    """
import os, random
c = Cache('shop.map')
for i in range(400): c.set(f'item/{i}', f'value {i}')
for n in range(4):
    if os.fork(): continue
    own = c if n % 2 else Cache('shop.map')
    random.seed(n)
    for _ in range(2000):
        i = random.randrange(400)
        got = own.get(f'item/{i}')
        if got != b'value %d' % i:
            print(f'item/{i}: {got}', flush=True)
            os._exit(1)
    sys.exit(0)
for _ in range(4): os.wait()
for i in range(400):
    if c.get(f'item/{i}') != b'value %d' % i: print(f'the parent misses item/{i}')
""",
)


def connections(site):  # noqa: F811
    """Returns how many connections the servers have accepted so far."""
    count = 0
    for address in site.addresses:
        host, port = address.split(":")
        with (
            socket.create_connection((host, int(port)), PATIENCE) as connection,
            connection.makefile("rb") as answer,
        ):
            connection.sendall(b"stats\r\n")
            lines = dict(
                line.decode().split()[1:3] for line in iter(answer.readline, b"END\r\n")
            )
            count += int(lines["total_connections"])
    return count


def test_a_child_has_connections_of_its_own_and_leaves_the_parents(site, program):  # noqa: F811
    assert len(KEYS) == 400
    site.draw(4)
    before = connections(site)
    assert program(*FORKS) == (0, "", "")
    # those of the parent, of four children and of this test; the end of a child costs php's parent
    # its connections, which it opens again
    assert 5 * 4 + 4 <= connections(site) - before <= 6 * 4 + 4


def test_a_child_in_c_has_connections_of_its_own(site, compiled, tmp_path):  # noqa: F811
    site.draw(4)
    forks = tmp_path / "forks"
    libstead = f"{built.libraries()}/libstead.so"
    words = ["cc", *FLAGS, DRIVER, f"-I{rings.ROOT}/include", libstead, "-lmemcached"]
    words += [f"-Wl,-rpath,{compiled['cache'].parent}", "-o", forks]
    rings.output([str(word) for word in words])
    before = connections(site)
    done = subprocess.run(
        [forks, site.map], capture_output=True, timeout=PATIENCE, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert connections(site) - before == 5 * 4 + 4


def test_threads_in_python_do_not_share_connections(site, monkeypatch):  # noqa: F811
    pytest.importorskip("pymemcache")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    from cache import Cache

    site.draw(4)
    shared, wrong = Cache(site.map), []
    for key in KEYS:
        shared.set(key, key)

    def work(number):
        own = Cache(site.map) if number % 2 else shared
        for count in range(3000):
            key = KEYS[(count * 7 + number * 100) % len(KEYS)]
            try:
                # every third time it sets what is there
                found = own.set(key, key) if count % 3 == 0 else own.get(key)
                if found not in (True, key.encode()):
                    wrong.append((key, found))
            except Exception as error:  # noqa: BLE001  what a thread raises is lost
                wrong.append((key, error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [], f"{len(wrong)} wrong answers, such as {wrong[:3]}"
