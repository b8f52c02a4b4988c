"""Finds, writes and removes a member's photo, and says where her rows are. Create a
Members object for each request: it sees the newest maps, and the state of a carry.

    python3 members.py DIRECTORY USER...      USER<TAB>photo<TAB>database
"""

import os
import sys

import stead


class Members:
    """The maps of a directory: photos.map and shards.map. A user is bytes, or a str,
    which stands for its UTF-8.
    """

    def __init__(self, directory):
        self.photos = stead.Pair.open(os.path.join(directory, "photos.map"))
        self.shards = stead.Pair.open(os.path.join(directory, "shards.map"))

    def shard(self, user):
        """The database in which to read the member's rows."""
        return self.shards.attribute(self.shards.reads(user)[0], "dsn")

    def photo(self, user):
        """The file in which to read the member's photo."""
        return self.file(self.photos.reads(user)[0], user)

    def file(self, node, user):
        """The file of the photo at a NAS. One that is not mounted looks like one
        without photos, so a file in it says whose it is.
        """
        mount = self.photos.attribute(node, "mount")
        if not os.path.exists(f"{mount}/.node"):
            raise OSError(f"{mount} is not mounted")
        return f"{mount}/{stead.path(user)}"

    def look(self, user):
        """The member's photo; None if there is none."""
        try:
            with open(self.photo(user), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def upload(self, user, photo):
        """Writes the photo to every place, in this order. Each is written under another
        name and renamed, so that nobody sees half of it. Whoever gets an error repeats
        the upload.
        """
        for node in self.photos.writes(user):
            path = self.file(node, user)
            mount = self.photos.attribute(node, "mount")
            fresh = f"{mount}/.upload-{os.uname().nodename}-{os.getpid()}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(fresh, "wb") as file:
                file.write(photo)
            os.rename(fresh, path)

    def remove(self, user):
        """Removes the photo from every place, in this order."""
        for node in self.photos.writes(user):
            try:
                os.unlink(self.file(node, user))
            except FileNotFoundError:
                pass


def main(directory, *users):
    members = Members(directory)
    for user in map(os.fsencode, users):
        sys.stdout.buffer.write(
            b"%b\t%b\t%b\n"
            % (user, os.fsencode(members.photo(user)), members.shard(user).encode())
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
