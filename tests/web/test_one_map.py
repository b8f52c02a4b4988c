"""stead.django by itself: all lookups of a request use one map."""

import asyncio
import importlib
import json
import threading

import pytest
import stead
from django.conf import settings
from stead.django import current_map, one_map, one_map_per_request, shard

if not settings.configured:
    settings.configure()


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Publishes the next epoch; the settings name the map."""
    path = tmp_path / "members.map"
    monkeypatch.setattr(settings, "STEAD_MAP", path, raising=False)
    nodes = []

    def next_epoch():
        nodes.append({"name": f"db{len(nodes) + 1}"})
        previous = stead.Map.open(path) if path.exists() else None
        stead.Map.build({"name": "members", "node": nodes}, previous).publish(
            path, previous
        )

    next_epoch()
    return next_epoch


def test_a_request_keeps_its_map_and_the_next_one_has_the_newest(publish):
    def view(request):
        first = current_map()
        publish()
        assert current_map() is first and shard("frank") == first.locate("frank")
        with one_map():
            assert current_map() is first
        return first.epoch

    handler = one_map_per_request(view)
    assert [handler(None), handler(None)] == [1, 2]
    # outside of requests no map is kept
    assert current_map().epoch == 3
    publish()
    assert current_map().epoch == 4


def test_a_request_that_fails_lets_go_of_its_map(publish):
    def view(request):
        current_map()
        raise ValueError

    with pytest.raises(ValueError):
        one_map_per_request(view)(None)
    publish()
    assert current_map().epoch == 2


def test_tasks_and_threads_of_a_request_share_its_map(publish):
    async def ask():
        return current_map().epoch, await asyncio.to_thread(lambda: current_map().epoch)

    async def view(request):
        first = current_map().epoch
        publish()
        return {first, *sum(await asyncio.gather(ask(), ask(), ask()), ())}

    async def requests():
        handler = one_map_per_request(view)
        return (
            await handler(None),
            await handler(None),
            *await asyncio.gather(handler(None), handler(None)),
        )

    one, two, *both = asyncio.run(requests())
    assert (one, two) == ({1}, {2})
    assert all(len(epochs) == 1 for epochs in both)


def test_threads_that_open_at_once_get_the_same_map(publish):
    import contextvars

    with one_map():
        start, found = threading.Barrier(8), []

        def ask():
            start.wait()
            found.append(current_map())

        threads = [
            threading.Thread(target=contextvars.copy_context().run, args=(ask,))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8 and all(one is current_map() for one in found)


def test_maps_of_other_paths_are_kept_apart(publish, tmp_path):
    current_map().save(tmp_path / "other.map")
    publish()
    with one_map():
        assert (current_map().epoch, current_map(tmp_path / "other.map").epoch) == (
            2,
            1,
        )
        assert shard("frank", str(tmp_path / "other.map")) == "db1"
        with pytest.raises(stead.NotFoundError):
            current_map(tmp_path / "none.map")


def test_the_wsgi_example_says_what_is_wrong(publish, tmp_path, monkeypatch):
    where = importlib.import_module("where")

    def ask(path, file):
        monkeypatch.setattr(where, "MAP", str(tmp_path / file))
        said = []
        body = where.application(
            {"PATH_INFO": path},
            lambda status, headers: said.append((status, dict(headers))),
        )
        assert said[0][1]["Content-Length"] == str(len(b"".join(body)))
        return said[0][0], json.loads(b"".join(body))

    assert ask("/where/frank", "members.map") == (
        "200 OK",
        {"epoch": 1, "key": "frank", "node": "db1", "address": None},
    )
    assert ask("/", "members.map")[0] == "404 Not Found"
    status, said = ask("/where/frank", "none.map")
    assert status == "503 Service Unavailable" and "none.map" in said["error"]
