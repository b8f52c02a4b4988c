"""The arithmetic of the table, its text and its picture, with invented clients."""

import io
from xml.etree import ElementTree

import agreement
import clients
import picture
import pytest
import run
import show
from clients import Client

# eight keys: a and c agree, b differs from them on two keys, d on all
ANSWERS = {
    "a": list("11112222"),
    "b": list("11112233"),
    "c": list("11112222"),
    "d": list("33333344"),
}
NAMES = {
    "a": "client a 1.0",
    "b": "client b <2.0>",
    "c": "client c & co",
    "d": "client d",
}


def test_groups_are_who_places_every_key_alike_the_largest_first():
    assert agreement.group(ANSWERS) == [["a", "c"], ["b"], ["d"]]
    assert agreement.group({"d": ANSWERS["d"], "b": ANSWERS["b"]}) == [["d"], ["b"]]


def test_the_table_counts_the_keys_on_which_placements_agree():
    table = agreement.table(ANSWERS)
    assert table.alike == [[8, 6, 0], [6, 8, 0], [0, 0, 8]]
    # ac 1, ab 3/4, bc 3/4, ad 0, bd 0, cd 0
    assert (table.keys, table.pairs, table.same, table.median) == (8, 6, 1, 0.375)


def test_one_client_alone_agrees_with_itself():
    table = agreement.table({"a": ["1"]})
    assert (table.pairs, table.same, table.median) == (0, 0, 1.0)


def test_answers_to_different_numbers_of_keys_are_not_compared():
    for wrong in (
        lambda: agreement.agree(["1"], ["1", "2"]),
        lambda: agreement.differing({"a": ["1"], "b": ["1", "2"]}),
    ):
        with pytest.raises(ValueError, match="1"):
            wrong()


def test_only_all_is_100_and_only_none_is_0():
    assert [
        agreement.percent(*pair)
        for pair in (
            (20000, 20000),
            (19999, 20000),
            (1, 20000),
            (0, 20000),
            (2049, 20000),
        )
    ] == ["100", ">99", "<1", "0", "10"]
    assert [show.share(value) for value in (1, 0.99999, 0.10049)] == [
        "100 %",
        "99.9 %",
        "10.0 %",
    ]


def test_the_text_names_every_client_once_and_has_a_row_for_each_placement():
    lines = list(show.text(agreement.table(ANSWERS), NAMES))
    assert lines[:5] == [
        "placement, and who has it",
        "   1  client a 1.0",
        "      client c & co",
        "   2  client b <2.0>",
        "   3  client d",
    ]
    assert lines[-3:] == ["   1 100  75   0", "   2  75 100   0", "   3   0   0 100"]
    assert "\x1b" not in "".join(lines)


def test_colour_is_for_terminals_that_want_it(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert show.coloured(Terminal()) and not show.coloured(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not show.coloured(Terminal())
    plain = list(show.text(agreement.table(ANSWERS), NAMES))
    painted = "\n".join(show.text(agreement.table(ANSWERS), NAMES, colour=True))
    for code in (show.GREEN, show.YELLOW, show.DIM, show.BOLD):
        assert code in painted
        painted = painted.replace(code, "")
    assert painted.replace(show.PLAIN, "") == "\n".join(plain)


def test_the_page_has_the_same_matrix():
    lines = list(show.markdown(agreement.table(ANSWERS), NAMES))
    assert lines[2] == "| 1 | client a 1.0<br>client c & co |"
    assert lines[-6:] == [
        "```text",
        "       1   2   3",
        "   1 100  75   0",
        "   2  75 100   0",
        "   3   0   0 100",
        "```",
    ]


def test_the_picture_is_svg_with_a_cell_for_each_pair():
    table = agreement.table(ANSWERS)
    blocks = [
        ("", [(NAMES["a"], 0), (NAMES["c"], 0), (NAMES["b"], 1)]),
        ("d", [(NAMES["d"], 2)]),
    ]
    root = ElementTree.fromstring(
        "\n".join(picture.svg(blocks, table.alike, table.keys, "a & b", "below"))
    )
    tag = "{http://www.w3.org/2000/svg}"
    said = [text.text for text in root.iter(tag + "text")]
    assert all(said.count(name) == 1 for name in NAMES.values())
    cells = [
        rect for rect in root.iter(tag + "rect") if rect.find(tag + "title") is not None
    ]
    assert [cell.find(tag + "title").text for cell in cells].count(
        "client b <2.0> / client c & co: 75.00 %"
    ) == 1
    # a and c with both, b, d
    assert (
        len(cells) == 16
        and sum(cell.get("fill") == picture.SAME for cell in cells) == 6
    )
    assert [float(root.get(side)) > 0 for side in ("width", "height")] == [True, True]


@pytest.fixture
def three_clients(monkeypatch):
    """The demo with invented clients: two that agree, one that differs, one that is not
    installed, and one that fails.
    """
    made = {"one": 0, "two": 0, "three": 1}

    def ask(client, servers, keys):
        if client.name == "fails":
            raise RuntimeError("some lines\nits reason")
        if client.name not in made:
            raise clients.Lacking("it is not here")
        return [
            servers[(len(key) + made[client.name] * (len(key) % 2)) % 10]
            for key in keys
        ]

    monkeypatch.setattr(
        clients,
        "CLIENTS",
        [Client("Made", name, "x", "x") for name in (*made, "absent", "fails")],
    )
    monkeypatch.setattr(clients, "ask", ask)
    monkeypatch.setattr(clients, "version", lambda client: "1.0")


def test_the_demo_counts_who_answers_and_says_who_is_left_out(
    three_clients, tmp_path, capsys
):
    assert run.main(["--keys", "300", "--picture", str(tmp_path / "a.svg")]) == 0
    out = capsys.readouterr().out
    assert (
        "\n3 clients give 2 different placements; " in out
        and "and 1 of 3 pairs on all.\n" in out
    )
    assert (
        "left out: Made absent: it is not here\n" in out
        and "left out: Made fails: failed: its reason\n" in out
    )
    assert "faces agree on 100 %: program (Rust), " in out
    said = [
        text.text
        for text in ElementTree.parse(tmp_path / "a.svg").iter(
            "{http://www.w3.org/2000/svg}text"
        )
    ]
    assert (
        "Made one (1.0)" in said
        and "stead, program (Rust)" in said
        and "Made absent (1.0)" not in said
    )


def test_the_demo_fails_when_a_face_disagrees_on_one_key(
    three_clients, tmp_path, capsys, monkeypatch
):
    """The control of the test above."""
    real = run.ask_faces

    def one_key_elsewhere(servers, keys, scratch):
        found, without = real(servers, keys, scratch)
        name = list(found)[-1]
        found[name][7] = next(server for server in servers if server != found[name][7])
        return found, without

    monkeypatch.setattr(run, "ask_faces", one_key_elsewhere)
    assert run.main(["--keys", "300", "--picture", str(tmp_path / "a.svg")]) == 1
    said = capsys.readouterr()
    assert "faces agree on 99.7 %" in said.out
    assert (
        "places 1 keys otherwise than program (Rust), the first of them b'" in said.err
    )


def test_the_demo_without_clients_says_how_to_get_them(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(clients, "CLIENTS", [])
    assert run.main(["--keys", "10", "--picture", str(tmp_path / "a.svg")]) == 1
    assert "scripts/setup --tests installs them" in capsys.readouterr().err
