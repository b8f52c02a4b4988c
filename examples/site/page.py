"""Shows the site while it runs: a page for a browser, which gets an event several times
a second.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import parts


class Page:
    """A web server on loopback. `state` is what the page shows: {word: anything that
    JSON has}.
    """

    def __init__(self):
        self.state, self.changed = {}, threading.Condition()
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path == "/events":
                    page.send_events(self)
                elif self.path == "/":
                    page.send_page(self)
                else:
                    self.send_error(404)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def show(self, **state):
        """Changes what is shown."""
        with self.changed:
            self.state.update(state)
            self.changed.notify_all()

    def send_page(self, request):
        with open(os.path.join(parts.HERE, "page.html"), "rb") as file:
            text = file.read()
        request.send_response(200)
        request.send_header("Content-Type", "text/html; charset=utf-8")
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def send_events(self, request):
        """Sends the state whenever it changes, until the browser leaves."""
        request.send_response(200)
        request.send_header("Content-Type", "text/event-stream")
        request.send_header("Cache-Control", "no-store")
        request.end_headers()
        try:
            while True:
                with self.changed:
                    text = json.dumps(self.state)
                request.wfile.write(f"data: {text}\n\n".encode())
                request.wfile.flush()
                with self.changed:
                    self.changed.wait(1)
        except OSError:
            pass  # it has left

    def close(self):
        self.server.shutdown()
        self.server.server_close()
