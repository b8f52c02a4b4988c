# fork.pl MAP COUNT KEY FIRST SECOND: forks while MAP is replaced. fork.py says more.

use v5.14;
use warnings;

use Stead;

use constant { RIGHT => 7, PATIENCE => 20 };

my ( $path, $count, $key, @nodes ) = @ARGV;

sub right {
    my ($map) = @_;
    return $map->locate($key) eq $nodes[ $map->epoch - 1 ];
}

my $good = 0;
for ( 1 .. $count ) {
    my $parent = Stead::Map->open($path);
    my $child  = fork // die "cannot fork: $!";
    if ( !$child ) {
        alarm PATIENCE;
        my $ok =
          right($parent) && right( Stead::Map->open($path) ) && right($parent);

        # an ordinary exit of Perl, with everything that it frees
        exit( $ok ? RIGHT : 1 );
    }
    waitpid $child, 0;
    $good += $? == RIGHT << 8;
}
say $good;
