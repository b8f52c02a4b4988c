"use strict";

// From a key to its nodes, as docs/placement.md says: fold, key rule, hash, cell, point, final
// slice, policy. The map comes from the page, where the program wrote it.

class Places {
  // Reads what the page holds of a map.
  constructor(data) {
    this.hash = data.hash;
    this.cells = BigInt(data.cells);
    this.modulo = data.modulo;
    this.segments = data.segments;
    this.policies = data.policies;
    this.nodes = data.nodes;
    const firsts = bytesOf(data.firsts);
    this.count = firsts.byteLength / 8;
    this.first = (slice) => firsts.getBigUint64(8 * slice, true);
    const again = new Map(data.again);
    let fresh = 0;
    this.owners = Array.from({ length: this.count }, (_, slice) =>
      again.has(slice) ? again.get(slice) : fresh++,
    );
  }

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

  // The number of the slice that owns a point: the last that does not start above it.
  sliceOf(point) {
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

  // The numbers of the nodes of a point, primary first; with the slice and the policy.
  at(point) {
    const slice = this.sliceOf(point);
    const end =
      slice + 1 < this.count ? this.first(slice + 1) - 1n : (1n << 64n) - 1n;
    const policy = this.owners[slice];
    return {
      first: this.first(slice),
      last: end,
      policy,
      nodes: this.policies[policy],
    };
  }
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
