# stead in Perl: `perl where.pl MAP` reads keys in hex, one per line, and prints the node of each.

use strict;
use warnings;

use Stead;

my $map = Stead::Map->open( $ARGV[0] );
while ( my $line = <STDIN> ) {
    chomp $line;
    print $map->locate( pack 'H*', $line ), "\n";
}
