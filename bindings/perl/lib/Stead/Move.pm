package Stead::Move;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [first, last, from, to, cause], made by Stead.xs
sub first { return $_[0][0] }
sub last  { return $_[0][1] }
sub from  { return $_[0][2] }
sub to    { return $_[0][3] }
sub cause { return $_[0][4] }

1;
