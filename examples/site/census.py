"""Counts what is on the shards and in the directories, by reading all of it."""

import os

import psycopg2
import stead
import visitors


class Census:
    """Where each row and each photo is: {key: {node: content}}. The nodes are
    {name: (connection string, directory)}.
    """

    def __init__(self, nodes):
        self.rows, self.photos = {}, {}
        for node, (shard, root) in nodes.items():
            connection = psycopg2.connect(shard)
            with connection.cursor() as cursor:
                cursor.execute("SELECT member, about FROM members")
                for key, about in cursor:
                    self.rows.setdefault(key, {})[node] = about.encode()
            connection.close()
            for directory, _, names in os.walk(root):
                for name in names:
                    if name.startswith(".") or "/.stead-carry." in directory:
                        # the marker, a photo on its way, or what the carry keeps
                        continue
                    path = os.path.join(directory, name)
                    key = stead.path_name(path, levels=[64]).decode()
                    with open(path, "rb") as file:
                        self.photos.setdefault(key, {})[node] = file.read()

    def moved(self, moving):
        """How many of the keys that move are there: (rows, photos)."""
        return len(moving & self.rows.keys()), len(moving & self.photos.keys())

    def judge(self, truth, map):
        """Compares with what the visitors know: the numbers of what is lost, twice, or
        there again after it was deleted.
        """
        found = {"lost": 0, "twice": 0, "back": 0}
        for key, numbers in truth.items():
            for number, places, content in zip(
                numbers, (self.rows, self.photos), (visitors.about, visitors.photo)
            ):
                there = places.get(key, {})
                if number is None:
                    found["back"] += bool(there)
                    continue
                due = content(key, number)
                found["lost"] += there.get(map.locate(key)) != due
                found["twice"] += len(there) > 1
        return found


def fill(nodes, map, truth):
    """Puts the members that are there from the start where the map places them."""
    rows = {node: [] for node in nodes}
    for key, (text, picture) in truth.items():
        node = map.locate(key)
        if text is not None:
            rows[node].append((key, visitors.about(key, text).decode()))
        if picture is not None:
            path = os.path.join(nodes[node][1], stead.path(key, levels=[64]))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(visitors.photo(key, picture))
    for node, (shard, _) in nodes.items():
        connection = psycopg2.connect(shard)
        with connection, connection.cursor() as cursor:
            cursor.executemany("INSERT INTO members VALUES (%s, %s)", rows[node])
        connection.close()


def count(nodes, moving):
    """Returns how many rows and photos have keys that move, while visitors work."""
    glance = Glance()
    found = glance.look(nodes).values()
    glance.close()
    return sum(len(keys & moving) for kinds in found for keys in kinds)


class Glance:
    """Lists rows and photos quickly, for the picture while it runs."""

    def __init__(self):
        self.connections = {}

    def look(self, nodes):
        """Returns {node: (keys of the rows, keys of the photos)}."""
        found = {}
        for node, (shard, root) in nodes.items():
            rows = self.rows(node, shard)
            photos = set()
            for entry in os.scandir(root):
                if entry.is_dir() and not entry.name.startswith("."):
                    # names of these members stand in paths as they are
                    photos.update(os.listdir(entry))
            found[node] = rows, photos
        return found

    def rows(self, node, shard):
        """Returns the keys of the rows of a node."""
        for again in (False, True):
            if again or node not in self.connections:
                self.connections[node] = psycopg2.connect(shard)
                self.connections[node].autocommit = True
            try:
                with self.connections[node].cursor() as cursor:
                    cursor.execute("SELECT member FROM members")
                    return {key for (key,) in cursor}
            except psycopg2.OperationalError:
                if again:
                    raise

    def close(self):
        """Closes all connections."""
        for connection in self.connections.values():
            connection.close()
