"""Every face of stead gives the same node for every key, and a face that does not is
detected.
"""

import agreement
import clients
import faces
import fleet
import pytest
from faces import FACES, Face
from test_clients import BY_MODE


@pytest.fixture(scope="module")
def program_says(made_map, every_key):
    """The answers of the first face, with which the others are compared."""
    return faces.ask(FACES[0], made_map, every_key)


def test_the_keys_are_20000_of_which_many_are_no_text(every_key):
    assert len(every_key) == 20000
    assert sum(not key.isascii() for key in every_key) > 8000
    assert sum(b"\0" in key or b"\n" in key for key in every_key) > 1000


@pytest.mark.parametrize("face", FACES[1:], ids=lambda face: face.name)
def test_a_face_of_stead_agrees_with_the_program_on_every_key(
    face, made_map, every_key, program_says
):
    try:
        found = faces.ask(face, made_map, every_key)
    except clients.Lacking as why:
        pytest.skip(f"{face.name}: {why}")
    assert agreement.differing({"program": program_says, face.name: found}) == []
    assert set(found) == set(fleet.names())


def test_a_face_that_disagrees_on_one_key_is_caught(program_says):
    """The control of the test above."""
    other = list(program_says)
    other[12345] = next(name for name in fleet.names() if name != other[12345])
    assert agreement.differing({"program": program_says, "other": other}) == [
        ("other", 1, 12345)
    ]


def test_a_face_that_folds_letters_is_caught(made_map, every_key, program_says):
    """A control with a program: only keys with capital letters get another node, and
    not all of them.
    """
    folds = Face("folds", lambda: [*FACES[0].start(), "--fold", "ascii"])
    ((_, count, first),) = agreement.differing(
        {"program": program_says, "folds": faces.ask(folds, made_map, every_key)}
    )
    assert 0 < count <= sum(key != key.lower() for key in every_key)
    assert every_key[first] != every_key[first].lower()


def test_a_ring_with_another_option_is_caught(
    asked, servers, keys, tmp_path, monkeypatch
):
    """The control of the test below."""
    client, path = BY_MODE["libmemcached", "weighted"], str(tmp_path / "drawn.map")
    found = asked(client)
    monkeypatch.setitem(
        faces.RINGS, ("libmemcached", "weighted"), ["libmemcached", "--set", "mode=spy"]
    )
    faces.draw(client, servers, path)
    ((_, wrong, _),) = agreement.differing(
        {"client": found, "stead": faces.ask(FACES[0], path, keys)}
    )
    assert wrong > len(keys) / 2


@pytest.mark.parametrize("ring", faces.RINGS, ids=" ".join)
def test_a_ring_that_stead_draws_places_every_key_as_the_client_does(
    ring, asked, servers, keys, tmp_path
):
    found, path = asked(BY_MODE[ring]), str(tmp_path / "drawn.map")
    faces.draw(BY_MODE[ring], servers, path)
    assert (
        agreement.differing({"client": found, "stead": faces.ask(FACES[0], path, keys)})
        == []
    )
