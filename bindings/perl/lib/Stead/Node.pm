package Stead::Node;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [name, weight, map, number], made by Stead.xs, as label and attribute are
sub name   { return $_[0][0] }
sub weight { return $_[0][1] }

1;
