"""A visitor of members' photos; visitor.php and visitor.pl do the same.

    DIRECTORY USERS STOP     looks for, uploads and removes photos of random users of the
                             file, one request and one millisecond each, until the file
                             STOP exists

Nobody else works on these users, and their photo is "USER 0" at the start. So it knows
what must be there. It prints "ready" after 100 requests; at the end the numbers of
looks, uploads, removals and wrong answers, and each user with the text of her photo,
which is empty if there is none.
"""

import os
import random
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "examples", "members"))
sys.dont_write_bytecode = True

from members import Members

_, directory, file, stop = sys.argv
with open(file, "rb") as names:
    due = {user: user + b" 0" for user in names.read().split(b"\n")[:-1]}
users = list(due)
counts = {"looks": 0, "uploads": 0, "removals": 0, "wrong": 0}
turn = 0
while not os.path.exists(stop):
    turn += 1
    user, members, dice = random.choice(users), Members(directory), random.random()
    if dice < 0.7:
        counts["looks"] += 1
        counts["wrong"] += members.look(user) != due[user]
    elif dice < 0.9:
        counts["uploads"] += 1
        photo = b"%b %d" % (user, turn)
        members.upload(user, photo)
        due[user] = photo
    else:
        counts["removals"] += 1
        members.remove(user)
        due[user] = None
    if turn == 100:
        print("ready", flush=True)
    time.sleep(0.001)
print(*counts.values(), flush=True)
for user, photo in due.items():
    sys.stdout.buffer.write(b"%b\t%b\n" % (user, photo or b""))
