#!/usr/bin/env perl
# Times $map->locate in Perl against pure Perl and a bare MD5, in one process.
#
# Each round asks every candidate for the same keys, and the order of the candidates rotates from
# round to round. A figure is the median over the rounds of the CPU time per key, including the loop
# around the call; a ratio is the median of the rounds' ratios. Run it with `make bench-perl`.
#
#     run.pl [--rounds N] [--keys N]

use strict;
use warnings;

use Digest::MD5  qw(md5);
use FindBin      qw($Bin);
use Getopt::Long qw(GetOptions);
use Stead;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

require "$Bin/pure.pl";    # pure

my ( $rounds, $count ) = ( 31, 20_000 );
GetOptions( 'rounds=i' => \$rounds, 'keys=i' => \$count )
  or die "usage: run.pl [--rounds N] [--keys N]\n";

# a map that grew in ten steps, so that its slices are like those of real maps
sub members {
    my ($nodes) = @_;
    my $grown;
    for my $tenth ( 1 .. 10 ) {
        $grown = Stead::Map->build(
            {
                name => 'bench',
                node => [
                    map {
                        {
                            name       => sprintf( 'n%04d', $_ ),
                            attributes => { address => "10.0.0.$_:3306" }
                        }
                    } 1 .. $nodes * $tenth / 10
                ]
            },
            $grown
        );
    }
    return $grown;
}

sub median {
    my @sorted = sort { $a <=> $b } @_;
    return $sorted[ @sorted / 2 ];
}

my @keys = map { 'user' . $_ * 7919 % 1_000_003 } 1 .. $count;
printf "Perl %vd, libstead %s, %d keys, medians of %d rounds\n\n", $^V,
  Stead::version(), $count, $rounds;
printf "%5s  %-36s %10s %10s %8s\n", 'nodes', 'call', 'ns a key', 'of pure',
  'of MD5';
for my $nodes ( 10, 1000 ) {
    my $map  = members($nodes);
    my $pure = pure($map);
    for my $key (@keys) {
        die "the two do not agree on $key\n"
          if $pure->($key) ne $map->locate($key);
    }
    my $node;
    my $first = 'n0001';
    my @calls = (
        [
            '$map->locate($key)' => sub {
                for my $key (@keys) { $node = $map->locate($key) }
            }
        ],
        [
            'Stead::Map::locate($map, $key)' => sub {
                for my $key (@keys) { $node = Stead::Map::locate( $map, $key ) }
            }
        ],
        [
            'pure Perl' => sub {
                for my $key (@keys) { $node = $pure->($key) }
            }
        ],
        [
            'Digest::MD5::md5($key)' => sub {
                for my $key (@keys) { $node = md5($key) }
            }
        ],
        [
            '$map->locate_many(\@keys)' =>
              sub { my $all = $map->locate_many( \@keys ) }
        ],
        [
            '$map->locate_many, numbers' =>
              sub { my $all = $map->locate_many( \@keys, numbers => 1 ) }
        ],
        [
            '$map->locate_all_many(\@keys)' =>
              sub { my $all = $map->locate_all_many( \@keys ) }
        ],
        [
            '$map->locate_all($key)' => sub {
                for my $key (@keys) { ($node) = $map->locate_all($key) }
            }
        ],
        [
            '$map->prefer($key, 2)' => sub {
                for my $key (@keys) { ($node) = $map->prefer( $key, 2 ) }
            }
        ],
        [
            '$map->attribute($node, NAME)' => sub {
                for my $key (@keys) {
                    $node = $map->attribute( $first, 'address' );
                }
            }
        ],
        [
            'the same, from a hash of $map->nodes' => sub {
                for my $key ( @keys[ 0 .. $#keys / $nodes ] ) {
                    my %all =
                      map { $_->name => $_->attribute('address') } $map->nodes;
                    $node = $all{$first};
                }
            },
            1 / $nodes
        ],
        [
            '$map->epoch, a call and no more' => sub {
                for my $key (@keys) { $node = $map->epoch }
            }
        ],
    );
    my %times;
    for my $round ( 0 .. $rounds ) {
        for my $i ( 0 .. $#calls ) {

            # a call that takes very long is made for a part of the keys only
            my ( $name, $call, $part ) =
              @{ $calls[ ( $i + $round ) % @calls ] };
            my $start = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
            $call->();
            my $spent = clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $start;
            push @{ $times{$name} }, $spent / $count / ( $part // 1 ) * 1e9
              if $round;    # the first round warms up
        }
    }
    my ( $pure_times, $md5_times ) =
      @times{ 'pure Perl', 'Digest::MD5::md5($key)' };
    for my $call (@calls) {
        my $own   = $times{ $call->[0] };
        my $ratio = sub {
            my ($base) = @_;
            return median( map { $own->[$_] / $base->[$_] } 0 .. $#$own );
        };
        printf "%5d  %-36s %10.1f %10.3f %8.3f\n", $nodes, $call->[0],
          median(@$own), $ratio->($pure_times), $ratio->($md5_times);
    }
    print "\n";
}
