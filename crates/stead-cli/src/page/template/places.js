"use strict";

// From a key to its nodes, as docs/placement.md says: fold, key rule, hash, cell, point, final
// slice, policy; and on to the nodes that take over, and to those of a carry. The maps come from the
// page, where the program wrote them.

// A table of slices: where each starts, and the number of its policy.
class Slices {
  // `fresh` is the number of the first policy that no table has named yet.
  constructor(data, fresh) {
    const firsts = bytesOf(data.firsts);
    this.count = firsts.byteLength / 8;
    this.first = (slice) => firsts.getBigUint64(8 * slice, true);
    const again = new Map(data.again);
    this.policies = Array.from({ length: this.count }, (_, slice) =>
      again.has(slice) ? again.get(slice) : fresh++,
    );
    this.fresh = fresh;
  }

  // The number of the slice that owns a point: the last that does not start above it.
  of(point) {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.first(middle) > point) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low - 1;
  }

  last(slice) {
    return slice + 1 < this.count ? this.first(slice + 1) - 1n : LAST;
  }
}

class Places {
  // Reads what the page holds of a map.
  constructor(data) {
    this.hash = data.hash;
    this.cells = BigInt(data.cells);
    this.modulo = data.modulo;
    this.segments = data.segments;
    this.policies = data.policies;
    this.nodes = data.nodes;
    this.slices = new Slices(data.slices, 0);
    this.base = data.base
      ? new Slices(data.base, this.slices.fresh)
      : this.slices;
    this.domains = data.domains;
    const held = new Set(this.base.policies);
    this.holding = new Set(
      [...held].flatMap((policy) => this.policies[policy].map(this.domain)),
    );
    this.holding.delete(null);
  }

  // The number of a node's outermost domain, or null.
  domain = (node) => this.domains[node] ?? null;

  // The point of a key, which is an array of bytes. Only siphash needs the secret.
  point(key, fold = false, secret = []) {
    const folded = fold ? key.map(lower) : key;
    const hashed = this.hashed(folded);
    const cell = this.modulo
      ? Hashes.number(this.hash, hashed, secret) % this.cells
      : (Hashes.point(this.hash, hashed, secret) * this.cells) >> 64n;
    return ((cell << 64n) + this.cells - 1n) / this.cells;
  }

  // The part of a key that is hashed: all of it, or its first segments.
  hashed(key) {
    if (this.segments === 0) {
      return key;
    }
    const start = key.findIndex((byte) => byte !== 0x2f);
    const rest = start < 0 ? [] : key.slice(start);
    let left = this.segments;
    const end = rest.findIndex((byte) => byte === 0x2f && --left === 0);
    return end < 0 ? rest : rest.slice(0, end);
  }

  // The numbers of the nodes of a point, primary first; with the slice and the policy.
  at(point) {
    const slice = this.slices.of(point);
    const policy = this.slices.policies[slice];
    return {
      first: this.slices.first(slice),
      last: this.slices.last(slice),
      policy,
      nodes: this.policies[policy],
    };
  }

  // Up to n distinct nodes of a point, best first: its own, then those that take over.
  prefer(point, n) {
    const list = [];
    const room = Math.min(n, this.nodes.length);
    const push = (node) => {
      if (list.length < room && !list.includes(node)) {
        list.push(node);
      }
    };
    const isFresh = (node) =>
      this.holding.has(this.domain(node)) &&
      list.every((other) => this.domain(other) !== this.domain(node));
    this.at(point).nodes.forEach(push);
    for (let j = 1n; j <= DRAWS && list.length < room; j++) {
      const slice = this.base.of(mix(point, j));
      for (const node of this.policies[this.base.policies[slice]]) {
        const taken = new Set(list.map(this.domain));
        const isAnyFresh = [...this.holding].some((d) => !taken.has(d));
        if (!isAnyFresh || this.domain(node) === null || isFresh(node)) {
          push(node);
        }
      }
    }
    this.nodes.forEach((_, node) => push(node));
    return list;
  }
}

// A map with an open carry, and the map where the data was. Nodes have the numbers of the map;
// those that only the other map has follow them.
class Pair {
  constructor(now, from, carry) {
    this.now = now;
    this.from = from;
    this.numbers = carry.numbers;
    this.state = carry.state;
    this.names = [...now.nodes];
    from.nodes.forEach((name, node) => {
      if (this.numbers[node] >= now.nodes.length) {
        this.names[this.numbers[node]] = name;
      }
    });
  }

  // The nodes of a point in the map where the data was.
  before(point) {
    return this.from.at(point).nodes.map((node) => this.numbers[node]);
  }

  // The nodes to write a point to, in this order, each once.
  writes(point) {
    const [before, now] = [this.before(point), this.now.at(point).nodes];
    const lists = {
      old: before,
      both_old_first: [...before, ...now],
      both_new_first: [...now, ...before],
      new: now,
    };
    return [...new Set(lists[this.state])];
  }

  // The nodes to read a point from. While data is copied to new places, they are not read.
  reads(point) {
    return this.state === "both_old_first"
      ? [...new Set(this.before(point))]
      : this.writes(point);
  }
}

const LAST = (1n << 64n) - 1n;
// The number of draws of prefer.
const DRAWS = 64n;

// The j-th draw for a point: the output step of SplitMix64.
function mix(point, j) {
  let z = (point + j * 0x9e3779b97f4a7c15n) & LAST;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & LAST;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & LAST;
  return z ^ (z >> 31n);
}

// Upper-case letters of ASCII become lower-case ones; no other byte changes.
function lower(byte) {
  return byte >= 0x41 && byte <= 0x5a ? byte + 32 : byte;
}

function bytesOf(base64) {
  const text = atob(base64);
  return new DataView(
    Uint8Array.from(text, (letter) => letter.charCodeAt(0)).buffer,
  );
}

// 16 hex digits.
function hexOf(point) {
  return point.toString(16).padStart(16, "0");
}
