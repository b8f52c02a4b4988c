"""A minimum-cost flow, exact for integers of any size.

The algorithm is primal-dual: the potentials are shortest distances from the source
(Dijkstra, on reduced costs), and a maximum flow is sent over the arcs of reduced cost 0
(Dinic). The number of rounds depends on the number of different distances, not on the
capacities, so a capacity of 2^64 is as quick as one of 10. See Ahuja, Magnanti, Orlin,
Network Flows, section 9.8.
"""

import heapq


class Network:
    """A network of arcs, each with a capacity and a cost of 0 or more. An arc and its
    reverse have the numbers 2k and 2k + 1.
    """

    def __init__(self):
        self.head, self.room, self.cost, self.out = [], [], [], {}

    def add(self, tail, head, capacity, cost=0):
        """Adds an arc and returns its number. A vertex is any value that can be the key
        of a dictionary.
        """
        for a, b, room, c in ((tail, head, capacity, cost), (head, tail, 0, -cost)):
            self.out.setdefault(a, []).append(len(self.head))
            self.head.append(b)
            self.room.append(room)
            self.cost.append(c)
        return len(self.head) - 2

    def flow(self, arc):
        """The flow over an arc."""
        return self.room[arc + 1]

    def send(self, source, sink):
        """Sends a maximum flow at the least cost; returns (amount, cost)."""
        self.out.setdefault(source, [])
        potential = dict.fromkeys(self.out, 0)
        amount = 0
        while self.lengthen(potential, source, sink):
            while True:
                levels = self.levels(potential, source, sink)
                if sink not in levels:
                    break
                amount += self.block(potential, levels, source, sink)
        return amount, sum(
            self.flow(arc) * self.cost[arc] for arc in range(0, len(self.head), 2)
        )

    def lengthen(self, potential, source, sink):
        """Adds the reduced distances to the potentials; returns False when the sink
        cannot be reached.
        """
        distance, heap, number = {source: 0}, [(0, 0, source)], 0
        while heap:
            at, _, v = heapq.heappop(heap)
            if v == sink:
                break
            if at > distance[v]:
                continue
            for arc in self.out[v]:
                if self.room[arc]:
                    w = self.head[arc]
                    to = at + self.cost[arc] + potential[v] - potential[w]
                    if w not in distance or to < distance[w]:
                        distance[w], number = to, number + 1
                        heapq.heappush(heap, (to, number, w))
        if sink not in distance:
            return False
        for v in potential:
            potential[v] += min(distance.get(v, distance[sink]), distance[sink])
        return True

    def open(self, potential, v, arc):
        """Whether flow may be sent over an arc out of v now: it has capacity left and
        the reduced cost 0.
        """
        return (
            self.room[arc]
            and self.cost[arc] + potential[v] == potential[self.head[arc]]
        )

    def levels(self, potential, source, sink):
        """{vertex: how many open arcs it is from the source}, as far as the sink."""
        levels, queue = {source: 0}, [source]
        for v in queue:
            if v == sink:
                break
            for arc in self.out[v]:
                w = self.head[arc]
                if w not in levels and self.open(potential, v, arc):
                    levels[w] = levels[v] + 1
                    queue.append(w)
        return levels

    def block(self, potential, levels, source, sink):
        """Sends a blocking flow over the levels; returns its amount."""
        path, v, sent = [], source, 0
        untried = {v: list(self.out[v]) for v in levels}
        while True:
            if v == sink:
                push = min(self.room[arc] for arc in path)
                sent += push
                for arc in path:
                    self.room[arc] -= push
                    self.room[arc ^ 1] += push
                full = next(i for i, arc in enumerate(path) if not self.room[arc])
                v, path = self.head[path[full] ^ 1], path[:full]
            while untried[v]:
                arc = untried[v][-1]
                if levels.get(self.head[arc]) == levels[v] + 1 and self.open(
                    potential, v, arc
                ):
                    break
                untried[v].pop()
            if untried[v]:
                path.append(arc)
                v = self.head[arc]
            elif path:
                v = self.head[path.pop() ^ 1]
                untried[v].pop()
            else:
                return sent
