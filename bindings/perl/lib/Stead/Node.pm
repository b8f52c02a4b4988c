package Stead::Node;

use strict;
use warnings;

use Scalar::Util ();
use Stead        ();

our $VERSION = '0.001000';

# As a string, a node is its name. As a number it is its address, as any reference is.
use overload
  '""'     => sub { $_[0][0] },
  '0+'     => sub { Scalar::Util::refaddr( $_[0] ) },
  'bool'   => sub { 1 },
  fallback => 1;

# [name, weight, map, number], created by Stead.xs, which also has label,
# attribute, labels, attributes and leaving
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

    my $node = Stead::Map->open('members.map')->node('db2');
    say $node->weight;                            # 1.5
    say $node->attribute('address');              # 10.0.0.2:3306
    say $node->label('zone') // 'no zone';        # no zone

=head1 METHODS

A node is read-only, and keeps its map alive. As a string, it is its name.

=head2 name

The stable name of the node.

=head2 weight

The weight of the node, as an exact decimal string.

=head2 label($name)

The label of this name, such as the zone; undef when the node has none.

=head2 attribute($name)

The attribute of this name, such as the address; undef when the node has none.

=head2 labels

All labels, as a reference to a new hash: C<< { zone => 'z1', rack => 'r3' } >>.

=head2 attributes

All attributes, as a reference to a new hash.

=head2 leaving

Whether the fleet dropped the node, and a gradual change still has to empty it.

=for Pod::Coverage label attribute labels attributes leaving

=cut
