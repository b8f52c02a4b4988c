"""A headless Chromium, spoken to over its pipe: opens a page, reads it, photographs it."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import tempfile


def find():
    """Returns the path of a Chromium; None when there is none."""
    names = ("chromium-headless-shell", "chromium", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """A context manager with one page of this size."""

    def __init__(self, width, height):
        self.size = {"width": width, "height": height}
        self.number, self.read = 0, b""
        self.profile = tempfile.TemporaryDirectory(
            prefix="stead-chromium-", ignore_cleanup_errors=True
        )

    def __enter__(self):
        # Chromium reads its file descriptor 3, and writes 4
        theirs, self.to = os.pipe()
        self.of, also_theirs = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]

        def give():
            # out of the way first, in case they have these numbers
            pipes = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (theirs, also_theirs)]
            os.dup2(pipes[0], 3)
            os.dup2(pipes[1], 4)

        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=give,  # noqa: PLW1509  no thread of this process is in a library
        )
        os.close(theirs)
        os.close(also_theirs)
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **self.size,
            deviceScaleFactor=1,
            mobile=False,
        )
        return self

    def __exit__(self, *_):
        self.session = None
        self.call("Browser.close")
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.of)
        self.profile.cleanup()

    def call(self, method, **parameters):
        """Calls a method of the DevTools protocol, and returns its result."""
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.to, json.dumps(asked).encode() + b"\0")
        while True:
            while b"\0" not in self.read:
                more = os.read(self.of, 1 << 20)
                assert more, "Chromium has ended"
                self.read += more
            line, _, self.read = self.read.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, url):
        self.call("Page.navigate", url=url)

    def value(self, expression):
        """Returns the value of an expression of JavaScript."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def picture(self, file):
        """Writes a picture of the whole page, as a PNG."""
        whole = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "scale": 1, **self.size}
        clip["height"] = max(whole["height"], self.size["height"])
        taken = self.call(
            "Page.captureScreenshot", captureBeyondViewport=True, clip=clip
        )
        file.write_bytes(base64.b64decode(taken["data"]))
