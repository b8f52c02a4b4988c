"""A site's members, on any number of PostgreSQL shards and directories: a WSGI
application, run by `gunicorn members:application`.

    GET, PUT, DELETE /members/KEY          what a member says about herself
    GET, PUT         /members/KEY/photo    the photo; it is deleted with the member

The map says where a member lives. The attributes of a node are `shard`, a connection
string of PostgreSQL, and `photos`, a directory. Each request opens the pair of maps,
and so does the right thing before, while and after members are carried elsewhere
(docs/carry.md).
"""

import os

import psycopg2
import stead

MAP = os.environ.get("STEAD_MAP", "members.map")
# kept from request to request; a worker of gunicorn handles one request at a time
CONNECTIONS = {}


class Away(Exception):
    """A node does not answer."""


class Member:
    """A member, for one request. The pair is opened once, and used to the end."""

    def __init__(self, key):
        self.key = key
        self.pair = stead.Pair.open(MAP)
        self.databases = {}

    # ---- where to read, and where to write

    def first(self, look):
        """Returns what the first node that answers has, also when that is None. Only a
        node that does not answer at all is passed over: a member that is not there may
        have been deleted a moment ago, and may still stand at the next node. A
        connection that broke says nothing about the node, so a new one is tried.
        """
        for node in self.pair.reads(self.key):
            for _ in range(2):
                try:
                    return look(node)
                except (psycopg2.Error, OSError, Away) as error:
                    failure = error
                    self.forget(node)
        raise Away(f"no node answers: {failure}")

    def everywhere(self, write):
        """Writes at every node of `writes`, one after the other, in that order. If one
        fails, the request fails, and is to be repeated: so a write must be one that
        does no harm the second time.
        """
        nodes = self.pair.writes(self.key)
        try:
            self.lock(nodes)
            for node in nodes:
                write(node)
                self.database(node).execute("COMMIT")
        except (psycopg2.Error, OSError, Away) as error:
            for node in nodes:
                self.forget(node)  # which rolls back, and releases the lock
            raise Away(f"it was not written everywhere: {error}") from error

    def lock(self, nodes):
        """Keeps other writers of this member away, on all hosts, until the end of the
        transactions. Hosts whose carry is one state apart have a node in common. The
        nodes are locked in the order of their names, so that no two writers wait for
        each other.
        """
        for node in sorted(nodes):
            database = self.database(node)
            database.execute("BEGIN")
            database.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [self.key]
            )

    # ---- the row

    def about(self):
        """Returns what the member says about herself; None if there is no member."""

        def look(node):
            database = self.database(node)
            database.execute("SELECT about FROM members WHERE member = %s", [self.key])
            row = database.fetchone()
            return row and row[0].encode()

        return self.first(look)

    def change(self, about):
        """Creates or changes the member. It must not matter whether the row is there:
        the other node may have got it from the carrier.
        """
        self.everywhere(
            lambda node: self.database(node).execute(
                "INSERT INTO members VALUES (%s, %s) "
                "ON CONFLICT (member) DO UPDATE SET about = EXCLUDED.about",
                [self.key, about.decode()],
            )
        )

    def delete(self):
        """Deletes the row and the photo."""

        def write(node):
            self.database(node).execute(
                "DELETE FROM members WHERE member = %s", [self.key]
            )
            try:
                os.unlink(self.file(node))
            except FileNotFoundError:
                pass

        self.everywhere(write)

    # ---- the photo

    def photo(self):
        """Returns the bytes of the photo; None if there is none."""

        def look(node):
            try:
                with open(self.file(node), "rb") as file:
                    return file.read()
            except FileNotFoundError:
                return None

        return self.first(look)

    def put_photo(self, photo):
        """Writes the photo under another name, and renames it to its place: then no
        reader, and no carrier, sees half of it.
        """

        def write(node):
            path = self.file(node)
            fresh = f"{self.root(node)}/.upload-{os.uname().nodename}-{os.getpid()}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(fresh, "wb") as file:
                file.write(photo)
            os.rename(fresh, path)

        self.everywhere(write)

    # ---- the parts of a node

    def database(self, node):
        """Returns a cursor of a node's shard: that of an earlier request, unless the
        server has closed it meanwhile.
        """
        if node in self.databases:
            return self.databases[node]
        shard = self.pair.attribute(node, "shard")
        cursor = CONNECTIONS.get(shard)
        try:
            if cursor:
                cursor.execute("SELECT 1")
        except psycopg2.Error:
            cursor = None
        if not cursor:
            # the carrier holds a row for milliseconds; whoever waits longer gives up
            connection = psycopg2.connect(shard, options="-c lock_timeout=5s")
            connection.autocommit = True
            cursor = CONNECTIONS[shard] = connection.cursor()
        self.databases[node] = cursor
        return cursor

    def forget(self, node):
        """Closes the connection to a node's shard."""
        cursor = self.databases.pop(node, None)
        if cursor:
            cursor.connection.close()

    def root(self, node):
        """Returns the directory of a node. One that is not mounted looks like one
        without photos, so a file in it says whose it is.
        """
        root = self.pair.attribute(node, "photos")
        if not os.path.exists(f"{root}/.node"):
            raise Away(f"{root} is not mounted")
        return root

    def file(self, node):
        """Returns the path of the photo at a node."""
        return f"{self.root(node)}/{stead.path(self.key, levels=[64])}"


def application(environ, start_response):
    """The application."""
    _, place, key, *rest = [*environ["PATH_INFO"].split("/"), "", ""]
    asked = environ["REQUEST_METHOD"], rest[:-2]
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    headers = []
    status, found = "200 OK", b""
    try:
        if place != "members" or not key:
            asked = None
        else:
            member = Member(key)
            state = member.pair.state or "closed"
            headers.append(("X-Map", f"{member.pair.new.epoch} {state}"))
        if asked == ("GET", []):
            found = member.about()
        elif asked == ("PUT", []):
            member.change(body)
        elif asked == ("DELETE", []):
            member.delete()
        elif asked == ("GET", ["photo"]):
            found = member.photo()
        elif asked == ("PUT", ["photo"]):
            member.put_photo(body)
        else:
            found = None
        if found is None:
            status, found = "404 Not Found", b"there is no such thing\n"
    except (Away, stead.Error) as error:
        # nothing is wrong with the request: it may be sent again
        status, found = "503 Service Unavailable", f"{error}\n".encode()
        headers.append(("Retry-After", "1"))
    headers.append(("Content-Length", str(len(found))))
    start_response(status, headers)
    return [found]
