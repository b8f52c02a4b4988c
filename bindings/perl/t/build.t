# Fleets as text, hash and file; and the content of plans.
use strict;
use warnings;

use File::Temp ();
use Test::More;

require './t/lib.pl';

my $text =
"name = 'members'\n[[node]]\nname = 'db1'\n[[node]]\nname = 'db2'\nweight = 1.5\nattributes = { address = '10.0.0.2:3306' }\n";
my $map = members();

is Stead::Map->build($text)->digest, $map->digest,
  'a text and a hash make the same map';
my $scratch = File::Temp->newdir;
open my $out, '>', "$scratch/fleet.toml" or die $!;
print {$out} $text;
close $out;
is Stead::Map->build_file("$scratch/fleet.toml")->digest, $map->digest,
  'and so does a file';
( my $upgraded = $text ) =~ s/\z/# caf\xc3\xa9\n/;
utf8::upgrade($upgraded);
is Stead::Map->build($upgraded)->digest, $map->digest,
  'a text whose bytes Perl stores as UTF-8';
fails( 'a text in Latin-1',
    2, qr/UTF-8/, sub { Stead::Map->build("$text# caf\xe9\n") } );
fails(
    'a text with wide characters',
    1,
    qr/^a fleet has a character above 0xFF/,
    sub { Stead::Map->build("$text# \x{2713}\n") }
);
fails(
    'the path of a file',
    2,
qr/this string is read as a fleet's text: to read a file, use Stead::Map->build_file\(PATH, PREVIOUS\)$/,
    sub { Stead::Map->build("$scratch/fleet.toml") }
);
fails( 'no file', 8, qr/nowhere/,
    sub { Stead::Map->build_file("$scratch/nowhere.toml") } );
fails( 'a mistake in a text',
    2, qr/^fleet:2: /, sub { Stead::Map->build("name = 'm'\nnode = 1\n") } );
fails(
    'a text with a name',
    2,
    qr/^my\.toml:2: /,
    sub {
        Stead::Map->build( "name = 'm'\nnode = 1\n", undef, name => 'my.toml' );
    }
);
fails(
    'a fleet that no map can satisfy',
    2,
    qr/replicas/,
    sub {
        Stead::Map->build(
            { name => 'm', replicas => 3, node => [ { name => 'a' } ] } );
    }
);

# ---- numbers in a hash

sub weight {
    return (
        Stead::Map->build(
            { name => 'm', node => [ { name => 'a', weight => $_[0] } ] }
        )->nodes
    )[0]->weight;
}
is weight(1),      '1',   'an integer';
is weight('1.50'), '1.5', 'a string';
is weight(0.1),    '0.1', 'a float counts as its shortest decimal';
is weight( 0.1 * 3 - 0.2 + 0.3 - 0.3 == 0 ? 0 : 0.123456 ), '0.123456',
  'six places';
is weight(1e5),     '100000', 'a float that is whole';
is weight( 1 / 4 ), '0.25',   'a quarter';
my $used = '1.5';
my $sum  = $used + 0;
is weight($used), '1.5', 'a string that was used as a number';
is weight("$_"), $_, "weight $_"
  for '0.000001', '999999.999999', '123456.789012';
is(
    (
        Stead::Map->build(
            {
                name       => 'm',
                replicas   => '2',
                max_slices => '4000',
                node       => [ { name => 7 }, { name => 8 } ]
            }
        )->nodes
    )[0]->name,
    '7',
'a name that looks like a number is text, and replicas that look like text are a number'
);

for my $wrong (
    [ 0.1 + 0.2,   qr/0\.30000000000000004 has 17 places/ ],
    [ 1 / 3,       qr/places/ ],
    [ '1.0000001', qr/places/ ],
    [ 'viel',      qr/plain decimal/ ],
    [ -1,          qr/sign/ ],
    [ 1e7,         qr/1000000/ ],
    [ '',          qr/./ ],
    [ '1e3',       qr/./ ],
    [ 9**9**9,     qr/./ ],
    [ 1e-7,        qr/./ ],
    [ 1e300,       qr/./ ]
  )
{
    fails(
        "weight $wrong->[0]",
        2,
        qr/^fleet->\{node\}\[0\]\{weight\}: .*$wrong->[1]/,
        sub { weight( $wrong->[0] ) }
    );
}

# ---- booleans in a hash

use JSON::PP ();

sub pinned {
    my $pin = { key => 'frank', nodes => ['a'], @_ };
    return Stead::Map->build(
        { name => 'm', node => [ { name => 'a' } ], pin => [$pin] } )->digest;
}
my $short = Stead::Map->build(<<'TOML')->digest;
name = 'm'
node = [{ name = 'a' }]
pin = [{ key = 'frank', nodes = ['a'], short = true }]
TOML
isnt $short, pinned(), 'a short pin makes another map';
is pinned( short => $_ ), $short, 'a truth' for 1, '1', !!1, JSON::PP::true();
is pinned( short => $_ ), pinned(), 'no truth'
  for 0, '0', '', !!0, JSON::PP::false();
fails(
    "short is $_",
    2,
qr/^fleet->\{pin\}\[0\]\{short\}: short must be true or false, but is a string/,
    sub { pinned( short => $_ ) }
) for 2, 'true', "1\n";

# ---- the place of a mistake in a hash

for my $wrong (
    [
        {
            name => 'm',
            node => [ { name => 'a' }, { name => 'b', wieght => 2 } ]
        },
        qr/^fleet->\{node\}\[1\]\{wieght\}: unknown key `wieght`/
    ],
    [ { name => 'm', nodes => [] }, qr/^fleet->\{nodes\}: unknown key/ ],
    [
        { name => 'm', node => [ { name => undef } ] },
qr/^fleet->\{node\}\[0\]\{name\}: is undef; leave out what is not there$/
    ],
    [
        { name => 'm', node => [ { name => \'a' } ] },
        qr/^fleet->\{node\}\[0\]\{name\}: .*this is SCALAR$/
    ],
    [
        { name => 'm', node => [ bless {}, 'My::Node' ] },
        qr/^fleet->\{node\}\[0\]: .*this is My::Node$/
    ],
    [ { name => 'm', node => 'a' }, qr/^fleet->\{node\}: / ],
    [
        { name => 'm', node => [ { name => 'a' }, { name => 'a' } ] },
        qr/^fleet->\{node\}\[1\]/
    ],
    [ {}, qr/name/ ],
    [
        do { my $deep = []; $deep = [$deep] for 1 .. 40; { name => $deep } },
        qr/too deep in each other$/
    ],
  )
{
    fails( "a hash: $wrong->[1]",
        2, $wrong->[1], sub { Stead::Map->build( $wrong->[0] ) } );
}
my $circle = {};
$circle->{node} = $circle;
fails( 'a circle', 2, qr/too deep/, sub { Stead::Map->build($circle) } );
delete $circle->{node};
fails(
    'an array', 1,
    qr/^a fleet is its text or a reference to a hash/,
    sub { Stead::Map->build( [] ) }
);
fails(
    'an object', 1,
    qr/^a fleet is its text/,
    sub { Stead::Map->build( bless {}, 'Fleet' ) }
);
fails( 'undef',   1, qr/^a fleet is undef/, sub { Stead::Map->build(undef) } );
fails( 'nothing', 1, qr/^the fleet is missing/, sub { Stead::Map->build() } );
fails(
    'an unknown option',
    1,
    qr/^there is no option 'max_mov'; known: max_move name$/,
    sub { Stead::Map->build( $text, undef, max_mov => 1 ) }
);
fails(
    'an option without a value',
    1,
    qr/^options come in pairs/,
    sub { Stead::Map->build( $text, undef, 'max_move' ) }
);
fails(
    'a previous that is not a map',
    1,
    qr/^previous is not a Stead::Map/,
    sub { Stead::Map->build( $text, $text ) }
);
my $names = {
    name => "\x{2713}\"\\",
    node =>
      [ { name => "a\x{e9}\x{1F600}", attributes => { quote => "\"\t\\/" } } ]
};
SKIP: {
    my $odd = eval { Stead::Map->build($names) };
    fails( 'a control character',
        2, qr/control/, sub { Stead::Map->build($names) } );
    $names->{node}[0]{attributes}{quote} = '"\\/';
    $odd = Stead::Map->build($names);
    is $odd->name, "\x{2713}\"\\", 'a name is text with any characters';
    is + ( $odd->nodes )[0]->attribute('quote'), '"\\/',
      'and so are attributes';
    is $odd->locate('x'), "a\x{e9}\x{1F600}", 'and answers';
}

# ---- the next map, and the plan

my $after = members( $map, { name => 'db3' } );
is $after->epoch, 2, 'the next epoch';
my $plan = Stead::Plan->between( $map, $after );
isa_ok $plan, 'Stead::Plan';
is sprintf( '%.6f', $plan->fraction ), '0.285714', 'the least that can move';
my @moves = $plan->moves;
is scalar $plan->moves, scalar @moves,
  'moves in scalar context is their number';
is_deeply [ map { [ $_->from, $_->to, $_->cause ] } @moves ],
  [ [ 'db1', 'db3', 'rebalance' ], [ 'db2', 'db3', 'rebalance' ] ], 'moves';
my @bare = $plan->affects('frank');
is_deeply [ scalar @bare, scalar $plan->affects('frank') ], [ 0, 0 ],
  'a key that stays';

for my $key ( 'alice', 1 .. 200 ) {
    my @found = $plan->affects($key);
    my @wanted =
      grep { $_->first <= $map->point($key) && $map->point($key) <= $_->last }
      @moves;
    is_deeply [ map { $_->first } @found ], [ map { $_->first } @wanted ],
      "moves of $key"
      or last;
    is $after->locate($key), @found ? $found[0]->to : $map->locate($key),
      "where $key goes"
      or last;
}
is_deeply $plan->affects_many( [] ), [], 'no keys, no rows';
my @many = ( 'frank', 'alice', 1 .. 200 );
is_deeply [ map { [ $_->key, $_->from, $_->to ] }
      @{ $plan->affects_many( \@many ) } ], [
    map {
        my $at = $_;
        map { [ $at, $_->from, $_->to ] } $plan->affects( $many[$at] )
    } 0 .. $#many
      ],
  'affects_many gives what affects gives';
is_deeply [ map { $_->first } $plan->affects_point( $map->point('alice') ) ],
  [ map { $_->first } $plan->affects('alice') ], 'affects_point';
is_deeply [ $plan->affects_point( $map->point('frank') ) ], [],
  'of a point that stays';

# in a map with copies a key has a row for each copy that moves
{
    my @old = map { { name => "a$_" } } 1 .. 300;
    my $one =
      Stead::Map->build( { name => 'm', replicas => 3, node => \@old } );
    my $two = Stead::Map->build(
        {
            name     => 'm',
            replicas => 3,
            node     => \@old,
            policy   =>
              [ { name => 'all', nodes => [ map { "a$_" } 1 .. 300 ] } ],
            pin => [ { key => 'frank', policy => 'all' } ]
        },
        $one
    );
    my $wide = Stead::Plan->between( $one, $two );
    my @rows = @{ $wide->affects_many( [ 'bob', ('frank') x 3 ] ) };
    is scalar @rows, 3 * 297,
      'a row for each copy, more than there is room for';
    is_deeply [ map { $_->key } @rows ], [ map { ($_) x 297 } 1 .. 3 ],
      'in the order of the keys';
    ok !grep( { defined $_->from || !defined $_->to } @rows ),
      'of copies that are new';
    is scalar $wide->affects('frank'), 297, 'as affects';
    is scalar $wide->affects_point( $one->point('frank') ), 297,
      'and affects_point';
}

# ---- how much moves

for my $name (qw(moved lower_bound by_hand reordered)) {
    is $plan->$name, $plan->report->{$name}{points}, "$name, exactly";
}
is $plan->moved, '5270498306774157604', 'of the points';
{
    # more points than 64 bits hold: all 200 copies of all points come back
    my $none = { name => 'm', replicas => 200 };
    my $left = Stead::Map->build(
        {
            %$none, node => [ map { { name => sprintf 'l%03d', $_ } } 1 .. 200 ]
        }
    );
    my $right = Stead::Map->build(
        {
            %$none, node => [ map { { name => sprintf 'r%03d', $_ } } 1 .. 200 ]
        },
        $left
    );
    is +Stead::Plan->between( $left, $right )->moved, '3689348814741910323200',
      '200 * 2^64';
}
is $plan->report->{moved}{points}, $plan->report->{lower_bound}{points},
  'a report';
is $plan->report->{moves}, undef, 'without its moves';
is scalar @{ $plan->report( moves => 1 )->{moves} }, scalar $plan->moves,
  'and with them';
fails(
    'maps of two clusters',
    7, qr/./,
    sub {
        Stead::Plan->between(
            $map,
            Stead::Map->build(
                { name => 'others', node => [ { name => 'a' } ] }
            )
        );
    }
);
fails(
    'no map', 1,
    qr/^new_map is not a Stead::Map/,
    sub { Stead::Plan->between( $map, undef ) }
);
fails(
    'no plan',
    1,
    qr/^plan is not a Stead::Plan; Stead::Plan->between\(OLD, NEW\) gives one$/,
    sub { Stead::Plan::moves($map) }
);
my $alone =
  Stead::Plan->between( members(), members( members(), { name => 'db3' } ) );
is + ( $alone->moves )[0]->to, 'db3', 'a plan keeps its maps';

my $step = Stead::Map->build(
    { name => 'members', node => [ map { { name => "db$_" } } 1 .. 5 ] },
    $map, max_move => '5%' );
cmp_ok +Stead::Plan->between( $map, $step )->fraction, '<=', 0.05,
  'a step moves at most max_move';
fails( 'a max_move that is not a part',
    1, qr/./, sub { Stead::Map->build( $text, $map, max_move => 'much' ) } );

done_testing;
