# Asks Ruby's Dalli where keys live: `ruby dalli.rb MODE` or `ruby dalli.rb MODE version`; clients.py describes input and output.

begin
  require "dalli"
rescue LoadError
  warn "Ruby's dalli is not installed"
  exit 77
end
if ARGV.length > 1
  puts Dalli::VERSION
  exit
end
servers, keys = $stdin.read.split("\n\n", 2)
Dalli.logger.level = Logger::ERROR
client = Dalli::Client.new(servers.split("\n"))
# it has no call that names the server, so the values name it
keys.split("\n").each_slice(500) do |some|
  found = client.get_multi(*some)
  puts(some.map { |key| found[key] || "" })
end
