"""A connection to a server that speaks Redis' protocol."""

import socket

import rings


class Client:
    """A connection that speaks RESP 2; its answers are bytes, numbers and lists."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), rings.PATIENCE)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        return self.ask_many([words])[0]

    def ask_many(self, commands):
        """Sends commands together; their answers."""
        answers = []
        for at in range(0, len(commands), 1000):
            some = commands[at : at + 1000]
            words = [
                [
                    word if isinstance(word, bytes) else str(word).encode()
                    for word in command
                ]
                for command in some
            ]
            self.socket.sendall(
                b"".join(
                    b"*%d\r\n" % len(c)
                    + b"".join(b"$%d\r\n%b\r\n" % (len(w), w) for w in c)
                    for c in words
                )
            )
            answers += [self.answer() for _ in some]
        return answers

    def answer(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        assert kind == b"+", line
        return rest

    def close(self):
        self.file.close()
        self.socket.close()
