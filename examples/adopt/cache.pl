#!/usr/bin/perl
# A cache in memcached whose servers are chosen by a map: the code that a site writes on top of
# stead. cache.php and cache.py are the same class.
#
# A key may have several nodes, as a hot key with a pin has. Writes and deletes go to all of them, and
# each read begins at one that is chosen at random.
#
# While a site changes its clients, or grows, an item may still be in its old place. So a read that
# finds nothing at the map's nodes takes a second look at the old place, and copies the item that it
# finds to its new place. Writes and deletes go to all places at which a read may look, so a second
# look does not find what this program has replaced. If other programs set or delete the same keys,
# all of them have to write to the old places of all of them: see `rings`.
#
# While a carry is open (docs/carry.md), writes and deletes go where the state of the carry says, and
# reads to the nodes of one map, which have everything. There are no second looks then.

package Cache;

use strict;
use warnings;

use Cache::Memcached::Fast;
use List::Util qw(all any min shuffle);
use Stead;

# the lifetime in seconds of a copy that a read makes from another node of the same key
use constant MINUTE => 60;

# beyond so many seconds memcached takes a lifetime for a date, in seconds since 1970
use constant MONTH => 30 * 86400;

# Cache->new(map => FILE, back => 0, old => $client, lifetime => 0, options => {}, rings => [])
#   map       the map file; without it only the old client is used
#   back      the number of previous epochs in which a read looks, too
#   old       the old client, during the change
#   lifetime  of items that are set or copied, in seconds; 0 means for ever. A second look does not
#             know how long an item has lived: the copy begins a new lifetime
#   options   of each client, as for Cache::Memcached::Fast->new: those that the application has
#             given so far, such as namespace or serialize_methods
#   rings     the map files of the rings of all old clients, if several languages set or delete the
#             same keys: what is set or deleted is so at these places, too. Reads do not look there
sub new {
    my ( $class, %given ) = @_;
    my %default =
      ( back => 0, lifetime => 0, copied => 0, options => {}, rings => [] );
    return bless { %default, %given }, $class;
}

# Returns the value of a key; undef if no place has it. A server that does not answer counts as
# empty. A map that cannot be opened dies; so does a missing history if `back` needs it.
sub get {
    my ( $self, $key ) = @_;
    my ( $present, undef, $earlier ) = $self->places($key);
    my @order = shuffle 0 .. $#$present;
    for my $place (@order) {
        my $value = $present->[$place]->get($key);
        next if !defined $value;

# A node is filled only from one before it, and not for long. Otherwise two nodes could keep
# an item alive between them for ever
        $present->[ $order[0] ]
          ->add( $key, $value, min( $self->{lifetime} || MINUTE, MINUTE ) )
          if $place < $order[0];
        return $value;
    }
    for my $client (@$earlier) {
        my $value = $client->get($key);
        next if !defined $value;
        $self->{copied}++;

        # add, not set: another client may have written a newer value
        $_->add( $key, $value, expiry( $self->{lifetime} ) ) for @$present;
        return $value;
    }
    return;
}

# Sets a key. Returns whether all its nodes stored it. A lifetime that is given is that of this item,
# in place of the cache's own.
sub set {
    my ( $self, $key, $value, $lifetime ) = @_;
    $lifetime = expiry( $lifetime // $self->{lifetime} );
    my ( $present, $carried, $earlier ) = $self->places( $key, 'writing' );
    my @done = map { twice( $_, 'set', $key, $value, $lifetime ) } @$present,
      @$carried, @$earlier;
    return all { $_ } @done[ 0 .. $#$present ];
}

# Asks a server, and once again if it did not answer: when it was started again, the connection of
# before is lost.
sub twice {
    my ( $client, $verb, @rest ) = @_;
    return scalar( $client->$verb(@rest) ) // scalar( $client->$verb(@rest) );
}

# Returns what to tell memcached of a lifetime; a date to come stays one.
sub expiry {
    my ($lifetime) = @_;
    return $lifetime > MONTH && $lifetime < time ? time + $lifetime : $lifetime;
}

# Deletes a key. Returns whether one of its nodes had it.
sub delete {
    my ( $self, $key ) = @_;
    my ( $present, $carried, $earlier ) = $self->places( $key, 'writing' );

    # the places of second looks first, or a read in between would bring it back
    my @done =
      map { twice( $_, 'delete', $key ) } @$earlier, @$present, @$carried;
    return any { $_ } @done[ @$earlier .. @$earlier + $#$present ];
}

# The number of items that were found at an old place. When it stays 0 for the lifetime of the items,
# the second look can be removed.
sub copied { return $_[0]{copied} }

# Returns the clients of the servers that may have a key, each once: references to those of its nodes
# by the map, in their order; while a carry is open, to the others to which its state lets hosts
# write; and to those of the places before. A write goes to the places of the rings, too.
sub places {
    my ( $self, $key, $writing ) = @_;
    my ( @present, @carried, @earlier );
    if ( defined $self->{map} ) {

        # for each query: it costs one stat, and sees a new epoch immediately
        my $pair  = Stead::Pair->open( $self->{map} );
        my $epoch = $pair->new_map->epoch;
        my $state = $pair->state // '';

        # the first nodes are those of the map by which hosts read
        my $reads = $state =~ /^(both_)?old/ ? $pair->old : $pair->new_map;
        my @nodes = $pair->writes($key);
        @present = splice @nodes, 0,
          scalar( my @of = $reads->locate_all($key) );
        @present = $self->servers( $pair, @present );
        @carried = $self->servers( $pair, @nodes );
        for my $back ( 1 .. ( $state ? 0 : $self->{back} ) ) {
            last if $back >= $epoch;

# a node that the newest map has, too, has its address there, also if it was renamed
            my $pair = eval {
                Stead::Pair->open(
                    $self->{map},
                    epoch => $epoch - $back,
                    state => 'both_new_first'
                );
            };
            if ( !$pair ) {
                my $error = $@;
                die $error
                  if !ref $error
                  || $error->status != Stead::Error::STEAD_NOT_FOUND;
                last if $back > 1;    # stead keeps 32 epochs
                die "$self->{map}.history has no epoch "
                  . ( $epoch - 1 )
                  . ", where a second look has to look: copy the directory to this host\n";
            }
            push @earlier, $self->servers( $pair, $pair->reads($key) );
        }
        for my $path ( $writing ? @{ $self->{rings} } : () ) {
            my $ring = Stead::Map->open($path);
            push @earlier, $self->servers( $ring, $ring->locate_all($key) );
        }
    }
    push @earlier, $self->{old} if $self->{old};
    my %seen = map { $_ => 1 } @present, @carried;
    @earlier = grep { !$seen{$_}++ } @earlier;
    return ( \@earlier, [],        [] ) if !@present;
    return ( \@present, \@carried, \@earlier );
}

# Returns the clients of these nodes of a map, or of a pair of maps. Each client knows only its
# server, so it has nothing to choose. Each process has clients of its own: two that used one
# connection would read each other's answers.
my %clients;    # caches with the same options share them

sub servers {
    my ( $self, $where, @nodes ) = @_;
    my $options = $self->{options};
    my $same    = join "\0", map { $_, $options->{$_} } sort keys %$options;
    my @found;
    for my $node (@nodes) {

        # in the map of an adopted ring the name is the address
        my $address = $where->attribute( $node, 'address' ) // $node;
        if ( $address =~ /:/ ) {
            push @found,
              $clients{$$}{$same}{$address} ||= Cache::Memcached::Fast->new(
                {
              # in seconds, as in cache.py: a second is too short on a busy host
                    connect_timeout => 5,
                    io_timeout      => 5,
                    %$options,
                    servers => [$address]
                }
              );
        }
        elsif ( $where->isa('Stead::Map') || $where->new_map->node($node) ) {
            die "node $node needs an attribute `address` with HOST:PORT\n";
        }

        # a node that has left and never had an address has no item
    }
    return @found;
}

# Returns the old client.
sub today {
    my @servers = @_;
    return Cache::Memcached::Fast->new(
        { servers => \@servers, ketama_points => 150 } );
}

package main;

# cache.pl [--back N] [--old HOST:PORT,...] [--rings MAP,...] [MAP]: answers the commands `get KEY`,
# `set KEY VALUE`, `delete KEY`, `copied` and `epoch`, one per line
sub main {
    require Getopt::Long;
    my ( $back, $rings, $old ) = ( 0, '' );
    Getopt::Long::GetOptions(
        'back=i'  => \$back,
        'old=s'   => \$old,
        'rings=s' => \$rings
    ) or exit 64;
    my ($map) = @ARGV;
    if ( !defined $map && !defined $old ) {
        print STDERR
"cache.pl: name a map, or the servers of the old client with --old HOST:PORT,...\n";
        exit 64;
    }
    my $cache = Cache->new(
        map   => $map,
        back  => $back,
        rings => [ split /,/, $rings ],
        defined $old ? ( old => Cache::today( split /,/, $old ) ) : ()
    );
    $| = 1;
    while ( my $line = <STDIN> ) {
        chomp $line;
        my ( $verb, $key, $value ) = split / /, $line, 3;
        if ( $verb eq 'get' ) {
            my $found = $cache->get($key);
            print defined $found ? "hit $found\n" : "miss\n";
        }
        elsif ( $verb eq 'set' ) {
            print $cache->set( $key, $value ) ? "set\n" : "not set\n";
        }
        elsif ( $verb eq 'delete' ) {
            print $cache->delete($key) ? "deleted\n" : "not there\n";
        }
        elsif ( $verb eq 'copied' ) { print $cache->copied, "\n" }
        elsif ( $verb eq 'epoch' ) { print Stead::Map->open($map)->epoch, "\n" }
        else {
            print "say get KEY, set KEY VALUE, delete KEY, copied or epoch\n";
        }
    }
    return;
}

main() if !caller;

1;
