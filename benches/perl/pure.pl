# What stead does, written in Perl, for make bench-perl and make bench.

use strict;
use warnings;

use Digest::MD5 qw(md5);

# The work of stead in pure Perl: the first 8 bytes of MD5, and the last slice that begins at or
# before them.
sub pure {
    my ($map)  = @_;
    my @slices = $map->slices;
    my @firsts = map { $_->first } @slices;
    my @names  = map { ( $_->nodes )[0] } @slices;
    return sub {
        my $point = unpack 'Q>', md5( $_[0] );
        my ( $low, $high ) = ( 0, scalar @firsts );
        while ( $high - $low > 1 ) {
            my $middle = ( $low + $high ) >> 1;
            if   ( $firsts[$middle] <= $point ) { $low  = $middle }
            else                                { $high = $middle }
        }
        return $names[$low];
    };
}

1;
