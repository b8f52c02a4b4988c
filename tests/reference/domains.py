"""Fault domains, their caps, and the policies that break the caps: docs/placement.md,
"Fault domains and caps".

A domain is the tuple of the values of a node's first spread labels: ("a",) is zone a,
("a", "1") is rack 1 of zone a, and () is the whole fleet.
"""

from collections import Counter


class Impossible(Exception):
    """Raised for a fleet that cannot hold R copies."""


def chain(node, spread):
    """The domains of a node, from the whole fleet to the innermost domain. The chain
    stops at the first spread label that the node does not have.
    """
    domains = [()]
    for label in spread:
        if label not in node.labels:
            break
        domains.append(domains[-1] + (node.labels[label],))
    return domains


def caps(m):
    """{domain: how many copies of one point it may hold}. Only domains with a node of
    positive weight are included.
    """
    holding = [node for node in m.nodes if node.weight > 0]
    policies = (
        [p for p in m.policies if p.weighted and p.weight > 0]
        if m.replicas == 1
        else []
    )
    if len(holding) + len(policies) < m.replicas:
        raise Impossible(f"{len(holding)} nodes can hold, replicas is {m.replicas}")
    for node in holding:
        if len(chain(node, m.spread)) <= len(m.spread):
            raise Impossible(f"node {node.name} has not all labels of spread")
    count = Counter(domain for node in holding for domain in chain(node, m.spread))
    found = {(): m.replicas}
    for parent in sorted(count, key=len):
        parts = [d for d in count if d[:-1] == parent and d]
        if parts:
            c = next(
                c
                for c in range(1, m.replicas + 1)
                if sum(min(c, count[d]) for d in parts) >= found[parent]
            )
            found.update({d: min(c, count[d]) for d in parts})
    return found


def violations(m, slices, found_caps):
    """The unnamed policies of the slices that have too few or too many nodes, or more
    nodes in a domain than its cap.

    The list has one entry for each such policy and domain; `domain` is [] where the
    number of nodes is wrong. A domain without a node of positive weight has the cap 0.
    """
    firsts, broken = {}, []
    for first, policy in slices:
        firsts.setdefault(policy, []).append(first)
    for policy, points in sorted(firsts.items()):
        p = m.policies[policy]
        nodes = [m.nodes[i] for i in p.members]
        counts = Counter(domain for node in nodes for domain in chain(node, m.spread))
        for domain, count in sorted(counts.items()):
            cap = found_caps.get(domain, 0)
            if not p.named and (count > cap or domain == () and count != cap):
                broken.append(
                    {
                        "policy": [node.name for node in nodes],
                        "domain": list(domain),
                        "count": count,
                        "cap": cap,
                        "first": f"{points[0]:016x}",
                        "slices": [f"{point:016x}" for point in points],
                    }
                )
    return broken


def broken_pins(m, found_caps):
    """(pin, what is wrong) of every pin that breaks a rule of docs/placement.md, "What
    every map keeps".
    """
    broken = []
    for pin in m.pins:
        members = m.policies[pin.policy].members
        nodes = [m.nodes[i] for i in dict.fromkeys(members)]
        if len(nodes) < m.replicas:
            broken.append((pin, f"{len(nodes)} nodes, replicas is {m.replicas}"))
        if len(nodes) < len(members):
            broken.append((pin, "a node twice"))
        counts = Counter(
            domain for node in nodes for domain in chain(node, m.spread)[1:]
        )
        for domain, count in sorted(counts.items()):
            cap = max(1, found_caps.get(domain, 0))
            if count > cap and len(nodes) - count < m.replicas - cap:
                name = "/".join(domain)
                broken.append((pin, f"{count} copies in {name}, its cap is {cap}"))
    return broken
