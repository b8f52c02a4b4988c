# A key is bytes, however Perl stores them, and locating it changes nothing.
use strict;
use warnings;

use Encode qw(encode_utf8);
use Test::More;

require './t/lib.pl';
require B;

my $map = members();

# ---- the two internal forms that Perl has for one string

# the value of a scalar: a string, a number, characters; not the data that Perl caches about it,
# such as its length
sub flags {
    return B::svref_2object( \$_[0] )->FLAGS &
      ( B::SVf_POK() | B::SVf_IOK() | B::SVf_NOK() | B::SVf_ROK() |
          B::SVp_POK() | B::SVp_IOK() | B::SVp_NOK() | B::SVf_UTF8() );
}

my @keys = (
    '',                       'frank',
    "frank\n",                "a\0b",
    "\0",                     "caf\xe9",
    "\xff\xfe",               "\xc3\x28",
    encode_utf8("caf\x{e9}"), encode_utf8("\x{1F600}"),
    'x' x 5000,               join '',
    map { chr } 0 .. 255
);
my %methods = (
    locate          => sub { scalar $map->locate( $_[0] ) },
    locate_all      => sub { join ',', $map->locate_all( $_[0] ) },
    prefer          => sub { join ',', $map->prefer( $_[0], 2 ) },
    point           => sub { $map->point( $_[0] ) },
    locate_many     => sub { join ',', @{ $map->locate_many( [ $_[0] ] ) } },
    locate_all_many =>
      sub { join ',', @{ $map->locate_all_many( [ $_[0] ] )->[0] } },
    path => sub { length $_[0] < 80 ? Stead::path( $_[0] ) : 'long' },
);
for my $key (@keys) {
    my ( $down, $up ) = ( $key, $key );
    utf8::downgrade($down);
    utf8::upgrade($up);
    my @before = ( flags($down), flags($up) );
    for my $name ( sort keys %methods ) {
        is $methods{$name}->($up), $methods{$name}->($down),
          "$name of " . unpack( 'H40', $key ) . ' upgraded';
    }
    is_deeply [ flags($down), flags($up) ], \@before,
      'the scalars are what they were';
    ok utf8::is_utf8($up) && $up eq $down, 'and they are the same string';
}

# the places that the other languages give, for the bytes and for the encoded text
is sprintf( '%016x', $map->point('frank') ), '26253c50741faa9c',
  'the MD5 of frank';
is sprintf( '%016x', $map->point("frank\n") ), 'd268c8fe7f154537',
  'a newline is part of the key';
is sprintf( '%016x', $map->point("Zo\xeb") ), '258211720889f0e0', 'Latin-1';
is sprintf( '%016x', $map->point( encode_utf8("Zo\x{eb}") ) ),
  'fb44af73417cf03c', 'UTF-8 of the same text is another key';
is sprintf( '%016x', $map->point("\x5a\x6f\xc3\xab") ), 'fb44af73417cf03c',
  'which is these bytes';

# ---- numbers

is $map->point(42), $map->point('42'), 'a whole number is its digits';
is $map->point(-7), $map->point('-7'), 'a negative one, too';
is $map->point(18446744073709551615), $map->point('18446744073709551615'),
  'and the largest';
is $map->point( 10 / 2 ), $map->point('5'),   'and a float that is whole';
is $map->point('1e3'),    $map->point("1e3"), 'a string is not a number';
isnt $map->point('1e3'),  $map->point(1000),  'and is not converted to one';
{
    my ( $whole, $float ) = ( 12345, 5.0 );
    my @before = ( flags($whole), flags($float) );
    $map->locate($_) for $whole, $float;
    is_deeply [ flags($whole), flags($float) ], \@before,
      'a number that was located does not become a string';
}

# ---- values that are not keys

my @wrong = (
    [ 'undef', undef, qr/^a key is undef; give a string$/ ],
    [
        'a wide character',
        "\x{2713}",
        qr/^a key has a character above 0xFF; .*Encode::encode_utf8/
    ],
    [ 'a mix',                "\xe9\x{100}",      qr/above 0xFF/ ],
    [ 'a reference',          [],                 qr/^a key is a reference/ ],
    [ 'a code reference',     sub { },            qr/reference/ ],
    [ 'a regular expression', qr/x/,              qr/reference/ ],
    [ 'an object',     bless( {}, 'Overloaded' ), qr/reference/ ],
    [ 'a glob',        *STDOUT,                   qr/glob/ ],
    [ 'a fraction',    1.5,                       qr/without one spelling/ ],
    [ 'a large float', 1e15,                      qr/without one spelling/ ],
    [ 'infinity',      9**9**9,                   qr/without one spelling/ ],
    [ 'no number',     -sin( 9**9**9 ),           qr/without one spelling/ ],
);

{

    package Overloaded;
    use overload '""' => sub { 'frank' };
}
my $plan = Stead::Plan->between( $map, members( $map, { name => 'db3' } ) );
my %many = (
    locate_many     => sub { $map->locate_many(@_) },
    locate_all_many => sub { $map->locate_all_many(@_) },
    affects_many    => sub { $plan->affects_many(@_) },
);
for my $wrong (@wrong) {
    my ( $what, $key, $words ) = @$wrong;
    fails( "$what is refused by locate", 1, $words,
        sub { $map->locate($key) } );
    for my $call (
        sub { $map->locate_all($key) },
        sub { $map->prefer( $key, 1 ) },
        sub { $map->point($key) },
        sub { Stead::path($key) }
      )
    {
        ok !eval { $call->(); 1 }, "$what is refused";
    }
    next if !defined $key;
    fails( "$what is refused by $_, which says which",
        1, qr/^key 1 /, sub { $many{$_}->( [ 'a', $key ] ) } )
      for sort keys %many;
}

# ---- undef among many keys

is_deeply $map->locate_many( [ 'frank', undef, 'bob' ] ),
  [ 'db1', undef, 'db2' ], 'undef among many keys gives undef';
is_deeply $map->locate_many( [ undef, 'bob' ], numbers => 1 ), [ undef, 1 ],
  'and as a number';
is_deeply $plan->affects_many( [undef] ), [], 'undef has no row';
is_deeply [ map { $_->key }
      @{ $plan->affects_many( [ undef, 'alice', undef, 'alice' ] ) } ],
  [ 1, 3 ], 'and does not change the position of other keys';
{
    my @holes;
    $holes[1] = 'bob';
    is_deeply $map->locate_many( \@holes ), [ undef, 'db2' ],
      'a hole in an array is undef';
}

is_deeply $map->locate_all_many( [ 'frank', undef ] ), [ ['db1'], undef ],
  'undef among the keys of locate_all_many gives undef';

# ---- batches: the answers are those of single calls, for keys of all lengths, around the size of
# a batch (2,048 keys)

{
    my $wide = Stead::Map->build(
        {
            name     => 'wide',
            replicas => 2,
            node     => [ map { { name => "w$_" } } 1 .. 7 ]
        }
    );
    my @names  = map { $_->name } $wide->nodes;
    my %number = map { $names[$_] => $_ } 0 .. $#names;
    for my $count ( 0, 1, 301, 2047, 2048, 2049, 5000, 100_000 ) {
        my @batch = map {
                $_ % 97 == 5 ? undef
              : $_ % 97 == 6 ? $_
              : substr pack( 'w*', $_, 3 .. 90, 128 .. 255 ) x 2, 0, $_ % 301
        } 1 .. $count;
        utf8::upgrade( $batch[$_] )
          for grep { defined $batch[$_] && $_ % 5 == 1 } 0 .. $#batch;
        my @one = map { defined $_ ? scalar $wide->locate($_) : undef } @batch;
        is_deeply $wide->locate_many( \@batch ), \@one, "$count keys";
        is_deeply $wide->locate_many( \@batch, numbers => 1 ),
          [ map { defined $_ ? $number{$_} : undef } @one ],
          "$count keys, as numbers";
        next if $count > 5000;
        my @all =
          map { defined $_ ? [ $wide->locate_all($_) ] : undef } @batch;
        is_deeply $wide->locate_all_many( \@batch ), \@all,
          "all nodes of $count keys";
        is_deeply $wide->locate_all_many( \@batch, numbers => 1 ), [
            map {
                $_
                  ? [ map { $number{$_} } @$_ ]
                  : undef
            } @all
          ],
          "all nodes of $count keys, as numbers";
    }
    my $found = $wide->locate_many( [ ('frank') x 3 ] );
    my $was   = $found->[1];
    $found->[0] .= ' and more';
    is $found->[1],            $was, 'each answer is a scalar of its own';
    is $wide->locate('frank'), $was, 'and not the name in the map';
}

# ---- tied scalars

{

    package Counting;

    sub TIESCALAR {
        my ( $class, $value ) = @_;
        return bless { value => $value, fetched => 0 }, $class;
    }
    sub FETCH { my ($self) = @_; $self->{fetched}++; return $self->{value} }
}
for my $value ( 'frank', "caf\xe9",
    do { my $up = "caf\xe9"; utf8::upgrade($up); $up }, 42 )
{
    for my $name ( sort keys %methods ) {
        my $tied = tie my $key, 'Counting', $value;
        my $found =
            $name eq 'path'  ? Stead::path($key)
          : $name =~ /many$/ ? $map->$name( [$value] )->[0]
          : $map->can($name)->( $map, $key, $name eq 'prefer' ? 2 : () );
        is $tied->{fetched}, $name =~ /many$/ ? 0 : 1,
          "$name fetches a tied key once";
    }
    my $tied = tie my $key, 'Counting', $value;
    is $map->locate($key), $map->locate($value),
      'and the value that was fetched is located';
}
tie my @tied, 'Array', 'frank', 'bob';
{

    package Array;
    sub TIEARRAY  { my ( $class, @items ) = @_; return bless [@items], $class }
    sub FETCH     { return $_[0][ $_[1] ] }
    sub FETCHSIZE { return scalar @{ $_[0] } }
}
is "@{ $map->locate_many(\@tied) }", 'db1 db2', 'a tied array of keys';
{
    tie my $none, 'Counting', undef;
    is_deeply $map->locate_many( [ $none, 'bob' ] ), [ undef, 'db2' ],
      'a value that was undef';
    my @list = ( 'bob', undef );
    tie $list[1], 'Counting', undef;
    is_deeply $map->locate_many( \@list ), [ 'db2', undef ],
      'a tied element that is undef';
}
fails( 'a tied key that is undef',
    1, qr/undef/, sub { tie my $key, 'Counting', undef; $map->locate($key) } );

# a fetch may free the map that is in use, and the keys
{

    package Careless;
    sub TIESCALAR { my ( $class, $code ) = @_; return bless [$code], $class }
    sub TIEARRAY  { my ( $class, $code ) = @_; return bless [$code], $class }
    sub FETCHSIZE { return 3 }

    sub FETCH {
        my ($self) = @_;
        $self->[0]->();
        my @over = map { 'y' x 100 } 1 .. 100;
        return 'frank';
    }
}
for my $name ( sort keys %methods ) {
    next if $name eq 'path' || $name =~ /many$/;
    my $gone = members();
    tie my $key, 'Careless', sub { undef $gone };
    my ($found) = $gone->$name( $key, $name eq 'prefer' ? 1 : () );
    ok $found && $found eq ( $name eq 'point' ? $map->point('frank') : 'db1' ),
      "$name answers when its map goes with the key";
}
{
    my $gone = members();
    tie my @gone, 'Careless', sub { undef $gone };
    my $keys = \@gone;
    is "@{ $gone->locate_many($keys) }", 'db1 db1 db1', 'and among many keys';
    $gone = members();
    is_deeply $gone->locate_all_many($keys), [ ( ['db1'] ) x 3 ],
      'and among many keys with all nodes';
    my $next = members( $map, { name => 'db3' } );
    my $plan = Stead::Plan->between( $map, $next );
    tie my @again, 'Careless', sub { undef $plan };
    is_deeply $plan->affects_many( \@again ), [], 'and among those of a plan';
    ok !defined $plan, 'which was freed meanwhile';
    $gone = members();
    tie my $number, 'Careless', sub { undef $gone };
    ok !eval { $gone->prefer( 'frank', $number ); 1 } && !defined $gone,
      'also a count that is not a number';
}

# ---- substr and similar functions return values with magic

my $long = 'xfrankx';
is $map->locate( substr $long, 1, 5 ), 'db1', 'substr';
'frank bob' =~ /(\w+) (\w+)/
  and is $map->locate($1) . $map->locate($2), 'db1db2', 'captures';

# ---- answers belong to the caller

my $name = $map->locate('frank');
$name .= ':3306';
is $map->locate('frank'), 'db1', 'the caller may change a name';
for my $one (
    $map->locate_all('frank'),
    $map->locate('frank'),
    @{ $map->locate_many( ['frank'] ) }
  )
{
    $one .= 'x';
}
is $map->locate('frank'), 'db1', 'also in a loop';
my @both = map { $map->locate($_) } 'frank', 'bob';
is "@both", 'db1 db2', 'two answers of one statement are separate';
is join(
    ' ',
    (
        sub {
            map { \$_ } @_;
        }
    )->( $map->locate('frank'), $map->locate('bob') )
    ? map { $map->locate($_) } 'bob',
    'frank'
    : ()
  ),
  'db2 db1', 'and as arguments';

# names are text of any kind, and the same statement returns all of them in turn
my @names = (
    'short',
    'n' x 29,
    'n' x 30,
    'n' x 31,
    'n' x 32,
    'n' x 255,
    "z\xf6",
    "\x{2713}",
    "\x{1F600}" x 20,
    "a\xe9\x{1F600}",
    'b'
);
my $named =
  Stead::Map->build(
    { name => 'm', node => [ map { { name => $_ } } @names ] } );
my @known = map { $_->name } $named->nodes;
my $large = 'y' x 5000;
my ( %seen, $wrong );
for my $number ( 1 .. 2000 ) {
    my $answered = $named->locate("k$number");
    my ($first) = $named->locate_all("k$number");
    $wrong++
      if $answered ne $first
      || length $answered != length $first
      || $answered ne
      $known[ $named->locate_many( ["k$number"], numbers => 1 )->[0] ];

    # a change to the last answer does not affect the next one
    for ( $named->locate("k$number") ) {
        $wrong++ if $_ ne $first;
        my $what = $number % 7;
        if    ( $what == 0 ) { s/^.// }
        elsif ( $what == 1 ) { undef $_ }
        elsif ( $what == 2 ) { $_ = [1] }
        elsif ( $what == 3 ) { $_ .= 'x' x 100 }
        elsif ( $what == 4 ) { utf8::upgrade($_); pos = 1 }
        elsif ( $what == 5 ) { $_ = $large }  # a string that Perl does not copy
        elsif ( $number > 1000 ) { $_ = 5 }    # from here on a number, too
    }
    $seen{$answered}++;
}
is $wrong, undef, 'names of any kind';
is_deeply [ sort keys %seen ], [ sort @names ], 'all of them';
is $large, 'y' x 5000, 'and the assigned string did not change';

done_testing;
