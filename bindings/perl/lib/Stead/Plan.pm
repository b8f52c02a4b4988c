package Stead::Plan;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

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

    my $plan = Stead::plan($now, $after);
    say $plan->fraction;                                      # 0.5
    say join ' ', map { $_->from, $_->to } $plan->moves;      # a b
    say scalar $plan->affects('frank');                       # 1
    say $plan->report->{moved}{points};                       # 9223372036854775808

=head1 DESCRIPTION

C<Stead::plan(OLD, NEW)> makes a plan, either before the new map is published or afterwards. To move
the data, go through your keys and copy each one for which C<affects> returns moves; then publish.

=head1 METHODS

=head2 moves

A list with a L<Stead::Move> for each run of points of which one copy moves, sorted by first point;
in scalar context, the number of moves.

=head2 count

The number of moves.

=head2 affects($key)

The moves that concern a key: an empty list for a key that stays.

=head2 fraction

The part of all copies that rebalancing moves, from 0 to 1.

=head2 report(moves => 0)

The content of C<stead diff --json>, as a Perl data structure: the amount that moves, its lower
bound, and every node's share. Counts of points are decimal strings, since they go up to 2^64 times
the number of replicas.

=for Pod::Coverage moves count affects fraction report

=cut
