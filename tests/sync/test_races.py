"""Operators who race: one wins, and the others are told who and what."""

from sync_site import verify

RACES = 100


def test_of_two_operators_one_wins_and_the_other_is_told(site, record_property):
    anna, bert = site.operator("anna"), site.operator("bert")
    anna.apply("a")
    bert.map.write_bytes(anna.bytes())
    anna.apply("a", "b")
    bert.apply("a", "c")
    assert anna.bytes() != bert.bytes()
    here = site.place / "here.map"
    wins = {"anna": 0, "bert": 0}
    overlaps = 0
    for race in range(RACES):
        if site.cluster:
            url = f"{site.url}-{race}"
        else:
            (site.place / f"race{race}").mkdir()
            url = f"file://{site.place}/race{race}/members.map"
        pushes = {}
        # in turns, so that each of the two wins races
        for one in (anna, bert) if race % 2 else (bert, anna):
            # at an empty hub, with a later epoch than the first one
            pushes[one.name] = one.start_push("--allow", "first", url=url, waits=True)
        for push in pushes.values():
            push.stdin.write("go\n")
            push.stdin.flush()
        # a race took effect if neither had ended when both were on their way
        overlaps += all(push.poll() is None for push in pushes.values())
        ends = {name: push.communicate() for name, push in pushes.items()}
        codes = {name: push.returncode for name, push in pushes.items()}
        assert sorted(codes.values()) == [0, 75], (codes, ends)
        winner, loser = sorted((anna, bert), key=lambda one: codes[one.name])
        wins[winner.name] += 1
        told = ends[loser.name][1]
        for word in (
            winner.digest(),
            f"{winner.name}@ops1",
            "another operator was first",
        ):
            assert word in told, told
        if race % 10 == 0:
            assert site.pull(here, "--allow", "fork", url=url).returncode == 0
            assert here.read_bytes() == winner.bytes()
            verify(site, here)
    assert min(wins.values()) > 0, wins
    # how many depends on what else the machine does
    assert overlaps
    record_property(
        "races, each with one winner and one who was told:",
        f"{RACES}, {overlaps} of them at once, {wins}",
    )


def test_the_loser_takes_the_winners_map_and_goes_on(site):
    anna, bert = site.operator("anna"), site.operator("bert")
    anna.apply("a")
    anna.push()
    site.pull(bert.map)
    anna.apply("a", "b")
    bert.apply("a", "c")
    assert anna.push().returncode == 0
    lost = bert.push()
    assert lost.returncode == 75
    assert "--allow fork" in lost.stderr
    # both are told which of the two maps of epoch 2 is which
    assert anna.digest() in lost.stderr and bert.digest() in lost.stderr
    mine = bert.bytes()
    assert site.pull(bert.map).returncode == 69
    assert bert.bytes() == mine
    assert site.pull(bert.map, "--allow", "fork").returncode == 0
    aside = [
        p for p in (bert.directory / "members.map.history").iterdir() if "2." in p.name
    ]
    assert [p.read_bytes() for p in aside] == [mine]
    bert.apply("a", "b", "c")
    assert bert.push().returncode == 0
    # the control: whoever is behind is not told of a fork
    behind = anna.push()
    assert behind.returncode == 75 and "pull it" in behind.stderr, behind.stderr
    assert "operator was first" not in behind.stderr


def test_another_map_is_refused_at_the_hub_and_here(site):
    anna, other = site.operator("anna"), site.operator("other")
    anna.apply("a")
    anna.push()
    other.apply("x")
    for options in ((), ("--allow", "fork")):
        done = other.push(*options)
        assert done.returncode == 65 and "another" in done.stderr, done.stderr
        assert "name another URL" in done.stderr, done.stderr
    assert site.pull(other.map, "--allow", "fork,back").returncode == 65
