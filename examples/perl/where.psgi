# Where does this member live? A PSGI application: GET /where/KEY answers
# {"address":"10.0.0.1:3306","epoch":3,"key":"frank","node":"db1"}.
#
# Each request opens the map. That costs one stat: the process keeps the map open, and opens the
# file again only after a new epoch was published. So no worker has to be signalled, restarted or
# reloaded. Open the map once per request and use it for the whole request: a second open in the
# same request may return the next epoch.

use strict;
use warnings;

use Encode   qw(decode);
use JSON::PP ();
use Stead;

my $path = $ENV{STEAD_MAP} || 'members.map';
my $json = JSON::PP->new->utf8->canonical;

sub answer {
    my ( $status, $found ) = @_;
    my $body = $json->encode($found);
    return [
        $status,
        [
            'Content-Type'   => 'application/json',
            'Content-Length' => length $body
        ],
        [$body]
    ];
}

sub {
    my ($env) = @_;

    # PSGI passes the path as bytes, and a key is bytes
    my ($key) = $env->{PATH_INFO} =~ m{\A/where/(.*)\z}s;
    return answer( 404, { error => 'ask for /where/KEY' } ) if !defined $key;

    my $members = eval { Stead::Map->open($path) };
    if ( !$members ) {
        die $@ if !ref $@;
        return answer( 503, { error => $@->message } );
    }
    my $node = $members->locate($key);
    return answer(
        200,
        {
            epoch   => $members->epoch,
            key     => decode( 'UTF-8', $key ),
            node    => $node,
            address => $members->attribute( $node, 'address' )
        }
    );
};
