# frozen_string_literal: true

# Opens a stead map and answers which nodes hold a key. docs/implementing.md explains every step.

require "digest"
require_relative "hashes"

module Stead
  class Refused < StandardError; end # the file is no map, or is damaged
  class NeedsNewer < Refused; end    # the file is a map, and a newer stead wrote it

  class Map
    MAGIC = "\x89STD\r\n\x1A\n".b
    HASHES = { 1 => :md5, 2 => :sha1, 3 => :xxh3, 4 => :siphash }.freeze
    RECORD_SIZES = [nil, 1, 8, 40, 16, 16, 40, 4, 8, 4, 32, 8, 4, 4, 8, 4, 4, 32].freeze

    def initialize(path)
      @file = File.binread(path)
      refuse "not a map" unless @file.bytesize >= 176 && @file.start_with?(MAGIC)
      version, header_length, file_length, features = @file.unpack("@8 L<2 Q<2")
      raise NeedsNewer, "version or feature" if version > 1 || features & 0xffffffff > 0b11111
      algorithm, hash, cells, @index_bits, sections = @file.unpack("@56 L< @128 L< x4 Q< @168 L<2")
      refuse "version" if version != 1
      numbers = [*1..13] + (features[0] == 1 ? [14, 15, 16] : []) + (features[4] == 1 ? [17] : [])
      needed = numbers.size
      needed = [needed, sections].max if features > 0xffffffff # later sections: not for lookups
      refuse "header" if sections != needed || header_length != 176 + 24 * sections
      refuse "length" if file_length != @file.bytesize || file_length < header_length
      sealed = @file[0, 96] + "\0" * 32 + @file[128..]
      refuse "digest" if Digest::SHA256.digest(sealed) != @file[96, 32]
      refuse "algorithm" if algorithm.zero?
      read_section_table(numbers, sections, header_length)
      @hash = HASHES[hash & ~0xff0300] or refuse "hash #{hash} is none of this reader's"
      refuse "siphash with modulo or affixes" if @hash == :siphash && hash & 0x300 != 0
      @modulo, affixes, @segments = hash[8] == 1, hash[9] == 1, hash[16, 8]
      @prefix, @suffix, @secret = affixes ? [string(144), string(152)] : ["", "", @file[144, 16]]
      @cells = cells.zero? ? 1 << 64 : cells
      @slices = @count[11].zero? ? 8 : 11 # without pins and firsts: the base slices
      bits = [(4 * @count[@slices] - 1).bit_length, 18].min
      refuse "index" if @index_bits != bits || @count[13] != (1 << bits) + 1
    end

    # The names of the nodes that hold a key, primary first.
    def locate_all(key, fold: false) = nodes_at(point(key, fold: fold))

    # The point of a key: the first point of its cell.
    def point(key, fold: false)
      key = key.b
      key = key.tr("A-Z", "a-z") if fold
      key = key.sub(%r{\A/+}, "").split("/", -1).first(@segments).join("/") if @segments.positive?
      number, bits = Hashes.public_send(@hash, @prefix + key + @suffix, @secret)
      cell = @modulo ? number % @cells : (number >> (bits - 64)) * @cells >> 64
      ((cell << 64) + @cells - 1) / @cells
    end

    # The names of the nodes of the last final slice whose first point is not above the point.
    def nodes_at(point)
      bucket = point >> (64 - @index_bits)
      range = record(13, bucket)...record(13, bucket + 1)
      after = range.bsearch { |slice| record(@slices, slice) > point } || range.end
      policy = record(@slices + 1, after - 1)
      first, count = @file.unpack("@#{@start[6] + 40 * policy + 24} L<2")
      nodes = (first...first + count).map { |member| record(7, member) }
      nodes.map { |node| string(@start[3] + 40 * node).force_encoding("UTF-8") }
    end

    # Keeps the secret and the file out of messages.
    def inspect = "#<Stead::Map>"

    private

    def refuse(what) = raise(Refused, what)

    # Fills @start (offset in the file) and @count (of records), both by the number of the section.
    def read_section_table(numbers, sections, finish)
      @start, @count, last = [], [], 17
      sections.times do |place|
        section, size, start, count = @file.unpack("@#{176 + 24 * place} L<2 Q<2")
        if place < numbers.size
          refuse "section table" if section != numbers[place] || size != RECORD_SIZES[section]
          @start[section], @count[section] = start, count
        else
          refuse "section table" if section <= last
          last = section
        end
        refuse "section table" if start != (finish + 7) / 8 * 8
        finish = start + size * count
      end
      refuse "section table" if finish != @file.bytesize
    end

    # The record `at` of a section whose records are numbers of 4 or 8 bytes.
    def record(section, at)
      size = RECORD_SIZES[section]
      @file.unpack1(size == 8 ? "Q<" : "L<", offset: @start[section] + size * at)
    end

    # The bytes named by the string reference that stands at `at` in the file.
    def string(at)
      offset, length = @file.unpack("@#{at} L<2")
      @file[@start[1] + offset, length]
    end
  end
end
