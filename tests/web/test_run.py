"""The way in which epochs are published during a load."""

from types import SimpleNamespace

import pytest
import web_run
from web_run import publish_during


def test_the_first_answers_may_come_after_the_first_epoch(monkeypatch):
    """As on a busy machine, where all workers had read the second map before any of their
    answers was recorded.
    """
    monkeypatch.setattr(web_run, "PATIENCE", 0.1)
    answers, epochs = [], {1: "before the load"}

    def publish():
        epochs[len(epochs) + 1] = "published"
        answers.extend(
            SimpleNamespace(worker=worker, said={"epoch": len(epochs)})
            for worker in ("one", "two", "three")
            for _ in range(9)
        )

    publisher = SimpleNamespace(epochs=epochs, publish=publish)
    for _ in publish_during(answers, publisher, 5):
        pass
    assert len(epochs) == 6


def test_epochs_wait_for_workers_that_read_none_of_them(monkeypatch):
    """Else no fault could have been visible."""
    monkeypatch.setattr(web_run, "PATIENCE", 0.1)
    answers, epochs = [], {1: "before the load"}

    def publish():
        epochs[len(epochs) + 1] = "published"
        answers.extend([SimpleNamespace(worker="one", said={"epoch": 1})] * 99)

    publisher = SimpleNamespace(epochs=epochs, publish=publish)
    with pytest.raises(AssertionError, match="answers, epochs"):
        for _ in publish_during(answers, publisher, 5):
            pass
    assert len(epochs) == 3
