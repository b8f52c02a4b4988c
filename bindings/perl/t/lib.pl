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
    return Stead::build( { name => 'members', node => [ @nodes, @more ] },
        $previous );
}

# Checks that a call dies with a Stead::Error that has this status and matches this message.
sub fails {
    my ( $name, $status, $words, $code ) = @_;
    my $lived = eval { $code->(); 1 };
    my $error = $@;
    subtest $name => sub {
        ok !$lived, 'dies';
        isa_ok $error, 'Stead::Error' or return diag $error;
        is $error->status, $status, 'status';
        like $error->message,   $words, 'message';
        unlike $error->message, qr/\n/, 'is one line';
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
