package Stead;

use strict;
use warnings;

our $VERSION = '0.001000';

require XSLoader;
XSLoader::load('Stead', $VERSION);

require JSON::PP;
require Stead::Error;
require Stead::Fleet;
require Stead::Map;
require Stead::Move;
require Stead::Node;
require Stead::Plan;
require Stead::Slice;

my $json = JSON::PP->new->utf8;

# a report of the library's; Stead.xs calls this
sub _decoded {
    my ($text) = @_;
    local $@;
    return $json->decode($text);
}

1;
