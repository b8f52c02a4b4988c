"""A reader of members' photos; reader.php and reader.pl do the same.

    run DIRECTORY USERS STOP     looks for random users of the file, one request and one millisecond each, until the file STOP exists; prints
                                 "ready" after 100
    list DIRECTORY USERS HOW     looks for each user of the file once. HOW: "look", or the numbers of places: 0 is the new one, 1 the old one
    pause DIRECTORY USER HOW     looks in the first of these places, reports it, waits for a line, looks in the others, prints what it found
    stale DIRECTORY USER         begins a request, reports it, waits for a line; prints what it finds in the places of the beginning, and by look

`run` and `list` print at the end: looks, looks for users that move, misses, wrong
photos.
"""

import os
import random
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples", "members"))
sys.dont_write_bytecode = True

from members import Members

what, directory, *arguments = sys.argv[1:]
counts = {"looks": 0, "moving": 0, "misses": 0, "wrong": 0}


def read(paths):
    """Returns the photo in the first of these places that has one."""
    for path in paths:
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            pass
    return None


def chosen(places, how):
    """Returns the places with these numbers; a user that does not move has only one."""
    return [places[int(number) % len(places)] for number in how]


def count(user, photo, places):
    counts["looks"] += 1
    counts["moving"] += len(places) > 1
    counts["misses"] += photo is None
    counts["wrong"] += photo not in (None, b"photo of " + user + b"\n")


def users():
    with open(arguments[0], "rb") as file:
        return file.read().split(b"\n")[:-1]


def waited(said):
    print(said, flush=True)
    sys.stdin.readline()


if what == "run":
    all_users = users()
    while not os.path.exists(arguments[1]):
        user, members = random.choice(all_users), Members(directory)
        places = members.places(user)
        count(user, members.look(user), places)
        if counts["looks"] == 100:
            print("ready", flush=True)
        time.sleep(0.001)
elif what == "list":
    for user in users():
        members = Members(directory)
        places = members.places(user)
        count(
            user,
            members.look(user)
            if arguments[1] == "look"
            else read(chosen(places, arguments[1])),
            places,
        )
elif what == "pause":
    user, how = os.fsencode(arguments[0]), arguments[1]
    places = chosen(Members(directory).places(user), how)
    photo = read(places[:1])
    waited("absent" if photo is None else "found")
    photo = photo if photo is not None else read(places[1:])
    print("absent" if photo is None else "found")
elif what == "stale":
    user, members = os.fsencode(arguments[0]), Members(directory)
    places = members.places(user)
    waited("found" if read(places) else "absent")
    print(
        "found" if read(places) else "absent",
        "found" if members.look(user) else "absent",
    )
if what in ("run", "list"):
    print(*counts.values())
