# frozen_string_literal: true

# locate.rb MAP KEY...: the nodes of each key, the primary first, as `stead locate` prints them.

require_relative "lookup"

abort "usage: locate.rb MAP KEY..." if ARGV.empty?
path, *keys = ARGV
begin
  map = Stead::Map.new(path)
rescue Stead::Refused, SystemCallError => e
  abort "locate.rb: #{path}: #{e.message}"
end
keys.each { |key| puts "#{key}\t#{map.locate_all(key).join(",")}" }
