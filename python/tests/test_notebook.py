"""What a map and a plan show in a notebook, and the pictures of plot."""

import importlib.util
import json
from xml.etree import ElementTree

import pytest
import stead

OF_MAP = ["bands", "ring", "shares", "domains"]
OF_PLAN = ["moves", "bands", "shares"]
SVG = "{http://www.w3.org/2000/svg}"


def spread_over(nodes, **more):
    """A fleet of three copies, whose nodes are in seven zones and many racks."""
    node = [
        {
            "name": f"node{i:05}",
            "labels": {"zone": f"z{i % 7}", "rack": f"r{i % 1000}"},
        }
        for i in range(nodes)
    ]
    return {"name": "many", "replicas": 3, "spread": ["zone"], "node": node, **more}


@pytest.mark.parametrize("kind", OF_MAP)
def test_a_map_is_drawn_as_each_kind(members, kind):
    svg = members.plot(kind)
    assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
    assert svg == members.plot(kind), "the same map gives the same bytes"
    assert kind != "bands" or svg == members.plot()


@pytest.mark.parametrize("kind", OF_PLAN)
def test_a_plan_is_drawn_as_each_kind(members, grown, kind):
    plan = stead.Plan.between(members, grown)
    svg = plan.plot(kind)
    assert ElementTree.fromstring(svg).tag == f"{SVG}svg"
    assert kind != "moves" or svg == plan.plot()


def test_the_caller_chooses_width_ground_title_and_keys(members):
    root = ElementTree.fromstring(members.plot(width=640, theme="dark", title="a <b>"))
    assert root.get("width") == "640" and "stead-dark" in root.get("class")
    assert root.find(f"{SVG}title").text == "a <b>"
    ring = members.plot("ring", keys=["frank", b"bob"])
    assert "frank" in ring and "bob" in ring and "frank" not in members.plot("ring")


@pytest.mark.parametrize(
    ("error", "arguments", "said"),
    [
        (stead.InvalidError, {"kind": "pie"}, '"bands", "ring", "shares", "domains"'),
        (stead.InvalidError, {"kind": "moves"}, '"moves" is none of'),
        (stead.InvalidError, {"theme": "blue"}, '"auto", "light", "dark"'),
        (stead.InvalidError, {"width": 319}, "from 320 to 4000"),
        (stead.InvalidError, {"width": 4001}, "from 320 to 4000"),
        (stead.InvalidError, {"width": -1}, "from 320 to 4000"),
        (stead.InvalidError, {"keys": ["a"]}, 'write kind="ring"'),
        (TypeError, {"width": "640"}, "width"),
        (TypeError, {"title": 3}, "title"),
        (TypeError, {"kind": 1}, "kind"),
        (TypeError, {"kind": "ring", "keys": [1]}, "int"),
    ],
)
def test_a_wrong_argument_is_named(members, error, arguments, said):
    with pytest.raises(error) as raised:
        members.plot(**arguments)
    assert said in str(raised.value)


def test_pictures_of_one_notebook_have_ids_of_their_own(members, grown):
    plan = stead.Plan.between(members, grown)
    drawn = [map.plot(kind) for map in (members, grown) for kind in OF_MAP]
    drawn += [plan.plot(kind) for kind in OF_PLAN]
    ids = [
        {element.get("id") for element in ElementTree.fromstring(svg).iter()} - {None}
        for svg in drawn
    ]
    assert len(set().union(*ids)) == sum(map(len, ids)) and all(ids)


def test_a_huge_map_makes_no_huge_page():
    many = stead.Map.build(spread_over(20_000))
    assert len(many._repr_html_()) < 100_000
    larger = stead.Map.build(spread_over(2_000))
    more = stead.Map.build(spread_over(2_100), larger)
    html = stead.Plan.between(larger, more)._repr_html_()
    assert len(html) < 200_000, len(html)


def test_names_are_text_wherever_a_notebook_shows_them():
    hostile = ["</title><script>alert(1)</script>", "]]><b>&amp;", '"onload="x', "a'b"]
    nodes = [{"name": name, "labels": {"zone": name}} for name in hostile]
    fleet = {"name": "<img src=x>", "spread": ["zone"], "node": nodes}
    tag = {"name": "<i>", "labels": {"zone": "<i>"}}
    one = stead.Map.build(fleet)
    two = stead.Map.build({**fleet, "node": [*nodes, tag]}, one)
    plan = stead.Plan.between(one, two)
    shown = [one._repr_html_(), plan._repr_html_()]
    shown += [one.plot(kind, title="<u>") for kind in OF_MAP]
    shown += [plan.plot(kind) for kind in OF_PLAN]
    for html in shown:
        for tag in ("<script", "<b>", "<img", "<i>", "<u>", '"onload'):
            assert tag not in html
    for name in hostile:
        texts = ElementTree.fromstring(one.plot("shares")).itertext()
        assert any(name in text for text in texts), name


def test_a_real_notebook_shows_a_map_and_a_plan(tmp_path):
    """A kernel of Jupyter runs the cells, as a notebook does."""
    for module in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed; scripts/setup --tests brings it")
    import nbclient
    import nbformat

    node = json.dumps([{"name": "db1"}, {"name": "db2"}])
    more = json.dumps([{"name": "db1"}, {"name": "db2"}, {"name": "db3"}])
    cells = [
        f"import stead\nm = stead.Map.build({{'name': 'members', 'node': {node}}})\nm",
        (
            f"g = stead.Map.build({{'name': 'members', 'node': {more}}}, m)\n"
            "stead.Plan.between(m, g)"
        ),
        "m.plot()[:4]",
    ]
    book = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, cells)])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(book, timeout=300, resources=resources).execute()
    shown = [cell["outputs"][0]["data"] for cell in book.cells]
    for data, words in zip(shown, ("members, epoch 1", "33.3333% of all copies move")):
        html = data["text/html"]
        assert "<svg " in html and "<table>" in html and words in html
        assert data["text/plain"].startswith("<stead.")
    assert shown[2] == {"text/plain": "'<svg'"}
