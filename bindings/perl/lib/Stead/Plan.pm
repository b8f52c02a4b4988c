package Stead::Plan;

use strict;
use warnings;

use Scalar::Util ();
use Stead        ();

our $VERSION = '0.001000';

# As a string, a plan says what it is. As a number it is its address, as any reference is.
use overload
  '""'     => \&_described,
  '0+'     => sub { Scalar::Util::refaddr( $_[0] ) },
  'bool'   => sub { 1 },
  fallback => 1;

sub _described {
    my ($plan) = @_;
    my ( $old, $new ) = @{ $plan->_maps };
    return sprintf
      '<Stead::Plan "%s" epoch %s -> %s, %s, %.6f %%, %s -> %s>',
      $new->name, $old->epoch, $new->epoch,
      Stead::Map::_counted( scalar $plan->moves, 'move' ),
      100 * $plan->fraction,
      map { substr unpack( 'H*', $_->digest ), 0, 8 } $old, $new;
}

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Plan - the difference between two maps

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $now   = Stead::Map->build("name = 'm'\n[[node]]\nname = 'a'\n");
    my $after = Stead::Map->build("name = 'm'\n[[node]]\nname = 'a'\n[[node]]\nname = 'b'\n", $now);

    my $plan = Stead::Plan->between($now, $after);
    say $plan->fraction;                                      # 0.5
    say join ' ', map { $_->from, $_->to } $plan->moves;      # a b
    say scalar $plan->affects('frank');                       # 1
    say $plan->moved;                                         # 9223372036854775808

=head1 DESCRIPTION

C<< Stead::Plan->between(OLD, NEW) >> makes a plan, either before the new map is published or
afterwards. To move the data, go through your keys and copy each one for which C<affects> returns
moves; then publish.

As a string, a plan says what it is: C<< <Stead::Plan "m" epoch 1 -> 2, 1 move, 50.000000 %,
5e0c91aa -> 0b41c2f7> >>, where the last two words begin the digests of the two maps.

=head1 METHODS

=head2 between($old, $new)

Returns the difference between two maps of one cluster.

=head2 moves

A list with a L<Stead::Move> for each run of points of which one copy moves, sorted by first point;
in scalar context, the number of moves.

=head2 affects($key)

The moves that affect a key: an empty list for a key that stays.

=head2 affects_point($point)

The moves that contain a point.

=head2 affects_many(\@keys)

What moves of many keys: a reference to an array with a L<Stead::Affected> for each copy that moves,
in the order of the keys. A key that stays has none, and neither has undef. Each key is hashed once.

=head2 moved

How many points rebalancing moves, an exact decimal string: a point of which two copies move counts
twice, so the number can be larger than Perl's integers.

=head2 lower_bound

The least number of points that any method would have to move for the same shares.

=head2 by_hand

How many points move because of pins and named policies.

=head2 reordered

How many points change their primary, although their nodes stay the same.

=head2 fraction

The part of all copies that rebalancing moves, from 0 to 1.

=head2 report(moves => 0)

The content of C<stead diff --json>, as a Perl data structure: the amount that moves, its lower
bound, and every node's share. Counts of points are decimal strings, since they go up to 2^64 times
the number of replicas.

=for Pod::Coverage between moves affects affects_point affects_many moved lower_bound by_hand reordered fraction report

=cut
