package Stead::Move;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [first, last, from, to, cause], created by Stead.xs
sub first { return $_[0][0] }
sub last  { return $_[0][1] }
sub from  { return $_[0][2] }
sub to    { return $_[0][3] }
sub cause { return $_[0][4] }

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Move - a run of points of which one copy moves

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $one = Stead::Map->build({ name => 'm', node => [{ name => 'a' }] });
    my $two = Stead::Map->build({ name => 'm', node => [{ name => 'a' }, { name => 'b' }] }, $one);
    my ($move) = Stead::Plan->between($one, $two)->moves;
    say join ' ', $move->from, $move->to, $move->cause;      # a b rebalance
    say sprintf '%x', $move->last;                           # 7fffffffffffffff

=head1 METHODS

A move is read-only.

=head2 first

The first point, an integer from 0 to 2^64 - 1.

=head2 last

The last point, which is included in the move.

=head2 from

The name of the node that loses the copy; undef when a copy is added.

=head2 to

The name of the node that gets the copy; undef when a copy is dropped.

=head2 cause

Why the copy moves: C<rebalance>, C<pin> or C<policy>.

=cut
