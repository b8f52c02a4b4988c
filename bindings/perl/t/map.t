# The properties of a map, its points, and the read-only records that it returns.
use strict;
use warnings;

use Scalar::Util ();
use Test::More;

require './t/lib.pl';

like Stead::version(), qr/\A\d+\.\d+\.\d+\z/, 'the library has a version';

my $map = members();
isa_ok $map, 'Stead::Map';
is $map->name,          'members', 'name';
is $map->epoch,         1,         'epoch';
is $map->replicas,      1,         'replicas';
is length $map->digest, 32,        'a digest has 32 bytes';
my $again = Stead::Map->from_bytes( $map->to_bytes );
is $again->digest, $map->digest, 'bytes make the same map';
ok $map->same($again),                                 'it is the same';
ok !$map->same( members( undef, { name => 'db3' } ) ), 'another one is not';

# ---- places

is scalar $map->locate_all('frank'), 1,
  'a list in scalar context is its length';
is join( ',', $map->prefer( 'frank', 9 ) ), 'db1,db2',
  'prefer returns no more nodes than there are';
is join( ',', $map->prefer( 'frank', 1 ) ),         'db1', 'and no more than n';
is scalar( my @none = $map->prefer( 'frank', 0 ) ), 0,     'none is none';
is join( ',', $map->locate_point( $map->point('bob') ) ), 'db2',
  'a point is located as its key';
is join( ',', $map->locate_point(0) ), 'db1', 'the first point';
is join( ',', $map->locate_point(18446744073709551615) ), 'db2', 'the last';
is join( ',', $map->locate_point('18446744073709551615') ), 'db2',
  'as a string';
is join( ',', $map->locate_point( 2**53 ) ), 'db1', 'as a float';

is $map->locate_point( $map->point($_) ), $map->locate($_),
  "the primary of the point of $_"
  for 1 .. 50;
is_deeply [ $map->locate_all_point( $map->point('bob') ) ], ['db2'],
  'all nodes of a point';
for
  my $wrong ( -1, 1.5, 2**64, '18446744073709551616', 'x', '', undef, [], '1x' )
{
    my $words =
        ref $wrong     ? qr/^a point is a whole number .*, not a reference$/
      : defined $wrong ? qr/^a point is a whole number .*, not '\Q$wrong\E'$/
      :                  qr/^a point is a whole number .*, not undef$/;
    fails( 'no point: ' . ( defined $wrong ? $wrong : 'undef' ), 1, $words, $_ )
      for sub { $map->locate_point($wrong) },
      sub { $map->locate_all_point($wrong) },
      sub { Stead::Plan->between( $map, $map )->affects_point($wrong) };
}
fails(
    'no count',
    1,
qr/^the number of nodes to prefer is a whole number from 0 to 18446744073709551615, not '-1'$/,
    sub { $map->prefer( 'frank', -1 ) }
);
is_deeply $map->locate_many( [] ), [], 'no keys, no nodes';
is_deeply $map->locate_many( [ 'bob', 'frank' ], numbers => 1 ), [ 1, 0 ],
  'numbers of nodes';
fails(
    'keys that are not in an array',
    1,
qr/^the keys of locate_many are a reference to an array, not 'frank'; write locate_many\(\\\@keys\) or locate_many\(\[KEY, \.\.\.\]\)$/,
    sub { $map->locate_many( 'frank', 'bob' ) }
);
fails(
    'and to a plan',
    1,
    qr/^the keys of affects_many are/,
    sub { Stead::Plan->between( $map, $map )->affects_many('frank') }
);

my $wide = Stead::Map->build(
    {
        name     => 'wide',
        replicas => 200,
        node     => [ map { { name => sprintf 'n%03d', $_ } } 1 .. 400 ]
    }
);
is scalar( my @all  = $wide->locate_all('frank') ),     200, 'many replicas';
is scalar( my @most = $wide->prefer( 'frank', 1000 ) ), 400, 'many preferred';
my %seen;
is scalar( grep { !$seen{$_}++ } @most ), 400, 'each once';
my $listed = Stead::Map->build(
    {
        name   => 'listed',
        node   => [ map { { name => sprintf 'n%03d', $_ } } 1 .. 400 ],
        policy => [
            {
                name  => 'long',
                kind  => 'chain',
                nodes => [ map { sprintf 'n%03d', $_ } 1 .. 300 ]
            }
        ],
        pin => [ { key => 'frank', policy => 'long' } ],
    }
);
is scalar( @all = $listed->locate_all('frank') ), 300,
  'a named policy with more nodes than the first buffer holds';
is scalar( my @one = $listed->locate_point( $listed->point('frank') ) ), 1,
  'locate_point gives the primary alone';
is_deeply [
    ( $listed->locate_all_point( $listed->point('frank') ) )[ 0, 299 ] ],
  [ 'n001', 'n300' ], 'in order';

# ---- nodes and slices

my @nodes = $map->nodes;
is scalar $map->nodes, 2, 'nodes in scalar context is their number';
is_deeply [
    map {
        [ $_->name, $_->weight, $_->attribute('address'), $_->label('zone') ]
    } @nodes
  ],
  [ [ 'db1', '1', undef, undef ], [ 'db2', '1.5', '10.0.0.2:3306', undef ] ],
  'nodes';
isa_ok $_, 'Stead::Node' for @nodes;
my $named = Stead::Map->build(
    {
        name => 'm',
        node => [
            {
                name   => "sp\x{e4}ti\x{2713}",
                weight => '0.000001',
                labels => { "z\x{f6}ne" => "\x{fc}" }
            }
        ]
    }
);
my $node = ( $named->nodes )[0];
is $node->name, "sp\x{e4}ti\x{2713}", 'a name is text';
is $node->label("z\x{f6}ne"), "\x{fc}",
  'labels are, too, and a node keeps its map';
is $node->weight, '0.000001', 'a weight is exact';
is(
    (
        Stead::Map->build(
            { name => 'm', node => [ { name => 'a', weight => 1_000_000 } ] }
        )->nodes
    )[0]->weight,
    '1000000',
    'the largest weight'
);
fails(
    'an attribute without a name',
    1,
    qr/^the name of an attribute is a string, not undef$/,
    sub { $node->attribute(undef) }
);
fails(
    'no node', 1,
    qr/not a Stead::Node/,
    sub { Stead::Node::label( 'x', 'y' ) }
);
fails(
    'a forged node',
    1,
    qr/not a Stead::Map/,
    sub { Stead::Node::label( bless( [ 1, 2, 3, 4 ], 'Stead::Node' ), 'y' ) }
);

# ---- a node by its name, its labels and attributes

my $zoned = Stead::Map->build(
    {
        name     => 'zoned',
        hash     => 'xxh3',
        key      => 'first 2 segments',
        replicas => 2,
        spread   => [ 'zone', 'rack' ],
        node     => [
            map {
                {
                    name       => "n$_",
                    labels     => { zone => 'z' . $_ % 2, rack => "r$_" },
                    attributes =>
                      { address => "10.0.0.$_", "gr\xf6\xdfe" => "\x{2713}" },
                }
            } 1 .. 4
        ],
        policy => [
            {
                name  => 'hot',
                kind  => 'chain',
                nodes => [ 'n1', 'n4' ]
            },
            { name => 'cold', nodes => [ 'n3', 'n2' ] },
        ],
    }
);
is $zoned->hash,     'xxh3',             'hash';
is $zoned->key_rule, 'first 2 segments', 'key';
is $map->hash,       'md5',              'the hash without one';
is $map->key_rule,   'whole',            'the key without one';
is_deeply [ $zoned->spread ], [ 'zone', 'rack' ], 'spread';
is scalar $map->spread, 0,         'no spread';
is $map->parent,        "\0" x 32, 'a first map has no parent';
is members( $map, { name => 'db3' } )->parent, $map->digest,
  'the parent of the next map';

my $n3 = $zoned->node('n3');
isa_ok $n3, 'Stead::Node';
is $n3->name, 'n3', 'a node by its name';
is_deeply $n3->labels, { zone => 'z1', rack => 'r3' }, 'its labels';
is_deeply $n3->attributes,
  { address => '10.0.0.3', "gr\xf6\xdfe" => "\x{2713}" }, 'its attributes';
$n3->labels->{zone} = 'x';
is $n3->label('zone'), 'z1', 'a caller may change what labels gave';
is_deeply $map->node('db1')->labels, {}, 'no labels';
is $zoned->node('n9'),   undef, 'no node of this name';
is $zoned->node("n3\0"), undef, 'a NUL does not end a name';
is $zoned->node(''),     undef, 'nor is the empty name one';
is $n3->label("zone\0"), undef, 'nor does it end the name of a label';
is $zoned->attribute( 'n3', 'address' ), '10.0.0.3', 'attribute';
is $zoned->label( 'n3', 'zone' ),        'z1',       'label';
is $zoned->attribute( 'n3', "gr\xf6\xdfe" ), "\x{2713}",
  'in characters that are not ASCII';
{
    my $up = "gr\xf6\xdfe";
    utf8::upgrade($up);
    is $zoned->attribute( 'n3', $up ), "\x{2713}", 'however Perl stores them';
    is $named->label( "sp\x{e4}ti\x{2713}", "z\x{f6}ne" ), "\x{fc}",
      'and the name of a node';
}
is $zoned->attribute( 'n3', 'port' ), undef, 'none of this name';
is $zoned->attribute( $n3, 'address' ), '10.0.0.3',
  'a Stead::Node counts as its name';
is $zoned->label( $zoned->locate('a/b/c'), 'zone' ),
  $zoned->node( $zoned->locate('a/b/d') )->label('zone'), 'of what locate gave';
fails( 'an attribute of no node',
    1,
    qr/^this map has no node 'n9'; \$map->nodes lists those that it has$/, $_ )
  for sub { $zoned->attribute( 'n9', 'address' ) },
  sub { $zoned->label( 'n9', 'zone' ) };
fails(
    'a name that is text',
    1,
    qr/^this map has no node '\x{2713}';/,
    sub { $zoned->attribute( "\x{2713}", 'address' ) }
);
for my $wrong ( undef, [], {} ) {
    fails( 'the name of no node',
        1, qr/^the name of a node is a string, not /, $_ )
      for sub { $zoned->node($wrong) },
      sub { $zoned->attribute( $wrong, 'address' ) };
    fails( 'the name of no label',
        1, qr/^the name of a label is a string, not /, $_ )
      for sub { $zoned->label( 'n3', $wrong ) }, sub { $n3->label($wrong) };
}

# a gradual change keeps a node until it is empty
{
    my $gone = Stead::Map->build(
        { name => 'members', node => [ map { { name => "db$_" } } 1, 3 ] },
        $map, max_move => '5%' );
    is_deeply [ map { $_->name . ( $_->leaving ? ' leaves' : '' ) }
          $gone->nodes ],
      [ 'db1', 'db2 leaves', 'db3' ], 'a node that is leaving';
}
fails( 'a node that is none', 1, qr/^node is not a Stead::Node/, $_ )
  for sub { Stead::Node::leaving('x') }, sub { Stead::Node::labels($map) };

# ---- policies

my %policies =
  map { $_->name => $_ } grep { defined $_->name } $zoned->policies;
is_deeply [ sort keys %policies ], [ 'cold', 'hot' ], 'policies with a name';
isa_ok $policies{hot}, 'Stead::Policy';
is_deeply [ map { $_->kind, $_->weight, $_->nodes }
      @policies{ 'hot', 'cold' } ],
  [ 'chain', undef, 'n1', 'n4', '', undef, 'n3', 'n2' ],
  'their kinds, weights and nodes';
is join(
    ' ',
    map { $_->weight // 'none' } grep { defined $_->name } Stead::Map->build(
        {
            name   => 'm',
            node   => [ { name => 'a' }, { name => 'b' } ],
            policy => [
                { name => 'p', nodes => ['a'], weight => '2.5' },
                { name => 'q', nodes => ['b'] }
            ]
        }
    )->policies
  ),
  '2.5 none', 'the weight of a policy that takes a share';
is scalar( grep { !defined $_->name } $zoned->policies ),
  scalar( $zoned->policies ) - 2, 'and those that stead chose';
is_deeply [ map { [ $_->nodes ] } $map->policies ], [ ['db1'], ['db2'] ],
  'of a map without any of its own';

# ---- as a string, a number and a condition

my $digits = substr unpack( 'H*', $map->digest ), 0, 8;
is "$map", qq(<Stead::Map "members" epoch 1, 2 nodes, 2 slices, $digits>),
  'a map as a string';
is "$n3", 'n3', 'a node is its name';
ok $n3 eq 'n3' && $n3 ne 'n4', 'and equals it';
my $third = members( $map, { name => 'db3' } );
my $plan  = Stead::Plan->between( $map, $third );
my $new   = substr unpack( 'H*', $third->digest ), 0, 8;
is "$plan",
qq(<Stead::Plan "members" epoch 1 -> 2, 2 moves, 28.571429 %, $digits -> $new>),
  'a plan';

for my $pair (
    [ $map,  $again ],
    [ $plan, Stead::Plan->between( $map, $third ) ],
    [ $n3,   $zoned->node('n3') ]
  )
{
    my ( $one, $other ) = @$pair;
    my $same = $one;
    ok $one == $same && $one eq $same, ref($one) . ' is itself';
    ok $one != $other,                 'and no other object';
    ok $one eq $other, 'but equal as text to one with the same content';
    ok $one && !!$one, 'it is true';
    is $one + 0, Scalar::Util::refaddr($one), 'as a number it is its address';
}
ok $map ne $third && $map != $third, 'two maps differ';

my @slices = $map->slices;
is scalar $map->slices, scalar @slices,
  'slices in scalar context is their number';
is $slices[0]->first, 0, 'the first slice begins with the first point';
is $slices[-1]->last, 18446744073709551615, 'the last one ends with the last';
is $slices[$_]->first, $slices[ $_ - 1 ]->last + 1, 'there is no gap'
  for 1 .. $#slices;
is_deeply [ $slices[0]->nodes ], ['db1'], 'the nodes of the slice';
is $slices[0]->policy, undef, 'chosen by stead';
is
  scalar(
    grep { defined $_->policy && $_->policy eq 'long' && $_->nodes == 300 }
      $listed->slices ), 1, 'a pinned slice names its policy';
is(
    ( grep { $_->policy } $listed->slices )[0]->first,
    $listed->point('frank'),
    'and is where the key is'
);

# ---- read only

for my $change (
    sub { $$map = 1 },
    sub { $nodes[0][0] = 'x' },
    sub { push @{ $nodes[0] }, 1 },
    sub { $slices[0][3]                            = 'x' },
    sub { $policies{hot}[1]                        = 'x' },
    sub { $plan->affects_many( ['alice'] )->[0][0] = 5 },
    sub { undef $$map }
  )
{
    ok !eval { $change->(); 1 }, 'is read only';
    like $@, qr/read-only/, 'and says so';
}
is $map->locate('frank'), 'db1', 'nothing happened';

# ---- objects

fails(
    'a map cannot be forged by blessing',
    1,
    qr/map is not a Stead::Map/,
    sub {
        Stead::Map::locate( bless( \( my $number = 42 ), 'Stead::Map' ),
            'frank' );
    }
);
fails(
    'a plan is not a map',
    1,
    qr/not a Stead::Map/,
    sub { Stead::Map::locate( Stead::Plan->between( $map, $map ), 'frank' ) }
);
fails(
    'undef is not a map',
    1,
    qr/not a Stead::Map/,
    sub { Stead::Map::epoch(undef) }
);
{

    package Members;
    our @ISA = 'Stead::Map';
}
isa_ok +Members->from_bytes( $map->to_bytes ), 'Members',
  'an object of a subclass';
is +Members->from_bytes( $map->to_bytes )->locate('frank'), 'db1',
  'which gives the same answers';
ok !$map->can('DESTROY'), 'there is no DESTROY that could be called twice';
my $copy = $map;
undef $map;
is $copy->locate('frank'), 'db1',
  'a map lives as long as an object refers to it';

# ---- reports and paths

my $report = $copy->report;
is $report->{epoch}, 1, 'a report';
is_deeply [ map { $_->{name} } @{ $report->{nodes} } ], [ 'db1', 'db2' ],
  'names its nodes';
is Stead::path('frank'), '38/37/60/frank', 'path';
is Stead::path( 'Frank', fold => 'ascii' ), '38/37/60/frank', 'folded';
is Stead::path( 'frank', levels => '16,16' ),
  Stead::path( 'frank', levels => [ 16, 16 ] ),
  'levels as a string and as an array';
fails( 'wrong levels', 1, qr/./,
    sub { Stead::path( 'frank', levels => [0] ) } );
fails(
    'an unknown fold',
    1,
    qr/^fold is 'ascii' or 'none', not 'utf8'$/,
    sub { Stead::path( 'frank', fold => 'utf8' ) }
);
is Stead::path_name( Stead::path($_) ), $_, 'the name of a path'
  for 'frank', '', "Zo\xeb", "a/b\0\n", "\xff" x 60, 42;
is Stead::path_name('/nas/38/37/60/frank'), 'frank', 'of an absolute one';
is Stead::path_name( Stead::path( 'frank', levels => [ 16, 16 ] ),
    levels => '16,16' ),
  'frank', 'with other levels';
ok !utf8::is_utf8( Stead::path_name( Stead::path("Zo\xeb") ) ),
  'a name is bytes';
fails( "no path: $_", 13, qr/./, sub { Stead::path_name($_) } )
  for 'frank', '1/2/3/frank', '38/37/60/Frank';
fails(
    'undef is no path',
    1,
    qr/^a path is undef/,
    sub { Stead::path_name(undef) }
);
my $survey =
  Stead::survey( [ 'frank', 'bob', undef, 'justin' ], members => 1000 );
is $survey->{names}, 3, 'a survey';
is_deeply [ ref $survey->{schemes}, scalar @{ $survey->{schemes} } ],
  [ 'ARRAY', 8 ], 'of eight schemes';
fails(
    'no names', 1,
    qr/^the keys of survey are a reference to an array/,
    sub { Stead::survey('frank') }
);
fails(
    'no number of members',
    1,
    qr/^members is a whole number/,
    sub { Stead::survey( ['frank'], members => -1 ) }
);

# the fleet of a map
for my $one ( $copy, $zoned, $listed, $named ) {
    my $fleet = $one->fleet;
    ok !utf8::is_utf8($fleet), 'a fleet is bytes';
    ok +Stead::Map->build( $fleet, $one )->same($one),
      'which built on its map change nothing: ' . $one->name;
}

fails( 'a file name that is too long',
    13, qr/255/, sub { Stead::path( 'x' x 300 ) } );

done_testing;
