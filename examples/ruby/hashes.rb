# frozen_string_literal: true

# stead's own four hashes, as docs/placement.md "Hash" describes them.
#
# Each method takes the bytes to hash and the map's secret, and returns [number, bits]: the whole
# digest as one big-endian number, and its width. The point is its upper 64 bits.

require "digest"
require "fiddle"

module Stead
  module Hashes
    MASK = (1 << 64) - 1
    XXHASH = Fiddle.dlopen("libxxhash.so.0")
    XXH3 = Fiddle::Function.new(
      XXHASH["XXH3_64bits"], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T], -Fiddle::TYPE_LONG_LONG
    )

    module_function

    def md5(bytes, _secret) = [Digest::MD5.hexdigest(bytes).hex, 128]

    def sha1(bytes, _secret) = [Digest::SHA1.hexdigest(bytes).hex, 160]

    def xxh3(bytes, _secret) = [XXH3.call(bytes, bytes.bytesize), 64]

    # SipHash-2-4 (Aumasson, Bernstein, 2012); the secret is k0 and k1, little-endian.
    def siphash(bytes, secret)
      k0, k1 = secret.unpack("Q<2")
      v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
           k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573]
      whole = bytes.bytesize / 8 * 8
      tail = bytes.byteslice(whole..).ljust(7, "\0") + [bytes.bytesize & 0xff].pack("C")
      (bytes.byteslice(0, whole) + tail).unpack("Q<*").each do |word|
        v[3] ^= word
        2.times { sip_round(v) }
        v[0] ^= word
      end
      v[2] ^= 0xff
      4.times { sip_round(v) }
      [v.reduce(:^), 64]
    end

    def sip_round(v)
      v[0] = (v[0] + v[1]) & MASK
      v[2] = (v[2] + v[3]) & MASK
      v[1] = rotate(v[1], 13) ^ v[0]
      v[3] = rotate(v[3], 16) ^ v[2]
      v[0] = rotate(v[0], 32)
      v[2] = (v[2] + v[1]) & MASK
      v[0] = (v[0] + v[3]) & MASK
      v[1] = rotate(v[1], 17) ^ v[2]
      v[3] = rotate(v[3], 21) ^ v[0]
      v[2] = rotate(v[2], 32)
    end

    def rotate(word, bits) = ((word << bits) | (word >> (64 - bits))) & MASK
  end
end
