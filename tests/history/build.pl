# build.pl PREVIOUS FLEET SHAPE MAX_MOVE OUT: the next map of a fleet, from Perl. build.py says more.

use v5.14;
use warnings;

use JSON::PP ();
use Stead;

my ( $previous, $fleet, $shape, $max_move, $out ) = @ARGV;
my $before = $previous eq '-' ? undef : Stead::Map->open($previous);
my @step   = $max_move eq '-' ? ()    : ( max_move => $max_move );

sub slurp {
    open my $file, '<:raw', $fleet or die "$fleet: $!";
    local $/;
    return <$file>;
}
my $after =
    $shape eq 'file' ? Stead::Map->build_file( $fleet, $before, @step )
  : $shape eq 'text' ? Stead::Map->build( slurp(), $before, @step )
  :   Stead::Map->build( JSON::PP->new->utf8->decode( slurp() ), $before, @step );
$after = $before if $before && $after->same($before);
$after->save($out);
print unpack 'H*', $after->digest;
