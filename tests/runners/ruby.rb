# frozen_string_literal: true

# The reader of examples/ruby as a runner. It only reads maps and places keys, and knows stead's own
# hashes only, so it serves a part of the vectors. PARTS of tests/run says which, and counts them.
# Here a vector of locate.json belongs to the part when the reader accepts its map.

require "json"
require "tempfile"
require_relative "../../examples/ruby/lookup"

TESTS = File.expand_path("..", __dir__)

def vectors(file) = JSON.parse(File.read(File.join(TESTS, "vectors", file)))["vectors"]

def map_file(name) = File.join(TESTS, "maps", "#{name}.map")

# Prints how many vectors pass, in the words that tests/run reads, and the first that fail.
def report(file, vectors, &passes)
  good, bad = vectors.partition(&passes)
  bad.first(4).each { |v| puts "ruby: #{file}: #{v.to_json[0, 400]}" }
  puts "vectors: ruby #{file} #{good.size} passed"
end

def hex(point) = format("%016x", point)

def point(vector)
  bytes, secret = vector.values_at("key", "secret").map { |text| [text.to_s].pack("H*") }
  number, bits = Stead::Hashes.public_send(vector["hash"], bytes, secret)
  hex(number >> (bits - 64)) == vector["point"]
end

# Looks up the point and, where the vector has one, the key, which must have this point.
def located(map, vector)
  names = map.nodes_at(vector["point"].hex)
  good = [names.first, names] == vector.values_at("locate", "all")
  return good unless vector["key"]

  key = [vector["key"]].pack("H*")
  fold = vector.fetch("fold", false)
  good && hex(map.point(key, fold: fold)) == vector["point"] &&
    map.locate_all(key, fold: fold) == names
end

# The bytes of a damaged map: cut or filled, then patched, then sealed again.
def damage(vector)
  size = vector["size"]
  bytes = File.binread(map_file(vector["map"]))[0, size].ljust(size, "\0")
  vector["patches"].each do |offset, patch|
    patch = [patch].pack("H*")
    bytes[offset, patch.bytesize] = patch
  end
  return bytes unless vector["reseal"]

  bytes[96, 32] = Digest::SHA256.digest(bytes[0, 96] + "\0" * 32 + bytes[128..])
  bytes
end

# The class of the error with which the reader refuses a vector's bytes; nil when it opens them.
def refusal(vector)
  Tempfile.create("damaged", binmode: true) do |file|
    file.write(damage(vector))
    file.close
    Stead::Map.new(file.path)
    nil
  rescue Stead::Refused => e
    e.class
  end
end

maps = Hash.new do |opened, name|
  opened[name] =
    begin
      Stead::Map.new(map_file(name))
    rescue Stead::Refused
      nil # its hash is not one of stead's own; otherwise tests/run misses its vectors
    end
end

report("points.json", vectors("points.json")) { |v| point(v) }
report("locate.json", vectors("locate.json").select { |v| maps[v["map"]] }) do |v|
  located(maps[v["map"]], v)
end

# The rules of damaged.json that the reader checks.
RULES = [
  "algorithm version", "at least 176 bytes", "digest", "end of the last section", "file length",
  "file shorter than its header", "header length", "index bits", "magic", "number of sections",
  "required features", "section inside the file", "section offset", "section record size",
  "section type", "version", "version 0"
].freeze
report("damaged.json", vectors("damaged.json").select { |v| RULES.include?(v["rule"]) }) do |v|
  refusal(v) == (v["status"] == "version" ? Stead::NeedsNewer : Stead::Refused)
end
