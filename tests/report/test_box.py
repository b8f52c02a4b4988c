"""The box of the page: keys are typed, and its answers are those of `stead locate`."""

import json

import pytest
from conftest import fleet

SECRET = "000102030405060708090a0b0c0d0e0f"
HASHES = {
    "md5": ['hash = "md5"'],
    "sha1": ['hash = "sha1"'],
    "xxh3": ['hash = "xxh3"'],
    "siphash": ['hash = "siphash"', f'secret = "{SECRET}"'],
}


def typed(page, field, text):
    """Types a text into a field instead of what is there, as a person does."""
    page.point_at(f"#{field}")
    page.value(f"document.getElementById('{field}').select()")
    page.press("Backspace")
    page.type(text)


def answers(page):
    """What the box says: for each map its nodes and its point."""
    return page.value(
        "[...document.querySelectorAll('#answer > div')].map((d) => ["
        "[...d.querySelectorAll('ol li')].map((li) => li.textContent),"
        "d.querySelector('dd code').textContent])"
    )


@pytest.mark.parametrize("hash_name", HASHES)
def test_a_typed_key_is_where_the_program_says(stead, page, hash_name):
    name = stead.map("m", fleet(7, *HASHES[hash_name]))
    page.load(stead.page(name).as_uri())
    if hash_name == "siphash":
        typed(page, "key", "frank")
        assert "32 hex digits" in page.value(
            "document.getElementById('answer').textContent"
        )
        typed(page, "secret", SECRET)
    keys = ["frank", "Frank", " spaced ", "späti/ключ/鍵", "x" * 300, "0"]
    for key in keys:
        typed(page, "key", key)
        found = stead.located(name, "--", key)
        assert answers(page) == [[found["nodes"], found["point"]]], key
    typed(page, "key", "FRANK")
    page.point_at("#fold")
    found = stead.located(name, "--fold", "ascii", "FRANK")
    assert answers(page) == [[found["nodes"], found["point"]]]
    page.point_at("#fold")
    page.point_at("#as-hex")
    typed(page, "key", "ff00 7f")
    found = stead.located(name, "--hex", "ff007f")
    assert answers(page) == [[found["nodes"], found["point"]]]
    typed(page, "key", "ff0")
    assert "two hex digits" in page.value(
        "document.getElementById('answer').textContent"
    )
    assert page.complaints() == []


def test_the_box_is_used_with_the_keyboard_alone(stead, page):
    name = stead.map("m", fleet(7))
    page.load(stead.page(name).as_uri())
    for _ in range(4):
        page.press("Tab")
        if page.value("document.activeElement.id") == "key":
            break
    page.type("frank")
    assert answers(page)[0][0] == stead.located(name, "frank")["nodes"]
    page.press("Enter")
    assert page.value("location.hash") == ""
    for _ in range(3):
        page.press("Tab")
    # the first node of the answer, which leads to its row
    page.press("Enter")
    row = page.value("document.querySelector('tr:target th').textContent")
    assert row == answers(page)[0][0][0]


def test_a_pin_is_applied_and_told(stead, page):
    pin = '[[pin]]\nkey = "hot"\nnodes = ["db0005", "db0001", "db0003"]\n'
    name = stead.map("m", fleet(7) + pin)
    page.load(stead.page(name).as_uri())
    typed(page, "key", "hot")
    assert answers(page)[0][0] == ["db0005", "db0001", "db0003"]
    text = page.value("document.getElementById('answer').textContent")
    assert 'key "hot"' in text


def test_a_change_shows_where_a_key_was_and_will_be(stead, page):
    stead.map("m", fleet(6))
    old = (stead.place / "m.map").read_bytes()
    (stead.place / "old.map").write_bytes(old)
    stead.map("m", fleet(9))
    page.load(stead.page("old.map", "m.map").as_uri())
    moved = 0
    for key in map(str, range(12)):
        typed(page, "key", key)
        found = [stead.located(name, key) for name in ("old.map", "m.map")]
        assert answers(page) == [[f["nodes"], f["point"]] for f in found], key
        moved += found[0]["nodes"] != found[1]["nodes"]
    assert moved, "none of the keys moves, so nothing was tested"


def test_no_secret_is_in_a_page(stead):
    """Neither its hex digits nor its bytes nor their base64, in a map and in a change."""
    name = stead.map("m", fleet(3, *HASHES["siphash"]))
    (stead.place / "old.map").write_bytes((stead.place / name).read_bytes())
    stead.map("m", fleet(4, *HASHES["siphash"]))
    import base64

    secret = bytes.fromhex(SECRET)
    whole = base64.b64encode(secret).rstrip(b"=")
    forms = [SECRET.encode(), secret, whole[:-1]]
    assert secret in (stead.place / name).read_bytes(), "the map has the secret"
    for html in (stead.page(name), stead.page("old.map", name)):
        text = html.read_bytes()
        assert not [form for form in forms if form in text.lower() or form in text]


def terms(page):
    """The details that the box tells, for each map."""
    return page.value(
        "[...document.querySelectorAll('#answer > div')].map((d) => Object.fromEntries("
        "[...d.querySelectorAll('dt')].map((t) =>"
        " [t.textContent, t.nextElementSibling.textContent])))"
    )


@pytest.mark.parametrize("replicas", [1, 3])
def test_the_nodes_that_take_over_are_those_of_prefer(stead, page, replicas):
    pin = '[[pin]]\nkey = "hot"\nnodes = ["db0009"]\n'
    name = stead.map("m", fleet(12, replicas=replicas) + pin)
    page.load(stead.page(name).as_uri())
    for key in ["frank", "bob", "erin", "hot", *map(str, range(12))]:
        typed(page, "key", key)
        [[own, _]], [told] = answers(page), terms(page)
        listed = stead.located(name, "--prefer", len(own) + 3, key)["nodes"]
        assert [*own, *told["if all are down"].split(", ")] == listed, key
    one = stead.map("one", fleet(1, replicas=1))
    page.load(stead.page(one).as_uri())
    typed(page, "key", "frank")
    assert "if all are down" not in terms(page)[0], "no other node is there"


def test_while_a_carry_is_open_the_box_says_where_to_read_and_write(stead, page):
    """In each state of a carry that moves keys, brings a node and takes one away."""
    stead.map("m", fleet(6))
    (stead.place / "old.map").write_bytes((stead.place / "m.map").read_bytes())
    change = fleet(8).replace('name = "db0002"', 'name = "db0020"', 1)
    stead("apply", "--carry", write(stead, change), "m.map")
    keys, states, moved = ["frank", *map(str, range(11))], [], 0
    while True:
        for pages in (["m.map"], ["old.map", "m.map"]):
            page.load(stead.page(*pages).as_uri())
            for key in keys:
                typed(page, "key", key)
                found = json.loads(stead("locate", "m.map", "--carry", "--json", key))
                last, told = answers(page)[-1], terms(page)[-1]
                assert last == [found["reads"], found["point"]], (states, key)
                assert told["write to all of"] == ", ".join(found["writes"])
                assert told["carry"] == found["state"]
                old = stead.located("old.map", key)["nodes"]
                assert told["data was on"] == ", ".join(old)
                moved += found["moved"]
            assert page.complaints() == []
        states.append(found["state"])
        if found["state"] == "new":
            break
        stead("carry", "m.map", "next", "--confirmed", 1 + len(states))
    assert states == ["old", "both_old_first", "both_new_first", "new"] and moved
    stead("carry", "m.map", "close", "--confirmed", 1 + len(states))
    page.load(stead.page("m.map").as_uri())
    typed(page, "key", "frank")
    assert answers(page)[0][0] == stead.located("m.map", "frank")["nodes"]
    assert "carry" not in terms(page)[0]


def test_without_the_map_where_the_data_was_the_box_names_the_command(stead, page):
    stead.map("m", fleet(3))
    stead("apply", "--carry", write(stead, fleet(4)), "m.map")
    (stead.place / "alone.map").write_bytes((stead.place / "m.map").read_bytes())
    page.load(stead.page("alone.map").as_uri())
    text = page.value("document.getElementById('locate-a-key').innerText")
    assert "A carry is open" in text
    assert "stead locate alone.map --carry KEY" in text
    assert page.value("document.getElementById('locate')") is None
    assert page.complaints() == []


def write(stead, text):
    (stead.place / "next.toml").write_text(text)
    return "next.toml"


def test_the_judge_of_the_box_sees_a_wrong_answer(stead, page):
    """The control: with another slice table in the page the answers differ."""
    name = stead.map("m", fleet(7))
    html = stead.page(name)
    text = html.read_text()
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    policies = data["maps"][0]["policies"]
    policies[:] = policies[1:] + policies[:1]
    start, end = text.split('id="data">')[0], text.split('id="data">')[1]
    html.write_text(
        f'{start}id="data">{json.dumps(data)}{end[end.index("</script>") :]}'
    )
    page.load(html.as_uri())
    wrong = 0
    for key in ("frank", "bob", "erin", "justin"):
        typed(page, "key", key)
        wrong += answers(page)[0][0] != stead.located(name, key)["nodes"]
    assert wrong
