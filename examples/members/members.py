"""Finds a member's photo and rows. Create a Members object for each request: it costs a
stat or two, and sees the newest maps.

    python3 members.py DIRECTORY USER...      USER<TAB>photo<TAB>database
"""

import functools
import os
import sys

import stead


@functools.lru_cache(maxsize=8)  # maps with the same digest are equal
def attributes(map, name):
    """Returns {node: value of the attribute}."""
    return {node.name: node.attributes[name] for node in map.nodes}


def place(map, user):
    """Returns the file of a member's photo, under one map."""
    return f"{attributes(map, 'mount')[map.locate(user)]}/{stead.path(user)}"


class Members:
    """The maps of a directory: photos.map, shards.map and, while files move,
    photos.map.before. A user is bytes, or a str, which stands for its UTF-8.
    """

    def __init__(self, directory):
        self._directory = directory
        self._maps = self._open()

    def _open(self):
        now = stead.Map.open(os.path.join(self._directory, "photos.map"))
        try:
            return now, stead.Map.open(
                os.path.join(self._directory, "photos.map.before")
            )
        except stead.NotFoundError:
            return now, now

    def shard(self, user):
        """The database that has the member's rows."""
        shards = stead.Map.open(os.path.join(self._directory, "shards.map"))
        return attributes(shards, "dsn")[shards.locate(user)]

    def photo(self, user):
        """The file where the member's photo belongs. An upload is written under a
        temporary name, then renamed to this one.
        """
        return place(self._maps[0], user)

    def places(self, user):
        """The files in which to look for the photo, in this order; only one, unless the
        photo moves.
        """
        new, old = (place(map, user) for map in self._maps)
        return [new] if new == old else [new, old, new]

    def look(self, user):
        """The member's photo; None if there is none."""
        while True:
            for path in self.places(user):
                try:
                    with open(path, "rb") as file:
                        return file.read()
                except FileNotFoundError:
                    pass
            # a request that began before the move looks only in the old place; a photo
            # is missing only if it is missing under the newest maps
            before, self._maps = self._maps, self._open()
            if self._maps == before:
                return None


def main(directory, *users):
    members = Members(directory)
    for user in map(os.fsencode, users):
        sys.stdout.buffer.write(
            b"%b\t%b\t%b\n"
            % (user, os.fsencode(members.photo(user)), members.shard(user).encode())
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
