# Every method has a section in the manual.
use strict;
use warnings;

use Test::More;
use Test::Pod::Coverage;

require './t/lib.pl';

pod_coverage_ok($_)
  for qw(Stead Stead::Map Stead::Plan Stead::Node Stead::Slice Stead::Move
  Stead::Policy Stead::Affected Stead::Error);

done_testing;
