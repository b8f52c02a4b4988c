"""What the terminal shows: lines that stay, and below them how it stands."""

import sys
import threading
import time


class Terminal:
    """The terminal."""

    def __init__(self):
        self.live, self.lock = sys.stdout.isatty(), threading.Lock()
        self.shown = 0

    def say(self, text):
        """Prints a heading."""
        self.line(f"== {text}")

    def line(self, text):
        """Prints a line that stays."""
        with self.lock:
            clear = "\r\x1b[K" if self.live else ""
            print(f"{clear}{text}", flush=True)

    def status(self, state):
        """Prints how it stands; elsewhere than on a terminal only now and then."""
        counts = state.get("counts")
        if (
            not counts
            or not state["rate"]
            or not self.live
            and time.monotonic() - self.shown < 5
        ):
            return
        self.shown = time.monotonic()
        (rows, due), (photos, _) = state["moved"]
        moves = f", moved {rows:,} rows {photos:,} photos" if due else ""
        text = (
            f"   {state['rate']:,} requests/s, {counts['judged']:,} judged, "
            f"{counts['misses']} misses{moves}"
        )
        with self.lock:
            if self.live:
                print(f"\r\x1b[K{text[:79]}", end="", flush=True)
            else:
                print(text, flush=True)
