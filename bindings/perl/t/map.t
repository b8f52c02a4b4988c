# The properties of a map, its points, and the read-only records that it returns.
use strict;
use warnings;

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

for
  my $wrong ( -1, 1.5, 2**64, '18446744073709551616', 'x', '', undef, [], '1x' )
{
    fails(
        'no point: ' . ( defined $wrong ? $wrong : 'undef' ),
        1,
        qr/^a point is a whole number/,
        sub { $map->locate_point($wrong) }
    );
}
fails( 'no count', 1, qr/whole number/, sub { $map->prefer( 'frank', -1 ) } );
is_deeply $map->locate_many( [] ), [], 'no keys, no nodes';
is_deeply $map->locate_many( [ 'bob', 'frank' ], numbers => 1 ), [ 1, 0 ],
  'numbers of nodes';
fails(
    'no array', 1,
    qr/reference to an array/,
    sub { $map->locate_many('frank') }
);

my $wide = Stead::build(
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
my $listed = Stead::build(
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
is_deeply [ ( $listed->locate_point( $listed->point('frank') ) )[ 0, 299 ] ],
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
my $node = (
    Stead::build(
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
    )->nodes
)[0];
is $node->name, "sp\x{e4}ti\x{2713}", 'a name is text';
is $node->label("z\x{f6}ne"), "\x{fc}",
  'labels are, too, and a node keeps its map';
is $node->weight, '0.000001', 'a weight is exact';
is(
    (
        Stead::build(
            { name => 'm', node => [ { name => 'a', weight => 1_000_000 } ] }
        )->nodes
    )[0]->weight,
    '1000000',
    'the largest weight'
);
fails(
    'an attribute without a name',
    1,
    qr/the name of an attribute is a string/,
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
    sub { $slices[0][3] = 'x' },
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
    sub { Stead::Map::locate( Stead::plan( $map, $map ), 'frank' ) }
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
fails( 'a file name that is too long',
    13, qr/255/, sub { Stead::path( 'x' x 300 ) } );

done_testing;
