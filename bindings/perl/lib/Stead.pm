package Stead;

use strict;
use warnings;

our $VERSION = '0.001000';

require XSLoader;
XSLoader::load( 'Stead', $VERSION );

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

__END__

=encoding UTF-8

=head1 NAME

Stead - where does this key live? the same answer in every language

=head1 SYNOPSIS

    use v5.14;
    use utf8;
    use Encode qw(encode_utf8);
    use Stead;

    my $members = Stead::Map->open('members.map');    # for each request: one stat, and a new epoch is seen
    say $members->locate('frank');                    # db1
    say $members->locate(encode_utf8('Zoë'));         # db2

A key is bytes. Text with characters above 0x7F has to be encoded first, as above; C<encode_utf8>
gives what Python, PHP and the program C<stead> place. Without it, C<Zoë> is the three bytes of
Latin-1, and another key:

    say $members->locate('Zoë');                      # db1
    say eval { $members->locate('Zoë ✓') } // 'refused';    # refused

A fleet grows, and as little as is possible moves:

    my $fleet = {
        name => 'members',
        node => [{ name => 'db1' }, { name => 'db2', weight => '1.5' }, { name => 'db3' }],
    };
    my $after = Stead::build($fleet, $members);
    my $plan  = Stead::plan($members, $after);
    say sprintf '%.4f %%', 100 * $plan->fraction;     # 28.5714 %
    say join ' ', map { $_->from . ' -> ' . $_->to } $plan->affects('alice');    # db1 -> db3

    $after->publish('members.map', $members);
    say Stead::Map->open('members.map')->epoch;       # 2

=head1 DESCRIPTION

stead keeps a small map between keys (user names, files, cache items) and nodes (database shards,
directories, servers). This module asks and makes such maps through C<libstead>, and answers as
every other language does, to the byte.

L<Stead::Map> has the maps, L<Stead::Plan> what differs between two, L<Stead::Node>, L<Stead::Slice>
and L<Stead::Move> what is in them, L<Stead::Error> what goes wrong.

It needs Perl 5.14 for 64 bits: points are integers from 0 to 2^64 - 1, and Makefile.PL refuses a
Perl whose integers are shorter.

=head1 KEYS

Nothing is trimmed, folded or decoded.

=over

=item *

B<A string is its bytes>, NUL included. How Perl keeps it inside (its UTF-8 flag) means nothing: two
strings that are C<eq> have one place. The scalar that you give is never changed.

=item *

B<A character above 0xFF> is no byte: such a key is refused. Perl cannot tell text from bytes below
that, so text that has characters from 0x80 to 0xFF is taken as Latin-1, and lives elsewhere than
its UTF-8: encode it.

=item *

B<undef, references and globs> are refused, objects that become strings by overloading among them:
write C<"$object">.

=item *

B<A whole number> is its decimal digits. Other floats, and those of 1e15 and more, have no one
spelling, and are refused.

=item *

B<A tied scalar> is fetched once.

=back

Names of nodes, labels and messages are text: strings of characters, which you encode when you print
them.

=head1 FUNCTIONS

None is exported.

=head2 Stead::build($fleet, $previous, max_move => '5%', name => 'fleet.toml')

The map of a fleet. See L<Stead::Map/build>.

=head2 Stead::plan($old, $new)

What differs between two maps of one cluster, as a L<Stead::Plan>.

=head2 Stead::path($key, levels => '64,64,128', fold => 'none')

The directories and the file name of a key:

    say Stead::path('frank');                         # 38/37/60/frank
    say Stead::path('Frank', fold => 'ascii', levels => [16, 16]);    # 6/5/frank

C<levels>: how many directories each level has, as a string or an array. C<fold>: C<ascii> makes A-Z
a-z before anything else.

=head2 Stead::version()

The version of libstead.

=for Pod::Coverage build path plan version

=head1 THREADS AND FORKS

Maps and plans may be used in a child after C<fork>, and in threads: a thread that is made while an
object exists has one of its own for the same map, which is shared and not copied. Each is freed
once, by the thread that it belongs to.

=head1 LICENCE

MIT or Apache-2.0, as you like.

=cut
