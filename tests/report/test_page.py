"""The page in a real browser: it is clicked, sorted, searched, printed and looked at, and
it asks nobody for anything.
"""

import json
import os
import re
from pathlib import Path

import pytest
from conftest import ROOT, fleet

AXE = ROOT / ".venv-page" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
LOG = "frank\t50\nbob\t30\nerin\njustin\t5\n"


@pytest.fixture
def pages(stead):
    """{kind: a page of it}, all of one small cluster."""
    stead.map("m", fleet(6))
    (stead.place / "old.map").write_bytes((stead.place / "m.map").read_bytes())
    stead.map("m", fleet(7))
    (stead.place / "log").write_text(LOG)
    return {
        "map": stead.page("m.map", "--load", "log"),
        "change": stead.page("old.map", "m.map"),
    }


def column(page, table, number):
    """The texts of a column."""
    return page.value(
        f"[...document.querySelectorAll('#{table} tbody tr')]"
        f".map((row) => row.cells[{number}].textContent)"
    )


def heading(table, number):
    return f"#{table} thead tr > :nth-child({number + 1})"


def test_nothing_is_asked_for_and_nothing_is_complained_about(pages, page):
    for kind, html in pages.items():
        page.load(html.as_uri())
        assert page.complaints() == [], kind
        assert page.requests() == [html.as_uri()], kind


def test_tables_are_sorted_by_clicks_and_by_keys(pages, page):
    page.load(pages["map"].as_uri())
    names = column(page, "nodes-table", 0)
    assert names == sorted(names)
    page.point_at(heading("nodes-table", 2) + " button")
    shares = [float(s.split()[0]) for s in column(page, "nodes-table", 2)]
    assert shares == sorted(shares, reverse=True) and len(set(shares)) > 1
    order = f"document.querySelector('{heading('nodes-table', 2)}').getAttribute('aria-sort')"
    assert page.value(order) == "descending"
    page.press("Enter")  # the button has the focus
    assert page.value(order) == "ascending"
    shares = [float(s.split()[0]) for s in column(page, "nodes-table", 2)]
    assert shares == sorted(shares)
    page.point_at(heading("nodes-table", 0) + " button")
    assert column(page, "nodes-table", 0) == names
    assert page.value(order) is None


def test_a_change_is_sorted_by_what_changes(pages, page):
    page.load(pages["change"].as_uri())
    page.point_at(heading("nodes-table", 6) + " button")
    changes = column(page, "nodes-table", 6)
    values = [float(c.replace("−", "-").split()[0]) for c in changes]
    assert values == sorted(values, reverse=True) and values[0] > 0 > values[-1]


def test_nodes_are_found_by_names_labels_and_attributes(pages, page):
    page.load(pages["map"].as_uri())
    shown = (
        "[...document.querySelectorAll('#nodes-table tbody tr')]"
        ".filter((row) => !row.hidden).map((row) => row.cells[0].textContent)"
    )
    for words, names in [
        ("DB0003", ["db0003"]),
        ("zone=z1 rack=r2", ["db0004"]),
        ("10.0.0.1:", ["db0002"]),
        ("nothing like it", []),
    ]:
        page.point_at("#search")
        page.value("document.getElementById('search').select()")
        page.press("Backspace")
        page.type(words)
        assert page.value(shown) == names, words
        found = page.value("document.getElementById('found').textContent")
        assert found == f"{len(names)} of 7 nodes"


def test_a_page_says_what_the_program_says(stead, pages, page):
    page.load(pages["map"].as_uri())
    text = page.value("document.body.innerText")
    for line in stead("check", "m.map").decode().splitlines()[1:]:
        # `ok      digest      1234`
        assert line.split(None, 2)[2] in text, line
    assert "Every rule is kept" in text
    for line in stead("history", "m.map").decode().splitlines()[2:]:
        assert line.split("  ")[-1].strip() in text, line
    page.load(pages["change"].as_uri())
    text = " ".join(page.value("document.body.innerText").split())
    screen = stead("diff", "old.map", "m.map", "--all").decode()
    said = " ".join(screen.split())
    assert said.split(" fleet ")[0].split(": ", 1)[1] in text
    for part in re.findall(r"^(?:copies|domains) +(.*)$", screen, re.MULTILINE):
        assert part in text, part


def test_warnings_come_first_in_the_words_of_a_plan(stead, page):
    stead.map("m", fleet(6, zones=3))
    (stead.place / "next.toml").write_text(fleet(4, zones=2, replicas=2))
    screen = stead("plan", "next.toml", "m.map", "-o", "next.plan").decode()
    warnings = re.findall(r"^! ((?:.*\n)(?:  .*\n)*)", screen, re.MULTILINE)
    assert warnings, screen
    html = stead.page("m.map", "next.plan")
    page.load(html.as_uri())
    headline = " ".join(screen.split("\n\n")[0].split()).split(": ", 1)[1]
    assert page.value("document.querySelector('.headline').innerText") == headline
    listed = page.value(
        "[...document.querySelectorAll('.notices li.bad')].map((li) => li.innerText)"
    )
    for warning in warnings:
        sentence = " ".join(warning.split())
        assert any(sentence in item for item in listed), (sentence, listed)
    above = "document.querySelector('.notices').compareDocumentPosition("
    above += "document.querySelector('.tiles'))"
    assert page.value(above) == 4  # the figures follow


def test_without_scripts_the_page_is_right_as_far_as_it_goes(pages, page):
    for kind, html in pages.items():
        page.call("Emulation.setScriptExecutionDisabled", value=True)
        page.load(html.as_uri())
        # what the tests themselves ask runs nevertheless
        text = page.value("document.body.innerText")
        assert "This box needs scripts" in text and "stead locate" in text, kind
        assert (
            page.value("document.querySelectorAll('#nodes-table tbody tr').length") == 7
        )
        assert page.value("document.querySelectorAll('figure svg').length") >= 6
        assert page.value("document.querySelectorAll('button').length") == 0
        visible = "document.getElementById('locate').offsetParent"
        assert page.value(f"{visible} === null")
        assert page.value("document.getElementById('search').offsetParent === null")


def test_nothing_sticks_out_at_any_width(pages, page):
    for kind, html in pages.items():
        for width in (320, 400, 700, 1000, 1400):
            page.resize(width, 900)
            page.load(html.as_uri())
            fits = page.value("document.documentElement.scrollWidth <= innerWidth")
            assert fits, (kind, width)
            # one picture of each is shown
            shown = page.value(
                "[...document.querySelectorAll('figure')].map((f) =>"
                " [...f.children].filter((c) => c.offsetParent !== null).length)"
            )
            assert set(shown) == {1}, (kind, width, shown)


def test_tables_can_be_read_on_a_telephone(pages, page):
    page.resize(390, 900)
    page.load(pages["change"].as_uri())
    hint = (
        "(() => {{ const hint = document.getElementById('{}').parentElement"
        ".previousElementSibling; return hint.classList.contains('hint') && !hint.hidden }})()"
    )
    # what moves where is there as a whole
    inside = (
        "[...document.querySelectorAll('#moves-table td.number')]"
        ".map((cell) => cell.getBoundingClientRect().right <= innerWidth - 16)"
    )
    assert set(page.value(inside)) == {True}
    assert page.value(hint.format("moves-table")) is False
    # a wider table says that it goes on
    wider = "document.getElementById('nodes-table').parentElement"
    assert page.value(f"{wider}.scrollWidth > {wider}.clientWidth")
    assert page.value(hint.format("nodes-table")) is True
    page.load(pages["map"].as_uri())
    box = "document.getElementById('what-if-table').parentElement"
    assert page.value(f"{box}.scrollWidth <= {box}.clientWidth")
    labels = page.value(
        "[...document.querySelector('#what-if-table tbody tr').cells]"
        ".map((cell) => getComputedStyle(cell, '::before').content)"
    )
    assert labels[1:3] == ['"copies lost"', '"keys without a copy"'], labels
    # and on a wide page it is a table
    page.resize(1400, 900)
    page.load(pages["map"].as_uri())
    shown = "getComputedStyle(document.querySelector('#what-if-table thead')).display"
    assert page.value(shown) == "table-header-group"


def test_screenshots_can_be_taken(pages, page, tmp_path):
    place = Path(os.environ.get("STEAD_PICTURES", tmp_path))
    for kind, html in pages.items():
        for width in (400, 1400):
            page.resize(width, 900)
            for scheme in ("light", "dark"):
                page.prefers(color_scheme=scheme)
                page.load(html.as_uri())
                file = place / f"report-{kind}-{width}-{scheme}.png"
                page.picture(file)
                assert file.stat().st_size > 20_000
        page.prefers(color_scheme="light")
        page.printed(place / f"report-{kind}.pdf")
        assert (place / f"report-{kind}.pdf").stat().st_size > 20_000


def test_dark_mode_and_print_have_colours_of_their_own(pages, page):
    ground = "getComputedStyle(document.body).backgroundColor"
    page.load(pages["map"].as_uri())
    light = page.value(ground)
    page.prefers(color_scheme="dark")
    assert page.value(ground) != light
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert page.value(ground) == light
    box = "getComputedStyle(document.getElementById('locate-a-key')).display"
    assert page.value(box) == "none"
    page.call("Emulation.setEmulatedMedia", media="", features=[])


# ---- what keeps people from using it


def faults(page):
    """What axe-core finds."""
    page.value(f"{AXE.read_text()}; 0")
    return page.value(
        "axe.run(document, {resultTypes: ['violations']}).then((found) =>"
        " found.violations.map((v) => [v.id, v.nodes.slice(0, 2).map((n) => n.html)]))"
    )


needs_axe = pytest.mark.skipif(
    not AXE.exists(),
    reason="axe-core is not in .venv-page; scripts/page-tools says why",
)


@needs_axe
def test_axe_finds_nothing(pages, page):
    for kind, html in pages.items():
        for width in (400, 1400):
            page.resize(width, 900)
            for scheme in ("light", "dark"):
                page.prefers(color_scheme=scheme)
                page.load(html.as_uri())
                page.value("document.getElementById('key').focus()")
                page.type("frank")
                page.point_at(heading("nodes-table", 2) + " button")
                assert faults(page) == [], (kind, width, scheme)


@needs_axe
@pytest.mark.parametrize(
    "fault, rule",
    [
        ("document.querySelector('label[for=key]').replaceWith(key)", "label"),
        ("document.body.style.color = '#bbb'", "color-contrast"),
        ("document.documentElement.removeAttribute('lang')", "html-has-lang"),
        ("document.querySelector('thead button').textContent = ''", "button-name"),
    ],
)
def test_axe_finds_a_planted_fault(pages, page, fault, rule):
    page.load(pages["map"].as_uri())
    page.value(f"const key = document.getElementById('key'); {fault}; 0")
    assert rule in [found for found, _ in faults(page)]


# ---- hostile maps

HOSTILE = [
    "</script><script>pwned = 1</script>",
    "<img src=x onerror=pwned=1>",
    '\\" onmouseover=\\"pwned=1',
    "'><svg onload=pwned=1>",
    "<!-- main -->",
    "]]>&lt;b&gt;&amp;",
    "\u202egnp.exe",
]


def test_what_a_map_says_stays_text(stead, page):
    text = 'name = "<b>hostile</b>"\nreplicas = 2\nspread = ["zone"]\n'
    for i, name in enumerate(HOSTILE):
        text += (
            f'[[node]]\nname = "{i}{name}"\n'
            f'labels = {{ zone = "z{i % 3}{name}" }}\nattributes = {{ a = "{name}" }}\n'
        )
    text += (
        f'[[pin]]\nkey = "{HOSTILE[0]}"\nnodes = ["0{HOSTILE[0]}", "1{HOSTILE[1]}"]\n'
    )
    stead.map("m", text)
    (stead.place / "old.map").write_bytes((stead.place / "m.map").read_bytes())
    stead("apply", "m.toml", "m.map", "--note", HOSTILE[1])
    (stead.place / "m.toml").write_text(text.replace("replicas = 2", "replicas = 3"))
    stead("apply", "m.toml", "m.map", "--note", HOSTILE[1])
    (stead.place / "log").write_text(f"{HOSTILE[0]}\t9\n{HOSTILE[1]}\t4\n")
    names = [f"{i}{name}".replace("\\", "") for i, name in enumerate(HOSTILE)]
    for html in (stead.page("m.map", "--load", "log"), stead.page("old.map", "m.map")):
        page.load(html.as_uri())
        assert (
            page.value("document.querySelector('h1').textContent") == "<b>hostile</b>"
        )
        assert sorted(column(page, "nodes-table", 0)) == sorted(names)
        page.value("document.getElementById('key').focus()")
        page.type(HOSTILE[0])
        inside = "document.querySelectorAll('script, img, [onerror], [onload],"
        inside += " [onmouseover], b, iframe').length"
        assert page.value(inside) == 2  # the data and the script
        assert page.value("typeof pwned") == "undefined"
        assert page.complaints() == []


def test_the_policy_runs_no_other_script_and_no_other_style(pages, page):
    """The control of the policy: what is put into the page does not run, and it says so."""
    html = pages["map"]
    text = html.read_text()
    planted = "<script>pwned = 1</script><p onclick='' style='color:red'>x</p>"
    planted += "<img src='https://example.invalid/x.png'>"
    html.write_text(text.replace("</main>", planted + "</main>"))
    page.load(html.as_uri())
    assert page.value("typeof pwned") == "undefined"
    said = json.dumps(page.complaints())
    for refused in ("inline script", "inline style", "x.png"):
        assert refused in said, refused
    failed = [
        e["params"] for e in page.events if e["method"] == "Network.loadingFailed"
    ]
    assert [f.get("blockedReason") for f in failed] == ["csp"]


# ---- sizes


@pytest.mark.parametrize("nodes", [10, 100, 1000])
def test_pages_of_any_size_open(stead, page, nodes, record_property):
    stead.map("m", fleet(nodes, zones=4, racks=5))
    (stead.place / "old.map").write_bytes((stead.place / "m.map").read_bytes())
    stead.map("m", fleet(nodes + max(1, nodes // 20), zones=4, racks=5))
    for html in (stead.page("m.map"), stead.page("old.map", "m.map")):
        size = html.stat().st_size
        assert size < 2_000_000
        page.load(html.as_uri())
        took = page.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
        page.value("document.getElementById('key').focus()")
        page.type("frank")
        last = "document.querySelector('#answer > div:last-child li').textContent"
        assert page.value(last) == stead.located("m.map", "frank")["nodes"][0]
        assert page.complaints() == []
        record_property(f"{html.stem}, {nodes} nodes:", f"{size} bytes, {took:.0f} ms")
