"use strict";

// The hashes of docs/placement.md: stead's own four, and those of adopted rings. They are written
// out plainly, and work on one key at a time. No number of 64 bits passes through a Number.

const Hashes = (() => {
  const MASK = (1n << 64n) - 1n;

  // A little-endian number in the middle of some bytes.
  function word(bytes, at, size = 8) {
    let number = 0n;
    for (let i = size - 1; i >= 0; i--) {
      number = (number << 8n) | BigInt(bytes[at + i]);
    }
    return number;
  }

  // Bytes as a big-endian number.
  function big(bytes) {
    return bytes.reduce((number, byte) => (number << 8n) | BigInt(byte), 0n);
  }

  // Rotates a number of 64 bits to the left.
  function rotate(number, bits) {
    return ((number << bits) | (number >> (64n - bits))) & MASK;
  }

  // Rotates a number of 32 bits to the left.
  function turn(number, bits) {
    return (number << bits) | (number >>> (32 - bits));
  }

  // ---- MD5 (RFC 1321) and SHA-1 (RFC 3174)

  // The key, 0x80, zeros, and the length in bits, as blocks of 64 bytes.
  function padded(key, isLittle) {
    const view = new DataView(
      new ArrayBuffer(64 * Math.ceil((key.length + 9) / 64)),
    );
    key.forEach((byte, i) => view.setUint8(i, byte));
    view.setUint8(key.length, 0x80);
    view.setBigUint64(view.byteLength - 8, BigInt(key.length) * 8n, isLittle);
    return view;
  }

  function digest(state, isLittle) {
    const view = new DataView(new ArrayBuffer(4 * state.length));
    state.forEach((number, i) => view.setUint32(4 * i, number, isLittle));
    return Array.from(new Uint8Array(view.buffer));
  }

  // floor(2^32 * |sin(i + 1)|), as RFC 1321 lists them.
  const SINES = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
    0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
    0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
    0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
    0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
    0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
    0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
    0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
    0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
  ];
  const TURNS = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
  ];

  function md5(key) {
    const view = padded(key, true);
    const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
    for (let at = 0; at < view.byteLength; at += 64) {
      let [a, b, c, d] = state;
      for (let i = 0; i < 64; i++) {
        const round = i >> 4;
        const [mixed, part] = [
          [(b & c) | (~b & d), i],
          [(d & b) | (~d & c), (5 * i + 1) % 16],
          [b ^ c ^ d, (3 * i + 5) % 16],
          [c ^ (b | ~d), (7 * i) % 16],
        ][round];
        const sum =
          (a + mixed + SINES[i] + view.getUint32(at + 4 * part, true)) | 0;
        [a, d, c] = [d, c, b];
        b = (b + turn(sum, TURNS[round][i % 4])) | 0;
      }
      [a, b, c, d].forEach((part, i) => (state[i] = (state[i] + part) | 0));
    }
    return digest(state, true);
  }

  function sha1(key) {
    const view = padded(key, false);
    const state = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
    const words = new Array(80);
    for (let at = 0; at < view.byteLength; at += 64) {
      for (let i = 0; i < 80; i++) {
        words[i] =
          i < 16
            ? view.getInt32(at + 4 * i)
            : turn(
                words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16],
                1,
              );
      }
      let [a, b, c, d, e] = state;
      for (let i = 0; i < 80; i++) {
        const [mixed, constant] = [
          [(b & c) | (~b & d), 0x5a827999],
          [b ^ c ^ d, 0x6ed9eba1],
          [(b & c) | (b & d) | (c & d), 0x8f1bbcdc],
          [b ^ c ^ d, 0xca62c1d6],
        ][Math.floor(i / 20)];
        const sum = (turn(a, 5) + mixed + e + constant + words[i]) | 0;
        [e, d, c, b, a] = [d, c, turn(b, 30), a, sum];
      }
      [a, b, c, d, e].forEach((part, i) => (state[i] = (state[i] + part) | 0));
    }
    return digest(state, false);
  }

  // ---- SipHash-2-4 (Aumasson and Bernstein)

  function sipRound(v) {
    v[0] = (v[0] + v[1]) & MASK;
    v[1] = rotate(v[1], 13n) ^ v[0];
    v[0] = rotate(v[0], 32n);
    v[2] = (v[2] + v[3]) & MASK;
    v[3] = rotate(v[3], 16n) ^ v[2];
    v[0] = (v[0] + v[3]) & MASK;
    v[3] = rotate(v[3], 21n) ^ v[0];
    v[2] = (v[2] + v[1]) & MASK;
    v[1] = rotate(v[1], 17n) ^ v[2];
    v[2] = rotate(v[2], 32n);
  }

  function siphash(key, secret) {
    const [k0, k1] = [word(secret, 0), word(secret, 8)];
    const v = [
      k0 ^ 0x736f6d6570736575n,
      k1 ^ 0x646f72616e646f6dn,
      k0 ^ 0x6c7967656e657261n,
      k1 ^ 0x7465646279746573n,
    ];
    const zeros = new Array(7 - (key.length % 8)).fill(0);
    const bytes = [...key, ...zeros, key.length % 256];
    for (let at = 0; at < bytes.length; at += 8) {
      const message = word(bytes, at);
      v[3] ^= message;
      sipRound(v);
      sipRound(v);
      v[0] ^= message;
    }
    v[2] ^= 0xffn;
    for (let i = 0; i < 4; i++) {
      sipRound(v);
    }
    return v[0] ^ v[1] ^ v[2] ^ v[3];
  }

  // ---- XXH3 with 64 bits and seed 0, and XXH64 (the specification of xxHash)

  const PRIME32_1 = 0x9e3779b1n;
  const PRIME32_2 = 0x85ebca77n;
  const PRIME32_3 = 0xc2b2ae3dn;
  const PRIME64_1 = 0x9e3779b185ebca87n;
  const PRIME64_2 = 0xc2b2ae3d27d4eb4fn;
  const PRIME64_3 = 0x165667b19e3779f9n;
  const PRIME64_4 = 0x85ebca77c2b2ae63n;
  const PRIME64_5 = 0x27d4eb2f165667c5n;
  const PRIME_MX1 = 0x165667919e3779f9n;
  const PRIME_MX2 = 0x9fb21c651e98df25n;

  // The default secret of XXH3, which is public: 192 bytes.
  const SECRET = fromHex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f" +
      "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
      "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8" +
      "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
      "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e" +
      "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e",
  );

  function fromHex(text) {
    return (text.match(/../g) || []).map((pair) => parseInt(pair, 16));
  }

  function xxh3(key) {
    const n = key.length;
    if (n <= 16) {
      return xxh3To16(key, n);
    }
    if (n <= 128) {
      return xxh3To128(key, n);
    }
    return n <= 240 ? xxh3To240(key, n) : xxh3Long(key, n);
  }

  function xxh3To16(key, n) {
    if (n === 0) {
      return avalanche64(word(SECRET, 56) ^ word(SECRET, 64));
    }
    if (n <= 3) {
      const mixed =
        (BigInt(key[0]) << 16n) |
        (BigInt(key[n >> 1]) << 24n) |
        BigInt(key[n - 1]) |
        (BigInt(n) << 8n);
      return avalanche64(mixed ^ word(SECRET, 0, 4) ^ word(SECRET, 4, 4));
    }
    if (n <= 8) {
      let h = (word(key, 0, 4) << 32n) + word(key, n - 4, 4);
      h ^= word(SECRET, 8) ^ word(SECRET, 16);
      h ^= rotate(h, 49n) ^ rotate(h, 24n);
      h = (h * PRIME_MX2) & MASK;
      h ^= (h >> 35n) + BigInt(n);
      h = (h * PRIME_MX2) & MASK;
      return h ^ (h >> 28n);
    }
    const low = word(key, 0) ^ word(SECRET, 24) ^ word(SECRET, 32);
    const high = word(key, n - 8) ^ word(SECRET, 40) ^ word(SECRET, 48);
    let swapped = 0n;
    for (let i = 0n; i < 8n; i++) {
      swapped = (swapped << 8n) | ((low >> (8n * i)) & 0xffn);
    }
    return avalanche(BigInt(n) + swapped + high + folded(low, high));
  }

  function xxh3To128(key, n) {
    let total = BigInt(n) * PRIME64_1;
    for (let i = 0; i <= Math.floor((n - 1) / 32); i++) {
      total += mix16(key, 16 * i, 32 * i);
      total += mix16(key, n - 16 * (i + 1), 32 * i + 16);
    }
    return avalanche(total);
  }

  function xxh3To240(key, n) {
    let total = BigInt(n) * PRIME64_1;
    for (let i = 0; i < 8; i++) {
      total += mix16(key, 16 * i, 16 * i);
    }
    total = avalanche(total);
    for (let i = 8; i < Math.floor(n / 16); i++) {
      total += mix16(key, 16 * i, 16 * (i - 8) + 3);
    }
    return avalanche(total + mix16(key, n - 16, 136 - 17));
  }

  // Stripes of 64 bytes, 16 of them to a block.
  function xxh3Long(key, n) {
    const lanes = [
      PRIME32_3,
      PRIME64_1,
      PRIME64_2,
      PRIME64_3,
      PRIME64_4,
      PRIME32_2,
      PRIME64_5,
      PRIME32_1,
    ];
    for (let stripe = 0; stripe < Math.floor((n - 1) / 64); stripe++) {
      accumulate(lanes, key, 64 * stripe, 8 * (stripe % 16));
      if (stripe % 16 === 15) {
        scramble(lanes);
      }
    }
    accumulate(lanes, key, n - 64, 192 - 64 - 7);
    let total = BigInt(n) * PRIME64_1;
    for (let i = 0; i < 4; i++) {
      total += folded(
        lanes[2 * i] ^ word(SECRET, 11 + 16 * i),
        lanes[2 * i + 1] ^ word(SECRET, 19 + 16 * i),
      );
    }
    return avalanche(total);
  }

  function accumulate(lanes, key, at, secretAt) {
    for (let i = 0; i < 8; i++) {
      const value = word(key, at + 8 * i);
      const keyed = value ^ word(SECRET, secretAt + 8 * i);
      lanes[i ^ 1] = (lanes[i ^ 1] + value) & MASK;
      lanes[i] = (lanes[i] + (keyed & 0xffffffffn) * (keyed >> 32n)) & MASK;
    }
  }

  function scramble(lanes) {
    for (let i = 0; i < 8; i++) {
      const stirred = lanes[i] ^ (lanes[i] >> 47n) ^ word(SECRET, 128 + 8 * i);
      lanes[i] = (stirred * PRIME32_1) & MASK;
    }
  }

  function mix16(key, at, secretAt) {
    return folded(
      word(key, at) ^ word(SECRET, secretAt),
      word(key, at + 8) ^ word(SECRET, secretAt + 8),
    );
  }

  function folded(a, b) {
    const product = a * b;
    return (product >> 64n) ^ (product & MASK);
  }

  function avalanche(h) {
    h &= MASK;
    h ^= h >> 37n;
    h = (h * PRIME_MX1) & MASK;
    return h ^ (h >> 32n);
  }

  function avalanche64(h) {
    h ^= h >> 33n;
    h = (h * PRIME64_2) & MASK;
    h ^= h >> 29n;
    h = (h * PRIME64_3) & MASK;
    return h ^ (h >> 32n);
  }

  function xxh64(key) {
    const n = key.length;
    let at = 0;
    let h = PRIME64_5;
    if (n >= 32) {
      let lanes = [
        (PRIME64_1 + PRIME64_2) & MASK,
        PRIME64_2,
        0n,
        -PRIME64_1 & MASK,
      ];
      for (; at + 32 <= n; at += 32) {
        lanes = lanes.map((lane, i) => xxh64Round(lane, word(key, at + 8 * i)));
      }
      h = [1n, 7n, 12n, 18n].reduce(
        (sum, bits, i) => sum + rotate(lanes[i], bits),
        0n,
      );
      for (const lane of lanes) {
        h =
          (((h & MASK) ^ xxh64Round(0n, lane)) * PRIME64_1 + PRIME64_4) & MASK;
      }
    }
    h = (h + BigInt(n)) & MASK;
    for (; at + 8 <= n; at += 8) {
      h ^= xxh64Round(0n, word(key, at));
      h = (rotate(h, 27n) * PRIME64_1 + PRIME64_4) & MASK;
    }
    if (at + 4 <= n) {
      h ^= (word(key, at, 4) * PRIME64_1) & MASK;
      h = (rotate(h, 23n) * PRIME64_2 + PRIME64_3) & MASK;
      at += 4;
    }
    for (; at < n; at++) {
      h ^= (BigInt(key[at]) * PRIME64_5) & MASK;
      h = (rotate(h, 11n) * PRIME64_1) & MASK;
    }
    return avalanche64(h);
  }

  function xxh64Round(lane, value) {
    return (rotate((lane + value * PRIME64_2) & MASK, 31n) * PRIME64_1) & MASK;
  }

  // ---- of adopted rings

  function crc32(key) {
    let crc = -1;
    for (const byte of key) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) {
        crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
      }
    }
    return BigInt(~crc >>> 0);
  }

  // CRC-16/XMODEM of the tag that Redis Cluster hashes, 14 bits of it.
  function crc16Tag(key) {
    let crc = 0;
    for (const byte of tag(key)) {
      crc ^= byte << 8;
      for (let bit = 0; bit < 8; bit++) {
        crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
      }
    }
    return BigInt(crc & 0x3fff);
  }

  // The text between the first `{` and the first `}` after it; the whole key if there is none.
  function tag(key) {
    const open = key.indexOf(0x7b);
    const close = open < 0 ? -1 : key.indexOf(0x7d, open + 1);
    return close > open + 1 ? key.slice(open + 1, close) : key;
  }

  // FNV-1, or FNV-1a if the byte comes first, of 64 or 32 bits; the low 32 bits of it.
  function fnv(start, prime, bits, isByteFirst, isSigned) {
    return (key) => {
      const h = key.reduce((h, byte) => {
        const read = BigInt.asUintN(bits, BigInt(char(byte, isSigned)));
        return isByteFirst
          ? BigInt.asUintN(bits, (h ^ read) * prime)
          : BigInt.asUintN(bits, h * prime) ^ read;
      }, start);
      return h & 0xffffffffn;
    };
  }

  // A byte as C reads it through a signed or an unsigned char.
  function char(byte, isSigned) {
    return isSigned && byte >= 128 ? byte - 256 : byte;
  }

  const FNV32 = [0x811c9dc5n, 0x01000193n, 32];
  const FNV64 = [0xcbf29ce484222325n, 0x100000001b3n, 64];

  // Bob Jenkins' one-at-a-time hash.
  function oneAtATime(isSigned) {
    return (key) => {
      let h = 0;
      for (const byte of key) {
        h = (h + char(byte, isSigned)) | 0;
        h = (h + (h << 10)) | 0;
        h ^= h >>> 6;
      }
      h = (h + (h << 3)) | 0;
      h ^= h >>> 11;
      h = (h + (h << 15)) | 0;
      return BigInt(h >>> 0);
    };
  }

  function fnv1aFold16(key) {
    const h = fnv(...FNV32, true, false)(key);
    return (h >> 16n) ^ (h & 0xffffn);
  }

  // Erlang's external form of {Bucket, Key} or {{Type, Bucket}, Key}, which Riak hashes.
  function riakTerm(key, isTyped) {
    const binary = (part) => {
      const length = [24, 16, 8, 0].map((bits) => (part.length >>> bits) & 255);
      return [109, ...length, ...part];
    };
    const split = (bytes) => {
      const slash = bytes.indexOf(0x2f);
      return slash < 0
        ? [[], bytes]
        : [bytes.slice(0, slash), bytes.slice(slash + 1)];
    };
    const [first, rest] = split(key);
    if (!isTyped) {
      return [131, 104, 2, ...binary(first), ...binary(rest)];
    }
    const [bucket, name] = split(rest);
    const typed = [104, 2, ...binary(first), ...binary(bucket)];
    return [131, 104, 2, ...typed, ...binary(name)];
  }

  function djb2(key) {
    return key.reduce((h, byte) => (h * 33n + BigInt(byte)) & MASK, 5381n);
  }

  // The digits at the start of the key, as a number.
  function decimal(key) {
    let number = 0n;
    for (const byte of key) {
      if (byte < 48 || byte > 57) {
        break;
      }
      number = (number * 10n + BigInt(byte - 48)) & MASK;
    }
    return number;
  }

  // name -> how many bits its numbers have, and what gives the number of a key. A key is an array
  // of bytes. md5, sha1 and Riak's have the whole digest here, which a map may take modulo its cells.
  const FUNCTIONS = {
    md5: [128, (key) => big(md5(key))],
    sha1: [160, (key) => big(sha1(key))],
    xxh3: [64, xxh3],
    siphash: [64, siphash],
    "md5-le32": [32, (key) => word(md5(key), 0, 4)],
    "md5-be32": [32, (key) => big(md5(key).slice(0, 4))],
    crc32: [32, crc32],
    "crc32-15": [15, (key) => (crc32(key) >> 16n) & 0x7fffn],
    "crc16-tag": [14, crc16Tag],
    "fnv1-32": [32, fnv(...FNV32, false, false)],
    "fnv1-32-signed": [32, fnv(...FNV32, false, true)],
    "fnv1a-32": [32, fnv(...FNV32, true, false)],
    "fnv1a-32-signed": [32, fnv(...FNV32, true, true)],
    "fnv1-64": [32, fnv(...FNV64, false, false)],
    "fnv1-64-signed": [32, fnv(...FNV64, false, true)],
    "fnv1a-64": [32, fnv(...FNV64, true, false)],
    "fnv1a-64-signed": [32, fnv(...FNV64, true, true)],
    "one-at-a-time": [32, oneAtATime(false)],
    "one-at-a-time-signed": [32, oneAtATime(true)],
    "fnv1a-fold16": [16, fnv1aFold16],
    riak: [160, (key) => big(sha1(riakTerm(key, false)))],
    "riak-typed": [160, (key) => big(sha1(riakTerm(key, true)))],
    djb2: [64, djb2],
    decimal: [64, decimal],
    xxh64: [64, xxh64],
  };

  // The whole number of a key under a hash. Only siphash takes the secret, 16 bytes.
  function number(name, key, secret) {
    return FUNCTIONS[name][1](key, secret);
  }

  // The same number as the 64 upper bits of a fraction of the hash space.
  function point(name, key, secret) {
    const bits = BigInt(FUNCTIONS[name][0]);
    const whole = number(name, key, secret);
    return bits > 64n ? whole >> (bits - 64n) : whole << (64n - bits);
  }

  return { number, point, fromHex };
})();
