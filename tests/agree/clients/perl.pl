# Asks Perl's clients where keys live: `perl perl.pl MODE` or `perl perl.pl MODE version`;
# clients.py describes input and output.

use strict;
use warnings;

# They have no call that names the server, so the values name it. mode => the module, and a function
# that takes the servers and returns a function that gets the values of a list of keys, as a hash
my %modes = (
    'cache-memcached' => [
        'Cache::Memcached' =>
          sub { multi( Cache::Memcached->new( { servers => $_[0] } ) ) }
    ],
    'fast' => [
        'Cache::Memcached::Fast' =>
          sub { multi( Cache::Memcached::Fast->new( { servers => $_[0] } ) ) }
    ],
    'fast-ketama-150' => [
        'Cache::Memcached::Fast' => sub {
            multi(
                Cache::Memcached::Fast->new(
                    { servers => $_[0], ketama_points => 150 }
                )
            );
        }
    ],
    'fast-ketama-160' => [
        'Cache::Memcached::Fast' => sub {
            multi(
                Cache::Memcached::Fast->new(
                    { servers => $_[0], ketama_points => 160 }
                )
            );
        }
    ],
    'libmemcached' =>
      [ 'Memcached::libmemcached' => sub { libmemcached( $_[0] ) } ],
    'libmemcached-ketama' =>
      [ 'Memcached::libmemcached' => sub { libmemcached( $_[0], 1 ) } ],
);

sub multi {
    my ($client) = @_;
    return sub { $client->get_multi(@_) };
}

sub libmemcached {
    my ( $servers, $weighted ) = @_;
    my $client = Memcached::libmemcached->new;
    $client->memcached_behavior_set(
        Memcached::libmemcached::MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED(), 1 )
      if $weighted;
    $client->memcached_server_add( split /:/ ) for @$servers;
    return sub {
        $client->memcached_mget_into_hashref( [@_], \my %found )
          or die 'mget: ' . $client->errstr . "\n";
        return \%found;
    };
}

my $mode = $modes{ $ARGV[0] // '' }
  or die 'modes: ', join( ' ', sort keys %modes ), "\n";
my ( $module, $make ) = @$mode;
if ( !eval "require $module; 1" ) {
    print STDERR "Perl's module $module is not installed\n";
    exit 77;
}
if ( @ARGV > 1 ) {
    print $module->VERSION, "\n";
    exit;
}
my ( @servers, @keys );
while ( my $line = <STDIN> ) {
    chomp $line;
    last if $line eq '';
    push @servers, $line;
}
chomp( @keys = <STDIN> );
my $where = $make->( \@servers );
while ( my @some = splice @keys, 0, 500 ) {
    my $found = $where->(@some);
    print map { ( $found->{$_} // '' ) . "\n" } @some;
}
