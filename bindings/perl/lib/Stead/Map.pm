package Stead::Map;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Map - which nodes hold which keys

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $map = Stead::Map->open('members.map');
    say $map->locate('frank');                  # db1
    say join ' ', $map->prefer('frank', 2);     # db1 db2
    say "@{ $map->locate_many(['frank', 'bob']) }";    # db1 db2

    for my $node ($map->nodes) {
        my $address = $node->attribute('address') // 'nowhere';
        say join ' ', $node->name, $node->weight, $address if $node->name eq 'db2';    # db2 1.5 10.0.0.2:3306
    }

=head1 DESCRIPTION

A map is immutable and verified. What it answers does not change, whatever happens to its file.
L<Stead/KEYS> says what a key is.

Methods that give a list give its length in scalar context.

Everything that fails dies with a L<Stead::Error>.

=head1 CONSTRUCTORS

=head2 open($path, copy => 0)

The map of a file. The process keeps it: to open it again costs one C<stat> while the file is
unchanged, and gives the new map as soon as somebody has published one. So open it B<for each
request>, and use that to its end.

C<$path> is bytes, as for Perl's own C<open>, or an object that becomes a string. Files up to 1 MiB
are read; larger ones are mapped, and shared by all processes. C<< copy => 1 >> reads those, too:
then nobody who truncates the file in place can end this process.

=head2 from_bytes($data)

The map of the bytes of a map file.

=head2 build($fleet, $previous, max_move => '5%', name => 'fleet.toml')

The map of a fleet: the first one, or the next epoch of C<$previous>, from which as little as is
possible moves. Nothing is written.

C<$fleet> is the text of a fleet file, as bytes, or a reference to a hash of the same shape. What a
hash says is text. Its C<weight>, C<replicas> and C<max_slices> are numbers, as strings or as
Perl's; C<0.1> is a tenth, and C<0.1 + 0.2> is an error, since it has more than 6 places. A
pin's C<short> is C<1>, C<0> or the empty string; the booleans of L<JSON::PP> do as well.

    my $built = Stead::Map->build({ name => 'members', node => [{ name => 'db1' }, { name => 'db2', weight => 1.5 }] });

C<max_move>: how much may move in this epoch; the same call on the map that comes of it takes the
next step. C<name>: what messages call the text, and where a C<secret_file> is looked for.

=head2 build_file($path, $previous, max_move => '5%')

The same of a fleet file.

=head1 QUESTIONS

=head2 locate($key)

The name of the key's node: its primary, when there are several.

=head2 locate_all($key)

All its nodes, primary first.

=head2 prefer($key, $n)

Up to C<$n> nodes, best first: its own, then those that take over when they are down. All clients
get the same list.

=head2 locate_many(\@keys, numbers => 0)

The primaries of many keys, as a reference to an array. With C<< numbers => 1 >> numbers of nodes in
C<nodes> in place of names.

=head2 point($key)

The point of a key, an integer from 0 to 2^64 - 1: its hash, by which it is located.

=head2 locate_point($point)

All nodes of a point.

=head1 WHAT IS IN IT

=head2 name

The name of the cluster.

=head2 epoch

The number of this version of the map, from 1.

=head2 digest

Its SHA-256, 32 bytes: two maps with one digest are the same.

=head2 replicas

How many nodes hold each point.

=head2 nodes

A L<Stead::Node> for each node, by name.

=head2 slices

A L<Stead::Slice> for each slice, by points, pins applied; together they cover the whole space.

=head2 report

What C<stead diff --json> says of a map, as Perl's data: every node with its share.

=head2 same($other)

Whether the two are equal but for epoch and parent, so that publishing the one over the other would
change nothing.

=head1 WRITING

=head2 publish($path, $previous)

Publishes the map to those who open C<$path>, whole or not at all, with its history beside it, if
C<$previous>, on which it was built, is still there (leave it out when there is none yet). If
somebody was faster, this dies with C<STEAD_CONFLICT> and changes nothing: open the map again, and
build again.

=head2 save($path)

Writes a copy to a file, whole or not at all; it knows no history and no conflicts.

=head2 to_bytes

The bytes of the map's file.

=for Pod::Coverage open from_bytes build build_file locate locate_all prefer locate_many point locate_point name epoch digest replicas nodes slices report same publish save to_bytes

=cut
