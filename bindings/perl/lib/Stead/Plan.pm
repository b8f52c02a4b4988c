package Stead::Plan;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Plan - what differs between two maps

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

C<Stead::plan(OLD, NEW)> makes one: before anything is done, when the new map is built and not
published, or afterwards. Go through your keys, and copy those that C<affects> names; then publish.

=head1 METHODS

=head2 moves

A L<Stead::Move> for each run of points of which one copy moves, by first point; in scalar context
how many.

=head2 count

How many moves there are.

=head2 affects($key)

The moves that concern a key: none for a key that stays.

=head2 fraction

Which part of all copies rebalancing moves, from 0 to 1.

=head2 report(moves => 0)

What C<stead diff --json> says, as Perl's data: what moves, the least that could, every node's
share. Counts of points are decimal strings, since they go up to 2^64 times the number of replicas.

=for Pod::Coverage moves count affects fraction report

=cut
