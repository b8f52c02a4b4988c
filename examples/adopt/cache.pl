#!/usr/bin/perl
# A cache in memcached whose servers a map chooses: what a site writes on top of stead. cache.php
# and cache.py are the same.
#
# While a site changes over, or grows, an item may still be where it was before. So a read that
# finds nothing at the map's node looks a second time, where the client of before would have put it,
# and copies what it finds to where it belongs. Writes and deletes go to all places that a read may
# look at, so that no second look finds what is out of date.

package Cache;

use strict;
use warnings;

use Cache::Memcached::Fast;
use Stead;

# Cache->new(map => FILE, back => 0, old => $client, lifetime => 0)
#   map       the map's file; without it the client of today is asked alone
#   back      into how many epochs before this one a read looks, too
#   old       the client of today, for the change-over
#   lifetime  of what is set or copied, in seconds; 0: for ever
sub new {
    my ( $class, %given ) = @_;
    return bless { back => 0, lifetime => 0, copied => 0, %given }, $class;
}

# The value of a key; undef when no place has it. A server that does not answer has nothing.
sub get {
    my ( $self, $key ) = @_;
    my @clients = $self->clients($key);
    for my $place ( 0 .. $#clients ) {
        my $value = $clients[$place]->get($key);
        next if !defined $value;
        if ( $place > 0 ) {
            $self->{copied}++;
            $clients[0]->add( $key, $value, $self->{lifetime} )
              ;    # not set: somebody may have written a newer one meanwhile
        }
        return $value;
    }
    return;
}

# Sets a key; whether the place where it belongs took it.
sub set {
    my ( $self, $key, $value ) = @_;
    my @done = map { scalar $_->set( $key, $value, $self->{lifetime} ) }
      $self->clients($key);
    return $done[0];
}

# Deletes a key; whether the place where it belongs had it.
sub delete {
    my ( $self, $key ) = @_;
    my @done = map { scalar $_->delete($key) } $self->clients($key);
    return $done[0];
}

# How often a second look found an item. When it stays 0 for as long as items live, the second look
# can go.
sub copied { return $_[0]{copied} }

# The clients of the servers that may have a key: where it belongs, then where it was before; none
# twice.
sub clients {
    my ( $self, $key ) = @_;
    my @clients;
    if ( defined $self->{map} ) {

        # for each question: it costs one stat, and a new epoch is seen at once
        my $map   = Stead::Map->open( $self->{map} );
        my $epoch = $map->epoch;
        push @clients, server( $map, $key );
        for my $back ( 1 .. $self->{back} ) {
            last if $back >= $epoch;
            my $before = eval {
                Stead::Map->open(
                    "$self->{map}.history/" . ( $epoch - $back ) );
            };
            if ( !$before ) {
                last
                  if ref $@
                  && $@->status ==
                  Stead::Error::STEAD_NOT_FOUND;    # stead keeps 32 epochs
                die $@;
            }
            my $client = server( $before, $key );
            push @clients, $client if !grep { $_ == $client } @clients;
        }
    }
    push @clients, $self->{old} if $self->{old};
    return @clients;
}

# The client of the server that a map gives a key: it knows no other, so it has nothing to choose.
my ( %servers, %addresses );

sub server {
    my ( $map, $key ) = @_;

    # two maps with one digest are the same
    my $of = $addresses{ $map->digest } ||=
      { map { $_->name => $_->attribute('address') // $_->name } $map->nodes };
    my $address = $of->{ $map->locate($key) };
    return $servers{$address} ||=
      Cache::Memcached::Fast->new( { servers => [$address] } );
}

# The client of today.
sub today {
    my @servers = @_;
    return Cache::Memcached::Fast->new(
        { servers => \@servers, ketama_points => 150 } );
}

package main;

# cache.pl [--back N] [--old HOST:PORT,...] [MAP]: answers `get KEY`, `set KEY VALUE`, `delete KEY`,
# `copied` and `epoch`, one on a line
sub main {
    require Getopt::Long;
    my ( $back, $old ) = (0);
    Getopt::Long::GetOptions( 'back=i' => \$back, 'old=s' => \$old ) or exit 64;
    my ($map) = @ARGV;
    if ( !defined $map && !defined $old ) {
        print STDERR
"cache.pl: name a map, or the servers of today with --old HOST:PORT,...\n";
        exit 64;
    }
    my $cache = Cache->new(
        map  => $map,
        back => $back,
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
