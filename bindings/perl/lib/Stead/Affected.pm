package Stead::Affected;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [key, from, to], created by Stead.xs
sub key  { return $_[0][0] }
sub from { return $_[0][1] }
sub to   { return $_[0][2] }

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Affected - a copy of a key that moves

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $one  = Stead::Map->build({ name => 'm', node => [{ name => 'a' }] });
    my $two  = Stead::Map->build({ name => 'm', node => [{ name => 'a' }, { name => 'b' }] }, $one);
    my @keys = ('alice', 'bob', 'frank');
    my $rows = Stead::Plan->between($one, $two)->affects_many(\@keys);
    say join ', ', map { $keys[$_->key] . ' to ' . $_->to } @$rows;    # alice to b, frank to b

=head1 METHODS

A row of the answer of L<Stead::Plan/affects_many>. It is read-only.

=head2 key

The position of the key in the array that was given, from 0.

=head2 from

The name of the node that loses the copy; undef when a copy is added.

=head2 to

The name of the node that gets the copy; undef when a copy is dropped.

=cut
