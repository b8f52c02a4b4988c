"""PHP's own sessions: the class Sessions of examples/adopt, beside php-memcached's own handler, with
real servers.
"""

import os
import re
import subprocess

import pytest
from rings import PATIENCE, ROOT, output, stead, works
from test_adopt_examples import EXAMPLES, servers, site  # noqa: F401  fixtures

# 15 of 16 of them are never at the same server by chance
COUNT = 200
# one after the other waits for this long for the other's lock, in milliseconds
LOCKS = ["memcached.sess_lock_wait_min=1", "memcached.sess_lock_wait_max=5"]
LOCKS += ["memcached.sess_lock_retries=10000"]

OLD = """
ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', $argv[1]);
"""
NEW = f"""
require '{EXAMPLES}/sessions.php';
session_set_save_handler(new Sessions($argv[1], back: (int) ($argv[2] ?? 0)), true);
"""
IDS = "array_map(fn ($i) => md5('session ' . $i), range(1, COUNT))"
WRITE = """
foreach (IDS as $id) {
    session_id($id);
    session_start();
    // php-memcached compresses values of this length, and its sessions never
    $_SESSION = ['name' => "Späti", 'is' => $id, 'long' => str_repeat('a', 3000)];
    session_write_close();
}
"""
# the sessions that are there as they were written
READ = """
$found = 0;
foreach (IDS as $id) {
    session_id($id);
    session_start();
    $found += $_SESSION === ['name' => "Späti", 'is' => $id, 'long' => str_repeat('a', 3000)];
    session_write_close();
}
echo $found;
"""
ADD = """
for ($turn = 0; $turn < TURNS; $turn++) {
    session_id('counter');
    session_start();
    $_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
    usleep(200);
    session_write_close();
}
"""
TURNS = 300
COUNTED = "session_id('counter'); session_start(); echo $_SESSION['count'];"


def php(code, *arguments, settings=()):
    """Returns the words that run PHP code, and its environment."""
    import built

    settings = ["session.use_cookies=0", "session.cache_limiter=", *LOCKS, *settings]
    settings += ["display_errors=1", "log_errors=0"]
    code = code.replace("IDS", IDS).replace("COUNT", str(COUNT))
    code = code.replace("TURNS", str(TURNS))
    words = ["php", *(word for one in settings for word in ("-d", one))]
    library = f"{built.libraries()}/libstead.so"
    env = dict(os.environ, STEAD_LIBRARY=library)
    return [*words, "-r", code, "--", *map(str, arguments)], env


def run(*given, **more):
    """Runs PHP code and returns what it prints, which must not be a complaint."""
    words, env = php(*given, **more)
    said = output(words, env=env).decode()
    assert "Warning" not in said, said
    return said


@pytest.fixture(autouse=True)
def needed():
    probe = "exit((int) !(extension_loaded('memcached') && extension_loaded('FFI')));"
    if not works("php", "-r", probe):
        pytest.skip("php with memcached and FFI is not installed")


def of_the_page():
    """{setting: the words of the ring}, from docs/php.md."""
    page = (ROOT / "docs" / "php.md").read_text()
    rows = re.findall(
        r"^ *\| `(memcached\.\S+ = \S+)` +\| `([^`]+)`", page, re.MULTILINE
    )
    assert len(rows) == 3
    return rows


def drawn(site, ring="libmemcached --set mode=consistent", count=4):  # noqa: F811
    """Draws the map of the first servers; returns the setting that names these to PHP."""
    listed = site.directory / "servers.txt"
    listed.write_text("".join(f"{one}\n" for one in site.addresses[:count]))
    kind, *settings = ring.split()
    made = ["-o", site.map, "--fleet", site.fleet, "--weights", "shares"]
    stead("ring", kind, listed, *settings, *made)
    return ",".join(site.addresses[:count])


@pytest.mark.parametrize("setting, ring", of_the_page())
def test_both_handlers_have_the_same_sessions_at_the_same_servers(site, setting, ring):  # noqa: F811
    path, setting = drawn(site, ring), [setting.replace(" ", "")]
    run(OLD + WRITE, path, settings=setting)
    first = set(site.items())
    assert len(first) == COUNT
    assert int(run(NEW + READ, site.map)) == COUNT
    site.empty()
    run(NEW + WRITE, site.map)
    assert set(site.items()) == first, "keys, servers, and no locks left"
    assert int(run(OLD + READ, path, settings=setting)) == COUNT


def test_with_another_ring_sessions_are_not_found(site):  # noqa: F811
    """The control."""
    path = drawn(site, "libmemcached")
    run(OLD + WRITE, path)
    assert int(run(NEW + READ, site.map)) < COUNT / 2


@pytest.mark.parametrize("locking", ["1", "0"])
def test_a_session_that_both_handlers_want_is_locked(site, locking):  # noqa: F811
    """Without locks, which is the control, both overwrite what the other has counted."""
    path = drawn(site)
    settings = [f"memcached.sess_locking={locking}"]
    at_once = []
    for handler, place in ((OLD, path), (NEW, site.map), (NEW, site.map)):
        words, env = php(handler + ADD, place, settings=settings)
        at_once.append(
            subprocess.Popen(
                words, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
        )
    for one in at_once:
        said, _ = one.communicate(timeout=PATIENCE)
        assert (one.returncode, said) == (0, b"")
    counted = int(run(NEW + COUNTED, site.map))
    assert (counted == 3 * TURNS) == (locking == "1"), counted


def test_nobody_is_logged_out_while_servers_are_added_and_removed(site):  # noqa: F811
    drawn(site, count=2)
    run(NEW + WRITE, site.map)
    site.grow()
    moved = COUNT - int(run(NEW + READ, site.map))
    assert moved > COUNT / 4, "the control"
    run(NEW + WRITE, site.map, 1)
    text = site.fleet.read_text()
    leaving = f'[[node]]\nname = "{site.addresses[0]}"\n'
    assert leaving in text
    site.fleet.write_text(text.replace(leaving, ""))
    stead("apply", site.fleet, site.map)
    assert int(run(NEW + READ, site.map, 1)) == COUNT
    # all are at their new servers now
    assert int(run(NEW + READ, site.map)) == COUNT


def test_a_server_fails_and_nobody_is_logged_out_who_has_two_copies(site):  # noqa: F811
    drawn(site)
    site.copy(replicas=2)
    run(NEW + WRITE, site.map)
    items = set(site.items())
    assert len(items) == 2 * COUNT
    # nobody listens there
    gone = site.addresses[0]
    text = site.fleet.read_text()
    assert gone in text
    site.fleet.write_text(
        text.replace(
            f'[[node]]\nname = "{gone}"\n',
            f'[[node]]\nname = "{gone}"\nattributes = {{ address = "127.0.0.1:1" }}\n',
        )
    )
    stead("apply", site.fleet, site.map)
    assert int(run(NEW + READ, site.map)) == COUNT


def test_a_session_that_nobody_has_begun_is_not_taken_in_strict_mode(site):  # noqa: F811
    drawn(site)
    begin = "session_id('chosen'); session_start(); echo session_id();"
    settings = ["session.use_strict_mode=1"]
    assert run(NEW + begin, site.map) == "chosen"
    assert run(NEW + begin, site.map, settings=settings) == "chosen"
    run(NEW + "session_id('chosen'); session_start(); session_destroy();", site.map)
    assert run(NEW + begin, site.map, settings=settings) != "chosen"


def test_a_session_that_stays_locked_is_told(site):  # noqa: F811
    drawn(site)
    hold = (
        "session_id('held'); session_start(); flush(); posix_kill(posix_getpid(), 9);"
    )
    words, env = php(NEW + hold, site.map)
    subprocess.run(words, env=env, check=False, timeout=PATIENCE)
    words, env = php(
        NEW + "session_id('held'); session_start();",
        site.map,
        settings=["memcached.sess_lock_retries=2"],
    )
    said = output(words, env=env).decode()
    assert "the session is locked by another request" in said
