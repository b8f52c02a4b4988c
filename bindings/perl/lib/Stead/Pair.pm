package Stead::Pair;

use strict;
use warnings;

use Scalar::Util ();
use Stead        ();

our $VERSION = '0.001000';

# As a string, a pair says what it is. As a number it is its address, as any reference is.
use overload
  '""'     => \&_described,
  '0+'     => sub { Scalar::Util::refaddr( $_[0] ) },
  'bool'   => sub { 1 },
  fallback => 1;

sub _described {
    my ($pair) = @_;
    my ( $old, $new ) = ( $pair->old, $pair->new_map );
    return sprintf '<Stead::Pair "%s" epoch %s>', $new->name, $new->epoch
      if !defined $old;
    return sprintf '<Stead::Pair "%s" epoch %s -> %s, %s>', $new->name,
      $old->epoch, $new->epoch, $pair->state;
}

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Pair - where to read and to write while data is carried to its new nodes

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $now   = Stead::Map->build("name = 'm'\n[[node]]\nname = 'a'\n");
    my $after = Stead::Map->build("name = 'm'\n[[node]]\nname = 'a'\n[[node]]\nname = 'b'\n", $now);

    my $pair = Stead::Pair->between($now, $after, 'both_old_first');
    say join ' ', $pair->reads('frank');      # a
    say join ' ', $pair->writes('frank');     # a b
    say $pair->moved('bob') ? 'moves' : 'stays';    # stays

=head1 DESCRIPTION

A pair is a map and, while a carry is open, the map where its data was. It says where to read and to
write. Nodes are named as in the new map; a node that only the old map has is named as there. A pair
never changes. Open it in each request, as a map:

    $pair = Stead::Pair->open('members.map');

As a string, a pair says what it is: C<< <Stead::Pair "m" epoch 1 -> 2, both_old_first> >>.

=head1 METHODS

=head2 open($path, copy => 0, epoch => $epoch, state => $state)

Opens a map file and, while a carry is open, the map where the data was. Without a carry the pair has
the new map alone, and answers like it. This costs two stats if the process has the files open already
and they are unchanged. C<copy> is that of L<Stead::Map/open>. With C<epoch> and C<state>, this epoch
of the history is the old map, and this the state, instead of those of the carry.

=head2 between($old, $new, $state)

Makes a pair of two maps, as if a carry from the old one to the new one were open in this state:
C<old>, C<both_old_first>, C<both_new_first> or C<new>.

=head2 reads($key)

The names of the nodes to read a key from, in this order; in scalar context, their number. The first
node that answers decides, also when it answers that there is no such key. Go on to the next node only
if one does not answer at all. A new place is not among them while data is copied to it.

=head2 writes($key)

The names of the nodes to write a key to, or to delete it from, in this order. The write is done when
all of them have it.

=head2 moved($key)

Whether the two maps answer differently for a key: with other nodes, or with the same in another
order. Where they do not, every state reads and writes the same nodes.

=head2 reads_point($point)

=head2 writes_point($point)

=head2 moved_point($point)

The same for a point.

=head2 state

The state of the carry; undef if none is open.

=head2 new_map

The map where the data will be, or is.

=head2 old

The map where the data was; undef if no carry is open.

=head2 attribute($node, $name)

An attribute of a node, such as its address; undef if the node has none of this name.

=for Pod::Coverage open between reads writes moved reads_point writes_point moved_point state new_map old attribute

=cut
