package Stead::Slice;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [first, last, policy, node...], created by Stead.xs
sub first  { return $_[0][0] }
sub last   { return $_[0][1] }
sub policy { return $_[0][2] }

sub nodes {
    my ($self) = @_;
    my @nodes = @$self[ 3 .. $#$self ];
    return @nodes;
}

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Slice - a run of points, and the nodes that hold it

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    for my $slice (Stead::Map->open('members.map')->slices) {
        say sprintf '%016x %s', $slice->first, $slice->nodes if $slice->first == 0;    # 0000000000000000 db1
    }

=head1 METHODS

A slice is read-only.

=head2 first

The first point, an integer from 0 to 2^64 - 1.

=head2 last

The last point, which is included in the slice.

=head2 nodes

The names of the nodes, primary first; in scalar context, their number.

=head2 policy

The name of the policy if the fleet names it, otherwise undef.

=cut
