"""Runs servers that tell which of them was asked: `answering.py PLACE...`, where each
PLACE is HOST:PORT or the path of a socket.

Each server answers `get KEY...` of memcached's protocol and `GET KEY` of Redis' protocol
with its number, from 0. The program prints a line when all servers listen, or exits with
3 if a place is taken. It runs until its standard input ends.
"""

import asyncio
import sys


async def answer(number, reader, writer):
    """Serves a connection."""
    own = b"%d" % number
    while line := await reader.readline():
        if line.startswith(b"*"):  # an array of bulk strings: GET and the key
            for _ in range(int(line[1:])):
                length = int((await reader.readline())[1:])
                await reader.readexactly(length + 2)
            said = b"$%d\r\n%b\r\n" % (len(own), own)
        else:
            said = b"".join(
                b"VALUE %b 0 %d\r\n%b\r\n" % (key, len(own), own)
                for key in line.rstrip(b"\r\n").split(b" ")[1:]
                if key
            )
            said += b"END\r\n"
        writer.write(said)
        await writer.drain()
    writer.close()


async def main(places):
    """Listens at all of them."""
    for number, place in enumerate(places):

        async def serve(reader, writer, number=number):
            await answer(number, reader, writer)

        host, _, port = place.rpartition(":")
        try:
            if place.startswith("/"):
                await asyncio.start_unix_server(serve, place)
            else:
                await asyncio.start_server(serve, host, int(port))
        except OSError:
            sys.exit(3)
    print("listening", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


asyncio.run(main(sys.argv[1:]))
