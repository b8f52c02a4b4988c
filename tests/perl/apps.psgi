# The example under test, whose answers name the worker, and the controls, which have deliberate
# mistakes: /twice/ opens the map twice in a request, /never/ once in a process, /hoard/ keeps every
# map.

use strict;
use warnings;

use JSON::PP ();
use Stead;

# Seconds; shorter than an epoch, but long enough for a publisher to publish meanwhile
my $GAP  = 0.01;
my $path = $ENV{STEAD_MAP};
my $json = JSON::PP->new->utf8;

# with --preload-app this runs before the fork
my $before_fork = $ENV{OPEN_AT_START} ? Stead::Map->open($path) : undef;

my $where = do $ENV{WHERE_PSGI} or die $@ || $!;

my ( $never, %hoard );

sub control {
    my ( $kind, $key ) = @_;
    my $members = my $again = Stead::Map->open($path);
    if ( $kind eq 'twice' ) {
        select undef, undef, undef, $GAP;
        $again = Stead::Map->open($path);
    }
    elsif ( $kind eq 'never' ) {
        $members = $again = $never ||= $members;
    }
    elsif ( $kind eq 'hoard' ) {
        $hoard{ $members->digest } ||= $members;
    }
    my $body = $json->encode(
        {
            epoch => $members->epoch,
            node  => $again->locate($key),
            again => $again->epoch
        }
    );
    return [
        200,
        [
            'Content-Type'   => 'application/json',
            'Content-Length' => length $body
        ],
        [$body]
    ];
}

sub {
    my ($env) = @_;
    my ( $kind, $key ) = $env->{PATH_INFO} =~ m{\A/(twice|never|hoard)/(.*)\z}s;
    my $response = defined $kind ? control( $kind, $key ) : $where->($env);
    push @{ $response->[1] }, 'X-Worker' => $$;
    return $response;
};
