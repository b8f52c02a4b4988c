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
    STEAD_INTERNAL   => 15,    # 14 was never thrown, and is not reused
    STEAD_PERMISSION => 16,
    STEAD_MEMORY     => 17,
    STEAD_GUARDED    => 18,
};

# a class for each status; class_of in held.h has the same list
{
    no strict 'refs';
    push @{"Stead::Error::${_}::ISA"}, 'Stead::Error' for qw(
      Invalid Fleet Impossible Format Digest Version Identity NotFound Io
      Conflict Uncertain Changed PathName Internal PermissionDenied OutOfMemory
      Guarded
    );
}

use overload
  '""'     => sub { $_[0]->as_string },
  'bool'   => sub { 1 },
  fallback => 1;

# Makes an error. Stead.xs makes the same hash for failures of libstead.
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
        print $error->isa('Stead::Error::NotFound') ? "no map yet\n" : $error;
    }

=head1 DESCRIPTION

Every call of Stead that fails dies with an object of this class, or rather of the subclass for its
status, such as C<Stead::Error::NotFound>. As a string, the object looks like
Perl's own messages: C<MESSAGE at FILE line N.>, where file and line are those of the caller. As a
boolean, it is always true.

Stead never changes C<$!>, and changes C<$@> only when it fails. When a system call failed, C<errno>
says why: C<< local $! = $error->errno; print "$!" >>.

For a wrong number of arguments you get Perl's usual C<Usage: ...>, which is plain text.

=head1 METHODS

=head2 status

The status number of the failure, which is the same in every language: see below.

=head2 status_name

The name of the status in the C library, such as C<STEAD_CONFLICT>, for logs.

=head2 message

One line that says what is wrong, where, and what to do. It is text (a string of characters), at
most 247 bytes long in UTF-8.

=head2 errno

The error number of the operating system, or 0.

=head2 file

The source file of the call that failed.

=head2 line

The line of that call.

=head2 as_string

The string that C<"$error"> gives.

=head1 STATUS NUMBERS

These are constants of this package: write C<Stead::Error::STEAD_CONFLICT>. The class of each failure
stands behind its number.

=over

=item STEAD_INVALID (1), Stead::Error::Invalid

An argument is wrong: a key that is undef or has a character above 0xFF, a number out of range.

=item STEAD_FLEET (2), Stead::Error::Fleet

The fleet contains a mistake. The message begins with file and line or, for a fleet that is a hash,
with the place in the hash.

=item STEAD_IMPOSSIBLE (3), Stead::Error::Impossible

The fleet is well formed, but no map can satisfy it.

=item STEAD_FORMAT (4), Stead::Error::Format

The bytes are not a map, or their structure is damaged.

=item STEAD_DIGEST (5), Stead::Error::Digest

The digest of a map does not match its bytes.

=item STEAD_VERSION (6), Stead::Error::Version

The map needs a newer stead.

=item STEAD_IDENTITY (7), Stead::Error::Identity

The map belongs to another cluster, or has another hash or key rule.

=item STEAD_NOT_FOUND (8), Stead::Error::NotFound

A file is missing.

=item STEAD_IO (9), Stead::Error::Io

A system call to read or write failed for another reason than those below; C<errno> has it.

=item STEAD_CONFLICT (10), Stead::Error::Conflict

Another process changed the map meanwhile; nothing was written.

=item STEAD_UNCERTAIN (11), Stead::Error::Uncertain

The new map is in place, but may not survive a power cut. Do not publish again; sync the disk.

=item STEAD_CHANGED (12), Stead::Error::Changed

A file was overwritten in place while it was open. Maps that are open keep their answers, except
memory-mapped ones.

=item STEAD_NAME (13), Stead::Error::PathName

A key has no path, because its file name would be too long; or no key has this path.

=item STEAD_INTERNAL (15), Stead::Error::Internal

Stead has a bug: please report it.

=item STEAD_PERMISSION (16), Stead::Error::PermissionDenied

The system denied permission.

=item STEAD_MEMORY (17), Stead::Error::OutOfMemory

There is not enough memory for the call.

=item STEAD_GUARDED (18), Stead::Error::Guarded

The change does harm that a guard forbids, and the guard was not lifted. No call of this version
fails so.

=back

=cut
