# where MAP KEY...: prints the nodes of each key and their addresses, one line per node, the primary
# first.

use v5.14;
use warnings;

use Encode qw(encode_utf8);
use Stead;

if ( !@ARGV ) {
    print STDERR "usage: where MAP KEY...\n";
    exit 2;
}
my ( $path, @keys ) = @ARGV;
my $members = eval { Stead::Map->open($path) };
if ( !$members ) {
    print STDERR 'where: ', encode_utf8( ref $@ ? $@->message : $@ ), "\n";
    exit 1;
}

# names and addresses are text; keys are the bytes that the shell gave
for my $key (@keys) {
    for my $node ( $members->locate_all($key) ) {
        my $address = $members->attribute( $node, 'address' ) // 'no address';
        say join "\t", $key, encode_utf8($node), encode_utf8($address);
    }
}
