"""PHP's own sessions: the class Sessions of examples/adopt, beside php-memcached's own handler, with
real servers.
"""

import os
import re
import subprocess
import time
from hashlib import md5

import pytest
from rings import PATIENCE, ROOT, output, stead, works
from test_adopt_examples import EXAMPLES, servers, site  # noqa: F401  fixtures
from test_cache_carry import next_state

# How many sessions there are: a wrong rule does not place so many of them right by chance.
COUNT = 200
# A request tries to lock a session again after so many milliseconds, and gives up after so many
# tries.
LOCKS = ["memcached.sess_lock_wait_min=1", "memcached.sess_lock_wait_max=5"]
LOCKS += ["memcached.sess_lock_retries=10000"]

OLD = """
ini_set('session.save_handler', 'memcached');
ini_set('session.save_path', $argv[1]);
"""
NEW = f"""
require '{EXAMPLES}/sessions.php';
// patience for a busy machine
$options = [Memcached::OPT_CONNECT_TIMEOUT => 60000, Memcached::OPT_POLL_TIMEOUT => 60000];
session_set_save_handler(new Sessions($argv[1], (int) ($argv[2] ?? 0), options: $options), true);
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
# begins when all others are there, too
ADD = """
echo "ready\\n";
fgets(STDIN);
for ($turn = 0; $turn < TURNS; $turn++) {
    session_id(KEY);
    session_start();
    $_SESSION['count'] = ($_SESSION['count'] ?? 0) + 1;
    usleep(200);
    session_write_close();
}
"""
TURNS = 300
COUNTED = "session_id(KEY); session_start(); echo $_SESSION['count'];"


def php(code, *arguments, settings=(), key="counter"):
    """Returns the words that run PHP code, and its environment."""
    import built

    settings = ["session.use_cookies=0", "session.cache_limiter=", *LOCKS, *settings]
    settings += ["display_errors=1", "log_errors=0"]
    code = code.replace("IDS", IDS).replace("COUNT", str(COUNT))
    code = code.replace("TURNS", str(TURNS)).replace("KEY", f"'{key}'")
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


def ids():
    """The names of the sessions that WRITE writes."""
    return [
        md5(f"session {number}".encode()).hexdigest() for number in range(1, COUNT + 1)
    ]


def of_the_page():
    """Returns the rows of the table of docs/php.md: each setting, and the words of its ring."""
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


def add(*handlers, **more):
    """Counts in one session, at all handlers at once, each given with its place."""
    at_once = []
    for handler, place in handlers:
        words, env = php(handler + ADD, place, **more)
        pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
        at_once.append(
            subprocess.Popen(words, env=env, stderr=subprocess.STDOUT, **pipes)
        )
    for one in at_once:
        assert one.stdout.readline() == b"ready\n"
    for one in at_once:
        one.stdin.write(b"\n")
        one.stdin.flush()
    for one in at_once:
        said, _ = one.communicate(timeout=PATIENCE)
        assert (one.returncode, said) == (0, b"")


@pytest.mark.parametrize("locking", ["1", "0"])
def test_a_session_that_both_handlers_want_is_locked(site, locking):  # noqa: F811
    """Without locks, which is the control, both overwrite what the other has counted."""
    path = drawn(site)
    settings = [f"memcached.sess_locking={locking}"]
    add((OLD, path), (NEW, site.map), (NEW, site.map), settings=settings)
    counted = int(run(NEW + COUNTED, site.map))
    assert (counted == 3 * TURNS) == (locking == "1"), counted


@pytest.mark.parametrize("copies", [1, 2])
def test_hosts_in_neighbouring_states_of_a_carry_lock_and_see_each_other(site, copies):  # noqa: F811
    drawn(site, count=2)
    if copies > 1:
        site.copy(replicas=copies)
    before = site.grow("--carry")
    # session and lock move
    moved = (
        key
        for key in (f"id-{number}" for number in range(1000))
        if before.locate(key) != site.where(key)
        and before.locate(f"lock.{key}") != site.where(f"lock.{key}")
    )
    host = site.directory / "host.map"
    for _ in range(3):
        for suffix in ("", ".history"):
            subprocess.run(["rm", "-rf", f"{host}{suffix}"], check=True)
            subprocess.run(
                ["cp", "-r", f"{site.map}{suffix}", f"{host}{suffix}"], check=True
            )
        next_state(site)
        key = next(moved)
        add((NEW, host), (NEW, site.map), (NEW, site.map), key=key)
        for place in (host, site.map):
            assert int(run(NEW + COUNTED, place, key=key)) == 3 * TURNS
        run(NEW + "session_id(KEY); session_start(); session_destroy();", host, key=key)
        for place in (host, site.map):
            assert (
                run(
                    NEW + "session_id(KEY); session_start(); echo count($_SESSION);",
                    place,
                    key=key,
                )
                == "0"
            )


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


# counts in several sessions until the input ends, and says how often a session was not as it had
# been left
VISIT = """
[$visits, $wrong, $seen, $r] = [0, 0, [], [STDIN]];
while (stream_select($r, $w, $e, 0) === 0) {
    $id = 'visitor' . random_int(0, 30);
    session_id($id);
    session_start();
    $wrong += ($_SESSION['count'] ?? 0) !== ($seen[$id] ?? 0);
    $seen[$id] = $_SESSION['count'] = ($seen[$id] ?? 0) + 1;
    // now and then one logs out
    if (random_int(0, 9) === 0) {
        session_destroy();
        $seen[$id] = 0;
    } else {
        session_write_close();
    }
    $visits++;
    usleep(2000);
    $r = [STDIN];
}
echo "$visits visits, $wrong wrong";
"""


def carry_toml():
    """The file of docs/php.md."""
    page = (ROOT / "docs" / "php.md").read_text()
    block = r"^   ```toml\n   # carry.toml\n(.*?)^   ```$"
    return re.search(block, page, re.MULTILINE | re.DOTALL)[1]


def test_sessions_are_carried_while_a_visitor_comes_again_and_again(site):  # noqa: F811
    import built

    drawn(site, count=2)
    hub = f"file://{site.directory}/hub/sessions.map"
    (site.directory / "hub").mkdir()
    host = site.directory / "host.map"
    text = carry_toml().replace("etcd://10.0.0.1/stead/sessions", hub)
    text = text.replace('"sessions.map"', f'"{site.map}"').replace(
        "grace = 60", "grace = 1"
    )
    settings = site.directory / "carry.toml"
    settings.write_text(text)
    sync = built.programs()["stead-sync"]
    output([sync, "push", site.map, hub])
    words = [sync, "watch", hub, host, "--host", "web1"]
    with subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as watch:
        try:
            end = time.monotonic() + PATIENCE
            while not host.exists() and time.monotonic() < end:
                time.sleep(0.05)
            run(NEW + WRITE, host)
            before = site.grow("--carry")
            moved = sum(before.locate(id) != site.where(id) for id in ids())
            assert moved > COUNT / 4
            words, env = php(NEW + VISIT, host)
            with subprocess.Popen(
                words,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            ) as visitor:
                said = output([sync, "carry", "run", settings]).decode()
                wrong, _ = visitor.communicate(timeout=PATIENCE)
            assert "the carry is closed" in said
            assert re.fullmatch(rb"[1-9][0-9]+ visits, 0 wrong", wrong), wrong
        finally:
            watch.kill()
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


def test_a_map_is_found_from_another_directory(site):  # noqa: F811
    """PHP writes a session when the script has ended, under php-fpm in another directory."""
    drawn(site)
    code = NEW.replace("$argv[1]", "basename($argv[1])")
    begin = f"chdir('{site.directory}');{code}session_id('a'); session_start();"
    assert run(begin + "$_SESSION['a'] = 1; chdir('/');", site.map) == ""
    assert run(begin + "echo $_SESSION['a'];", site.map) == "1"


def test_a_lifetime_that_is_given_to_session_start_counts(site):  # noqa: F811
    drawn(site)
    start = "session_id('a'); session_start(['gc_maxlifetime' => 9000]); $_SESSION['a'] = 1;"
    for code in (start, start):  # the second one only touches it
        began = time.time()
        run(NEW + code, site.map)
        (ends,) = site.items().values()
        assert abs(ends - began - 9000) < PATIENCE


@pytest.mark.parametrize("ended", [False, True])
def test_a_request_that_only_reads_takes_nothing_back(site, ended):  # noqa: F811
    """Also without locks: neither what another one has written, nor that it has ended the session."""
    drawn(site)
    settings = ["memcached.sess_locking=0"]
    write = (
        "session_id('a'); session_start(); $_SESSION['a'] = {}; session_write_close();"
    )
    run(NEW + write.format(1), site.map, settings=settings)
    words, env = php(
        NEW + "session_id('a'); session_start(); echo \"read\\n\"; fgets(STDIN);",
        site.map,
        settings=settings,
    )
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(words, env=env, **pipes) as reader:
        assert reader.stdout.readline() == b"read\n"
        end = "session_id('a'); session_start(); session_destroy();"
        run(NEW + (end if ended else write.format(2)), site.map, settings=settings)
        reader.communicate(b"\n", timeout=PATIENCE)
    show = "session_id('a'); session_start(); echo $_SESSION['a'] ?? 'none';"
    assert run(NEW + show, site.map) == ("none" if ended else "2")


def test_sessions_may_live_for_a_year(site):  # noqa: F811
    """memcached takes more than 30 days for a date."""
    drawn(site)
    year = [f"session.gc_maxlifetime={365 * 86400}"]
    run(NEW + WRITE, site.map, settings=year)
    assert int(run(NEW + READ, site.map, settings=year)) == COUNT


def test_a_session_that_nobody_has_begun_is_not_taken_in_strict_mode(site):  # noqa: F811
    drawn(site)
    begin = "session_id('chosen'); session_start(); echo session_id();"
    settings = ["session.use_strict_mode=1"]
    assert run(NEW + begin, site.map) == "chosen"
    assert run(NEW + begin, site.map, settings=settings) == "chosen"
    run(NEW + "session_id('chosen'); session_start(); session_destroy();", site.map)
    assert run(NEW + begin, site.map, settings=settings) != "chosen"


def test_a_name_that_php_does_not_make_is_refused(site):  # noqa: F811
    drawn(site)
    for name in ("x" * 201, "Späti", "..//"):
        words, env = php(NEW + f'session_id("{name}"); session_start();', site.map)
        assert "none that PHP makes" in output(words, env=env).decode(), name


def test_that_no_server_answers_is_told(site):  # noqa: F811
    drawn(site)
    text = site.fleet.read_text()
    for address in site.addresses:
        gone = f'name = "{address}"\nattributes = {{ address = "127.0.0.1:1" }}'
        text = text.replace(f'name = "{address}"', gone)
    site.fleet.write_text(text)
    stead("apply", site.fleet, site.map)
    words, env = php(NEW + "session_id('a'); session_start();", site.map)
    assert "no server of the session answers" in output(words, env=env).decode()


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
