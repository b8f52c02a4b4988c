package Stead::Error;

use strict;
use warnings;

our $VERSION = '0.001000';

use constant {
    STEAD_INVALID    => 1,
    STEAD_FLEET      => 2,
    STEAD_IMPOSSIBLE => 3,
    STEAD_FORMAT     => 4,
    STEAD_DIGEST     => 5,
    STEAD_VERSION    => 6,
    STEAD_IDENTITY   => 7,
    STEAD_NOT_FOUND  => 8,
    STEAD_IO         => 9,
    STEAD_CONFLICT   => 10,
    STEAD_UNCERTAIN  => 11,
    STEAD_CHANGED    => 12,
    STEAD_NAME       => 13,
    STEAD_INTERNAL   => 15,    # 14 was never thrown, and is not used again
};

use overload
  '""'     => sub { $_[0]->as_string },
  'bool'   => sub { 1 },
  fallback => 1;

# Stead.xs makes the same hash.
sub _new {
    my ( $class, $status, $message, $file, $line ) = @_;
    my $self = {
        status      => $status,
        status_name => 'STEAD_FLEET',
        errno       => 0,
        message     => $message,
        file        => $file,
        line        => $line
    };
    return bless $self, $class;
}

sub status      { return $_[0]{status} }
sub status_name { return $_[0]{status_name} }
sub message     { return $_[0]{message} }
sub errno       { return $_[0]{errno} }
sub file        { return $_[0]{file} }
sub line        { return $_[0]{line} }

sub as_string {
    my ($self) = @_;
    return "$self->{message} at $self->{file} line $self->{line}.\n";
}

1;

__END__

=head1 NAME

Stead::Error - what went wrong, as an object

=head1 SYNOPSIS

    use Stead;

    my $map = eval { Stead::Map->open('nowhere.map') };
    if (!$map) {
        my $error = $@;
        die $error if !ref $error || !$error->isa('Stead::Error');
        print $error->status == Stead::Error::STEAD_NOT_FOUND ? "no map yet\n" : $error;
    }

=head1 DESCRIPTION

Whatever fails in Stead dies with an object of this class. It becomes text as Perl's own messages
do: C<MESSAGE at FILE line N.>, where file and line are those of the caller. It is always true.

Stead never changes C<$!> and, when it succeeds, not C<$@> either. When the system refused
something, C<errno> says why: C<< local $! = $error->errno; print "$!" >>.

A wrong number of arguments is Perl's usual C<Usage: ...>, which is plain text.

=head1 METHODS

=head2 status

The number of the failure, the same in every language: see below.

=head2 status_name

Its name in the C library, such as C<STEAD_CONFLICT>, for logs.

=head2 message

One line that says what is wrong, where, and what to do; text, as characters, at most 247 bytes of
UTF-8.

=head2 errno

What the operating system said, or 0.

=head2 file

The file of the call that failed.

=head2 line

Its line there.

=head2 as_string

What C<"$error"> gives.

=head1 STATUS NUMBERS

Constants of this package, to be written C<Stead::Error::STEAD_CONFLICT>.

=over

=item STEAD_INVALID (1)

An argument is wrong: a key that is undef or has a character above 0xFF, a number out of range.

=item STEAD_FLEET (2)

The fleet has a mistake. The message begins with file and line; of a hash, with the place in it.

=item STEAD_IMPOSSIBLE (3)

The fleet is well written and cannot be met.

=item STEAD_FORMAT (4)

Not a map, or its structure is damaged.

=item STEAD_DIGEST (5)

A map whose digest does not fit its bytes.

=item STEAD_VERSION (6)

The map needs a newer stead.

=item STEAD_IDENTITY (7)

The map belongs to another cluster, or has another hash.

=item STEAD_NOT_FOUND (8)

A file is missing.

=item STEAD_IO (9)

The system refused to read or write; C<errno> says why.

=item STEAD_CONFLICT (10)

Somebody else changed the map meanwhile; nothing was changed here.

=item STEAD_UNCERTAIN (11)

The new map is in place, but may not survive a power cut: do not publish again, sync the disk.

=item STEAD_CHANGED (12)

A file was overwritten in place while it was open; maps that are open keep their answers.

=item STEAD_NAME (13)

A key has no path: its file name would be too long.

=item STEAD_INTERNAL (15)

A fault in stead itself: please report it.

=back

=cut
