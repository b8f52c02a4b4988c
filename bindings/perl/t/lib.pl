# Functions that the tests share.
use strict;
use warnings;

use Stead;
use Test::More;

# the map of the fleet in the README: frank lives on db1, bob on db2
sub members {
    my ( $previous, @more ) = @_;
    my @nodes = (
        { name => 'db1' },
        {
            name       => 'db2',
            weight     => '1.5',
            attributes => { address => '10.0.0.2:3306' }
        }
    );
    return Stead::Map->build( { name => 'members', node => [ @nodes, @more ] },
        $previous );
}

# the class of a status, without Stead::Error::
sub class_of {
    return (
        qw(- Invalid Fleet Impossible Format Digest Version Identity NotFound Io
          Conflict Uncertain Changed PathName - Internal PermissionDenied
          OutOfMemory Guarded)
    )[ $_[0] ];
}

# Checks that a call dies with a Stead::Error that has this status and matches this message.
sub fails {
    my ( $name, $status, $words, $code ) = @_;
    my $lived = eval { $code->(); 1 };
    my $error = $@;
    subtest $name => sub {
        ok !$lived, 'dies';
        isa_ok $error, 'Stead::Error' or return diag $error;
        is $error->status, $status,                              'status';
        is ref $error,     'Stead::Error::' . class_of($status), 'class';
        unlike $error->message, qr/\bstead_[a-z_]+/, 'names no function of C';
        like $error->message,   $words,              'message';
        unlike $error->message, qr/\n/,              'is one line';
        is "$error",
            $error->message . ' at '
          . $error->file
          . ' line '
          . $error->line
          . ".\n", 'as text';
        like $error->file, qr/\.t\z/,
          'the place is in the test, and not in the module';
    };
    return $error;
}

1;
