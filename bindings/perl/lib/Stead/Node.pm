package Stead::Node;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [name, weight, map, number], made by Stead.xs, as label and attribute are
sub name   { return $_[0][0] }
sub weight { return $_[0][1] }

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Node - a node of a map: a server, a mount point, a shard

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my ($node) = grep { $_->name eq 'db2' } Stead::Map->open('members.map')->nodes;
    say $node->weight;                            # 1.5
    say $node->attribute('address');              # 10.0.0.2:3306
    say $node->label('zone') // 'no zone';        # no zone

=head1 METHODS

It is read only, and keeps its map.

=head2 name

Its stable name.

=head2 weight

What it wants, as an exact decimal string.

=head2 label($name)

A label, such as its zone; undef when it has none of this name.

=head2 attribute($name)

An attribute, such as its address; undef when it has none of this name.

=for Pod::Coverage label attribute

=cut
