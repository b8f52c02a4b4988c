"""What the terminal shows: lines that stay, and below them how it stands."""

import sys
import textwrap
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
        """Prints a line that stays, in as many lines of 79 characters as it needs."""
        indent = " " * (len(text) - len(text.lstrip()) + 2)
        lines = textwrap.wrap(text, 79, subsequent_indent=indent) or [""]
        with self.lock:
            clear = "\r\x1b[K" if self.live else ""
            print(clear + "\n".join(lines), flush=True)

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
