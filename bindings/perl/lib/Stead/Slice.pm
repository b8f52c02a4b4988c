package Stead::Slice;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [first, last, policy, node...], made by Stead.xs
sub first  { return $_[0][0] }
sub last   { return $_[0][1] }
sub policy { return $_[0][2] }

sub nodes {
    my ($self) = @_;
    my @nodes = @$self[3 .. $#$self];
    return @nodes;
}

1;
