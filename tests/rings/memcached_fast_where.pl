# Prints where Cache::Memcached::Fast puts each key: it sets them all, then asks every server by itself.
#
#     memcached_fast_where.pl SERVERS KETAMA_POINTS NAMESPACE < keys
#
# SERVERS is a file with the elements of the module's option servers, as Perl; keys come in hex, one
# a line; the answer is an address a line.
use strict;
use warnings;
use Cache::Memcached::Fast;

my ( $file, $points, $namespace ) = @ARGV;
my $text =
  do { local $/; open my $list, '<', $file or die "$file: $!"; <$list> };
my $servers = eval "[$text]" or die $@;
chomp( my @keys = <STDIN> );
@keys = map { pack 'H*', $_ } @keys;

my %options = (
    io_timeout      => 60,
    connect_timeout => 60,
    namespace       => $namespace,
    hash_namespace  => length $namespace
);
my $all = Cache::Memcached::Fast->new(
    { %options, servers => $servers, ketama_points => $points } );

# what other tests left there
$_ or die 'a server was not flushed' for values %{ $all->flush_all };
my ( @batch, %where );
for my $at ( 0 .. $#keys ) {
    push @batch, [ $keys[$at], 1 ];
    next if @batch < 1000 && $at < $#keys;
    $_ or die 'a key was not set' for $all->set_multi(@batch);
    @batch = ();
}
for my $server (@$servers) {
    my $address =
        ref $server eq 'HASH' ? $server->{address}
      : ref $server           ? $server->[0]
      :                         $server;
    my $one =
      Cache::Memcached::Fast->new( { %options, servers => [$address] } );
    for ( my $at = 0 ; $at < @keys ; $at += 1000 ) {
        my $last = $at + 999 < $#keys ? $at + 999 : $#keys;
        for my $key ( keys %{ $one->get_multi( @keys[ $at .. $last ] ) } ) {
            die 'a key is on two servers' if $where{$key};
            $where{$key} = $address;
        }
    }
}
print $where{$_} // 'nowhere', "\n" for @keys;
