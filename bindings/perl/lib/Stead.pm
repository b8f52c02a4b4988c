package Stead;

use strict;
use warnings;

our $VERSION = '0.001000';

require XSLoader;
XSLoader::load( 'Stead', $VERSION );

require JSON::PP;
require Stead::Affected;
require Stead::Error;
require Stead::Fleet;
require Stead::Map;
require Stead::Move;
require Stead::Node;
require Stead::Pair;
require Stead::Plan;
require Stead::Policy;
require Stead::Slice;

my $json = JSON::PP->new->utf8;

# Converts a report from JSON to Perl data. Stead.xs calls this.
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

    my $members = Stead::Map->open('members.map');    # in each request: costs one stat, and sees a new epoch
    say $members->locate('frank');                    # db1
    say $members->locate(encode_utf8('Zoë'));         # db2

A key is bytes. Encode text with characters above 0x7F first, as above: C<encode_utf8> gives the
bytes that Python, PHP and the program C<stead> use for the same text. Without it, C<Zoë> is the
three bytes of Latin-1, which is another key:

    say $members->locate('Zoë');                      # db1
    say eval { $members->locate('Zoë ✓') } // 'refused';    # refused

When a fleet grows, as little as possible moves:

    my $fleet = {
        name => 'members',
        node => [{ name => 'db1' }, { name => 'db2', weight => '1.5' }, { name => 'db3' }],
    };
    my $after = Stead::Map->build($fleet, $members);
    my $plan  = Stead::Plan->between($members, $after);
    say sprintf '%.4f %%', 100 * $plan->fraction;     # 28.5714 %
    say join ' ', map { $_->from . ' -> ' . $_->to } $plan->affects('alice');    # db1 -> db3

    $after->publish('members.map', $members);
    say Stead::Map->open('members.map')->epoch;       # 2

=head1 DESCRIPTION

stead keeps a small map between keys (user names, files, cache items) and nodes (database shards,
directories, servers). This module builds and reads such maps through C<libstead>, and gives the
same answers as stead in every other language, byte for byte.

A L<Stead::Map> is a map, and a L<Stead::Plan> is the difference between two maps. L<Stead::Node>,
L<Stead::Policy>, L<Stead::Slice>, L<Stead::Move> and L<Stead::Affected> are the records in them.
L<Stead::Error> is the exception that all failures raise.

It needs Perl 5.14 or newer with 64-bit integers, because points are integers from 0 to 2^64 - 1.
Makefile.PL refuses a Perl whose integers are shorter.

=head1 KEYS

A key is never trimmed, folded or decoded.

=over

=item *

B<A string> stands for its bytes, NUL included. Perl's internal form of the string (its UTF-8 flag)
does not matter: two strings that are C<eq> have the same place. The scalar that you pass is never
changed.

=item *

B<A character above 0xFF> is not a byte, so a key that contains one is refused. Below that, Perl
cannot tell text from bytes. Text with characters from 0x80 to 0xFF is therefore taken as Latin-1,
and has another place than its UTF-8: encode it.

=item *

B<undef, references and globs> are refused. So are objects that overload string conversion: write
C<"$object">.

=item *

B<A whole number> stands for its decimal digits. Other floats, and those of 1e15 and more, can be
written in more than one way, and are refused.

=item *

B<A tied scalar> is fetched once.

=back

Names of nodes, labels and messages are text, that is, strings of characters: encode them when you
print them.

=head1 FUNCTIONS

No function is exported.

=head2 Stead::path($key, levels => '64,64,128', fold => 'none')

Returns the relative path of a key, directories and a file name:

    say Stead::path('frank');                         # 38/37/60/frank
    say Stead::path('Frank', fold => 'ascii', levels => [16, 16]);    # 6/5/frank

C<levels> is the number of directories on each level, as a string or a reference to an array. With
C<< fold => 'ascii' >>, A-Z becomes a-z before anything else.

=head2 Stead::path_name($path, levels => '64,64,128')

Returns the name that has a path, as bytes: the inverse of C<path> without folding. What comes before
the last directories and the file name is ignored, so an absolute path is fine. A path that no name
has is refused with C<STEAD_NAME>.

    say Stead::path_name('/nas/38/37/60/frank');      # frank

=head2 Stead::survey(\@names, members => 0, levels => '64,64,128')

Measures how evenly eight schemes, MD5 among them, spread a list of names: the content of
C<stead survey --json>, as a Perl data structure. With C<members> it also says what the directories of
C<levels> would hold for this many members.

=head2 Stead::version()

Returns the version of libstead.

=for Pod::Coverage path path_name survey version

=head1 THREADS AND FORKS

Maps and plans may be used in a child after C<fork>, and in threads. A new thread gets its own
object for each object that exists when it is created. Both objects use the same map, which is
shared and not copied. Each object is freed once, by the thread that it belongs to.

=head1 LICENCE

MIT or Apache-2.0, as you like.

=cut
