package Stead::Map;

use strict;
use warnings;

use Scalar::Util ();
use Stead        ();

our $VERSION = '0.001000';

# As a string, a map says what it is. As a number it is its address, as any reference is.
use overload
  '""'     => \&_described,
  '0+'     => sub { Scalar::Util::refaddr( $_[0] ) },
  'bool'   => sub { 1 },
  fallback => 1;

# Returns a count with its word.
sub _counted {
    my ( $count, $word ) = @_;
    return "$count $word" . ( $count == 1 ? '' : 's' );
}

sub _described {
    my ($map) = @_;
    return sprintf '<Stead::Map "%s" epoch %s, %s, %s, %s>', $map->name,
      $map->epoch, _counted( scalar $map->nodes, 'node' ),
      _counted( scalar $map->slices, 'slice' ),
      substr unpack( 'H*', $map->digest ), 0, 8;
}

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

    say $map->attribute($map->locate('bob'), 'address');    # 10.0.0.2:3306
    say $map->node('db2')->weight;              # 1.5
    say join ' ', map { $_->name } $map->nodes;    # db1 db2

=head1 DESCRIPTION

A map is immutable and verified. Its answers do not change when another map is published at its
path. L<Stead/KEYS> says what a key is.

A method that returns a list returns its length in scalar context.

As a string, a map says what it is: C<< <Stead::Map "members" epoch 1, 2 nodes, 2 slices, a0cbd4cc>
>>, where the last word begins the digest. C<==> compares objects, as for every reference; to compare
maps, compare their digests, or use C<same>.

Every method that fails dies with a L<Stead::Error>.

=head1 CONSTRUCTORS

=head2 open($path, copy => 0)

Opens a map file. The process caches the map: opening the file again costs one C<stat> while it is
unchanged, and returns the new map as soon as one is published. So open the map B<in each request>,
and use it until the request ends.

C<$path> is bytes, as for Perl's own C<open>, or an object that overloads string conversion. Files
up to 1 MiB are read into memory. Larger ones are memory-mapped, and shared by all processes. If
another program overwrites such a file in place, maps that are open give wrong answers; if it
truncates the file, this process is killed by SIGBUS. With C<< copy => 1 >>, large files are read
into memory, too, and neither can happen.

=head2 open_uncached($path)

Opens a map file without the cache of the process, and reads it into memory whatever its size: for a
program that looks at many files once, or that only wants to know whether a file is a sound map.

=head2 open_epoch($path, $epoch)

Opens an old epoch of a map file, one of those that C<history> lists.

=head2 from_bytes($data)

Makes a map from the bytes of a map file.

=head2 build($fleet, $previous, max_move => '5%', name => 'fleet.toml')

Builds the map of a fleet: the first one or, if C<$previous> is given, the next epoch of that map,
from which as little as possible moves. No file is written.

C<$fleet> is the text of a fleet file, as bytes, or a reference to a hash of the same shape. The
strings in a hash are text. Its C<weight>, C<replicas> and C<max_slices> are numbers, written as
strings or as Perl's numbers; C<0.1> is a tenth, and C<0.1 + 0.2> is an error, because it has more
than 6 decimal places. The C<short> of a pin is C<1>, C<0>, the empty string, or a boolean of
L<JSON::PP>.

    my $built = Stead::Map->build({ name => 'members', node => [{ name => 'db1' }, { name => 'db2', weight => 1.5 }] });

C<max_move> is the upper bound on the part of all copies that may move in this epoch; the same call
on the resulting map takes the next step. C<name> is the file name that messages use for the text. A
relative C<secret_file> is looked for in the directory of C<name>.

=head2 build_file($path, $previous, max_move => '5%')

Does the same as C<build>, for a fleet file.

=head1 CHANGING A FILE

These do what the program C<stead> does with a map file. Each returns the map that is at C<$path>
afterwards.

=head2 apply($fleet, $path, max_move => '5%', name => 'fleet.toml', allow => 'drop-copies')

Builds the map of a fleet on the map that is at C<$path>, or a first map when there is none, and
publishes it. It writes nothing when nothing would change. C<$fleet>, C<max_move> and C<name> are as
for C<build>, and C<allow> as for C<publish>.

    my $fleet = { name => 'cache', node => [{ name => 'c1' }, { name => 'c2' }] };
    say Stead::Map->apply($fleet, 'cache.map')->epoch;    # 1
    push @{ $fleet->{node} }, { name => 'c3' };
    say Stead::Map->apply($fleet, 'cache.map')->epoch;    # 2
    say join ' ', Stead::Map->history('cache.map');       # 1 2

=head2 apply_file($fleet, $path, max_move => '5%', allow => 'drop-copies')

Does the same, for a fleet file.

=head2 rollback($path, $epoch, back => 'least', allow => 'drop-copies')

Goes back to an old epoch in a new epoch. C<back> says how: C<exact> publishes the slices of the old
epoch again, so that every key lives where it lived then; C<least> builds the fleet of the old epoch
on the newest one, which moves as little as possible. Without it the epoch just before the newest
one comes back exactly, and an older one is refused, with a message that says what both would move.
Nodes keep the attributes that they have now if data has moved since the old epoch. Restore the
fleet as well, or a guard refuses it the next time. C<allow> is as for C<publish>; C<take-back> is
never needed here.

=head1 QUESTIONS ABOUT A FILE

=head2 history($path)

The numbers of the epochs that C<open_epoch> can open, a list, oldest first.

=head2 peek($path)

Returns the epoch and the digest that the header of a map file has, without verifying the file: a
cheap way to learn whether there is a newer epoch. In scalar context it returns the epoch.

    my ($epoch, $digest) = Stead::Map->peek('members.map');
    say $epoch;                                 # 1

=head1 QUESTIONS

=head2 locate($key)

Returns the name of the key's node, which is its primary when there are several.

=head2 locate_all($key)

Returns the names of all nodes of the key, primary first.

=head2 prefer($key, $n)

Returns up to C<$n> nodes, best first: those that hold the key, then those that take over when these
are down. All clients get the same list.

=head2 locate_many(\@keys, numbers => 0)

Returns the primaries of many keys, as a reference to an array. With C<< numbers => 1 >>, the array
has the indices of the nodes in C<nodes> instead of their names. A key that is undef gives undef.

=head2 locate_all_many(\@keys, numbers => 0)

Returns all nodes of many keys, as a reference to an array: for each key a reference to an array with
the nodes of C<locate_all>, primary first. C<numbers> and undef are as in C<locate_many>.

=head2 point($key)

Returns the point of a key, an integer from 0 to 2^64 - 1. It is the hash by which the key is
located.

=head2 locate_point($point)

Returns the name of the node of a point, which is its primary when there are several.

=head2 locate_all_point($point)

Returns the names of all nodes of a point, primary first.

=head1 WHAT IS IN IT

=head2 name

The name of the cluster.

=head2 epoch

The number of this version of the map, from 1.

=head2 digest

The SHA-256 of the map, 32 bytes: two maps with the same digest are the same.

=head2 parent

The digest of the map that this one was built on, 32 bytes; 32 zero bytes for a first map.

=head2 hash

The name of the map's hash, such as C<md5>.

=head2 key_rule

The key rule as a fleet writes it: C<whole>, or C<first 2 segments>.

=head2 replicas

The number of nodes that hold each point.

=head2 spread

The names of the labels over which the copies are spread, a list, outermost first.

=head2 nodes

The nodes, a list of L<Stead::Node>, sorted by name.

=head2 node($name)

The L<Stead::Node> of this name; undef when there is none.

=head2 attribute($node, $name)

The attribute of this name of a node, such as its address; undef when the node has none. The node is
given by its name. If the map has no such node, this dies with C<STEAD_INVALID>. It costs far less
than looking through C<nodes>.

=head2 label($node, $name)

The label of this name of a node, such as its zone, in the same way.

=head2 policies

The policies, a list of L<Stead::Policy>: those that stead chose, and those that the fleet names.

=head2 slices

The slices with the pins applied, a list of L<Stead::Slice>, sorted by point. Together they cover
the whole space.

=head2 report

The content of C<stead diff --json> for this map, as a Perl data structure: every node with its
share.

=head2 fleet

The fleet of the map, as TOML: the nodes, policies and pins, and all else that placement depends on.
Building it on this map changes nothing, except that a gradual change is completed. The text is
bytes, as C<build> takes them. A secret is never part of it.

    my $copy = Stead::Map->open('cache.map');
    say Stead::Map->build($copy->fleet, $copy)->same($copy) ? 'the same' : 'another';    # the same

=head2 same($other)

Returns whether the two maps are equal except for epoch and parent, so that publishing one over the
other would change nothing.

=head1 WRITING

=head2 publish($path, $previous, allow => 'drop-copies')

Publishes the map at C<$path>, completely or not at all, with its history beside it. C<$previous> is
the map on which it was built, and must still be the map at C<$path>; omit it when there is no map
yet. If another process has published meanwhile, this dies with C<STEAD_CONFLICT> and changes
nothing: open the map again, and build again.

If the change drops copies, loses a fault domain, moves more than the fleet permits, moves data
without a carry where changes are carried, or takes back what a newer epoch brought, this dies with
C<STEAD_GUARDED> and changes nothing. C<allow> lets it pass: it has the words C<drop-copies>,
C<leave-data>, C<lose-domain>, C<move> and C<take-back>, with commas between them.

=head2 save($path)

Writes a copy of the map to a file, completely or not at all. It keeps no history and detects no
conflicts.

=head2 to_bytes

Returns the bytes of the map's file.

=for Pod::Coverage open from_bytes build build_file locate locate_all prefer locate_many locate_all_many point locate_point name epoch digest replicas nodes slices report same publish save to_bytes open_uncached open_epoch peek apply apply_file history rollback fleet locate_all_point parent hash key_rule spread node attribute label policies

=cut
