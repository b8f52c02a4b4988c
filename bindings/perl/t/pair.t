# Pairs: where to read and to write in each state of a carry.
use strict;
use warnings;

use File::Temp ();
use Test::More;

require './t/lib.pl';

my $old = members();
my $new = Stead::Map->build(
    {
        name => 'members',
        node => [
            { name => 'db1' },
            { name => 'db2' },
            { name => 'db3', attributes => { address => '10.0.0.3' } }
        ]
    },
    $old
);
my ( $moved, %wrong ) = 0;

for my $key ( map { "key$_" } 1 .. 300 ) {
    my ($was)  = $old->locate_all($key);
    my ($now)  = $new->locate_all($key);
    my $both   = $was eq $now ? $was : "$now $was";
    my %wanted = (
        old            => [ $was,  $was ],
        both_old_first => [ $was,  $was eq $now ? $was : "$was $now" ],
        both_new_first => [ $both, $both ],
        new            => [ $now,  $now ],
    );
    $moved += $was ne $now;
    for my $state ( sort keys %wanted ) {
        my $pair  = Stead::Pair->between( $old, $new, $state );
        my $point = $new->point($key);
        my @found = map { join ' ', @$_ } (
            [ $pair->reads($key) ],
            [ $pair->writes($key) ],
            [ $pair->reads_point($point) ],
            [ $pair->writes_point($point) ]
        );
        my @both = @{ $wanted{$state} };
        $wrong{"$state $key"} = "@found"
          if join( '|', @found ) ne join( '|', @both, @both );
        $wrong{"$state $key moved"} = 1
          if $pair->moved($key) != ( $was ne $now )
          || $pair->moved_point($point) != ( $was ne $now );
    }
}
is_deeply \%wrong, {}, 'each state has its places';
ok $moved > 50, 'some keys move';

my $pair = Stead::Pair->between( $old, $new, 'both_old_first' );
isa_ok $pair, 'Stead::Pair';
is $pair->state,           'both_old_first', 'state';
is $pair->new_map->digest, $new->digest,     'the new map';
is $pair->old->digest,     $old->digest,     'the old map';
is scalar( $pair->writes('frank') ), 1,
  'a list in scalar context is its length';
is "$pair", '<Stead::Pair "members" epoch 1 -> 2, both_old_first>',
  'as a string';
ok $pair, 'as a truth';
is $pair->attribute( 'db3', 'address' ), '10.0.0.3', 'an attribute';
is $pair->attribute( 'db3', 'none' ),    undef,      'no attribute';
fails(
    'an attribute of no node',
    1,
    qr/no node 'db9'/,
    sub { $pair->attribute( 'db9', 'address' ) }
);
fails(
    'no state', 1,
    qr/'both' is no state of a carry/,
    sub { Stead::Pair->between( $old, $new, 'both' ) }
);
fails(
    'no map', 1,
    qr/old_map is not a Stead::Map/,
    sub { Stead::Pair->between( 'm', $new, 'old' ) }
);
fails(
    'half of two options',
    1,
    qr/belong together/,
    sub { Stead::Pair->open( 'm', epoch => 1 ) }
);
fails(
    'no option', 1,
    qr/no option 'stat'/,
    sub { Stead::Pair->open( 'm', stat => 1 ) }
);
fails( 'no file', 8, qr/nowhere/, sub { Stead::Pair->open('nowhere.map') } );

# ---- files

my $dir  = File::Temp->newdir;
my $path = "$dir/members.map";
$old->publish($path);
my $plain = Stead::Pair->open($path);
is $plain->state, undef, 'no carry is open';
is $plain->old,   undef, 'so there is no old map';
ok !$plain->moved('key1'), 'and nothing moves';
is join( ' ', $plain->reads('key1') ), join( ' ', $old->locate_all('key1') ),
  'the pair answers like the map';
is "$plain", '<Stead::Pair "members" epoch 1>', 'as a string';
$new->publish( $path, $old );
my $named =
  Stead::Pair->open( $path, epoch => 1, state => 'both_new_first', copy => 1 );
is $named->state,      'both_new_first', 'a named epoch and state';
is $named->old->epoch, 1,                'of the history';

done_testing;
