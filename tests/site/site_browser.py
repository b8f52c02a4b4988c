"""A headless Chromium, spoken to over its pipe: opens a page, reads it, photographs it."""

import base64
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
        self.profile = tempfile.TemporaryDirectory(prefix="stead-chromium-")

    def __enter__(self):
        # Chromium reads its file descriptor 3, and writes 4
        theirs, self.to = os.pipe()
        self.of, also_theirs = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu"]
        command += ["--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"]
        shell = f'exec "$@" 3<&{theirs} 4>&{also_theirs}'
        self.process = subprocess.Popen(
            ["sh", "-c", shell, "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs, also_theirs],
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
        os.close(self.to)
        os.close(self.of)
        self.process.kill()
        self.process.wait()
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
        taken = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(taken["data"]))
