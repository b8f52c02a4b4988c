package Stead::Plan;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

1;
