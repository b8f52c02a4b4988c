"""gunicorn with several workers answers while `stead apply` publishes 50 epochs."""

import pytest
import web_run
from web_judge import by_worker
from web_load import load
from web_publisher import Publisher
from web_run import ask_until_all_answered, publish_during
from web_server import Server, Uvicorn, memory

EPOCHS = 50
# The map has 0.4 MB, so 40 maps that are kept take 16 MB
MEMORY = 6 << 20
KINDS = {
    "sync": (["--worker-class", "sync"], False),
    "gthread": (["--worker-class", "gthread", "--threads", "4"], True),
    "preloaded": (["--worker-class", "gthread", "--threads", "4", "--preload"], True),
    "uvicorn": ([], True),
}
APPLICATIONS = {
    "where": [("GET", "where")],
    "django": [("GET", "twice"), ("POST", "members")],
    "flask": [("GET", "where?key=")],
    "fastapi": [("GET", "where?key=")],
    "controls": [("GET", "twice"), ("GET", "never"), ("GET", "hoard")],
}


class Run(web_run.Run):
    """The result of a load during 50 epochs."""

    def __init__(self, application, kind, scratch, epochs=EPOCHS, **environment):
        options, keep = KINDS[kind]
        publisher = Publisher(scratch)
        publisher.publish()
        with (Uvicorn if kind == "uvicorn" else Server)(
            application, scratch, *options, **environment
        ) as server:
            warm_up(server, APPLICATIONS[application])
            self.workers = server.workers()
            with load(server.address, APPLICATIONS[application], keep) as self.answers:
                for _ in publish_during(self.answers, publisher, epochs):
                    if len(publisher.epochs) == 10:
                        before = {worker: memory(worker) for worker in self.workers}
            self.end(server, publisher, before, *APPLICATIONS[application][0])


def warm_up(server, requests):
    """Waits until every worker has answered once, so that imports are not part of the
    load.
    """
    for method, kind in requests:
        ask_until_all_answered(server, method, kind)


@pytest.mark.parametrize(
    ("application", "kind"),
    [
        ("where", "sync"),
        ("where", "preloaded"),
        ("django", "sync"),
        ("django", "gthread"),
        ("flask", "gthread"),
        ("fastapi", "uvicorn"),
    ],
)
def test_every_answer_is_of_one_map_and_of_the_newest(
    application, kind, databases, record_property
):
    run = Run(
        application,
        kind,
        databases,
        **({"OPEN_AT_IMPORT": "1"} if kind == "preloaded" else {}),
    )
    changed = run.check(EPOCHS, MEMORY, record_property)
    # the cache holds the newest map; a change during the last request may have left one
    # more
    assert max(run.open_maps.values()) <= 1
    # a fault would have been visible: the workers answered often, and during changes
    assert sum(changed.values()) >= EPOCHS // 2
    assert sum(map(len, by_worker(run.answers).values())) > 2 * EPOCHS
    if application == "django":
        assert {answer.kind for answer in run.answers} == {"twice", "members"}


def test_the_judge_catches_applications_that_are_written_wrong(
    tmp_path, record_property
):
    run = Run("controls", "gthread", tmp_path)
    record_property("faults", run.control_faults())
    run.check_controls(EPOCHS)
    # an application that keeps every map is detected by its memory
    assert max(run.growth.values()) > MEMORY


def test_the_judge_catches_django_without_the_middleware(databases, record_property):
    run = Run("django", "gthread", databases, epochs=20, CONTROL="no middleware")
    record_property("faults", dict(run.faults()))
    assert run.faults("twice")["mixed"] >= 1
