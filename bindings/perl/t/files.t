# Maps in files. $! and $@ are not changed. Errors name the place of the call that failed.
use strict;
use warnings;

use Errno      qw(ENOENT EACCES);
use File::Temp ();
use Stead;
use Test::More;

require './t/lib.pl';

my $scratch = File::Temp->newdir;
my $path    = "$scratch/members.map";
my $first   = members();
my $text_of_another =
  { name => 'another', node => [ { name => 'a' } ] };

# ---- publishing

$first->publish($path);
is +Stead::Map->open($path)->digest, $first->digest, 'published and opened';
ok -e "$path.history/1", 'with its history';
my $next = members( $first, { name => 'db3' } );
$next->publish( $path, $first );
is +Stead::Map->open($path)->epoch, 2, 'the next epoch is seen';
is $first->epoch,                   1, 'and open maps stay as they are';
fails( 'another process published first',
    10, qr/./,
    sub { members( $first, { name => 'db4' } )->publish( $path, $first ) } );
fails(
    'built on another map',
    1,
    qr/was not built on/,
    sub { members( $first, { name => 'x' } )->publish( $path, $next ) }
);
is +Stead::Map->open($path)->digest, $next->digest, 'nothing was changed';
$first->save("$scratch/copy.map");
is +Stead::Map->open( "$scratch/copy.map", copy => 1 )->digest, $first->digest,
  'saved, and read whole';
ok !-e "$scratch/copy.map.history", 'without a history';

# ---- other ways to open a map

is +Stead::Map->open_uncached($path)->digest, $next->digest, 'uncached';
{
    my ( $epoch, $digest ) = Stead::Map->peek($path);
    is $epoch,  2,             'the epoch of a file';
    is $digest, $next->digest, 'and its digest';
    is scalar( Stead::Map->peek($path) ), 2,
      'in scalar context the epoch alone';
}
for my $way (qw(open open_uncached peek)) {
    fails( "$way of no file",
        8, qr/nowhere/, sub { Stead::Map->$way("$scratch/nowhere.map") } );
    fails(
        "$way of an empty path",
        1,
        qr/^path is empty/,
        sub { Stead::Map->$way('') }
    );
    fails(
        "$way of undef",
        1,
        qr/^the path of a map is undef/,
        sub { Stead::Map->$way(undef) }
    );
}
fails( 'save to an empty path', 1, qr/^path is empty/,
    sub { $next->save('') } );

# ---- applying, and the history

my $store = "$scratch/store.map";
my $fleet = { name => 'store', node => [ { name => 'a' }, { name => 'b' } ] };
fails( 'no history yet',
    8, qr/store\.map/, sub { Stead::Map->history($store) } );
is +Stead::Map->apply( $fleet, $store )->epoch, 1, 'apply makes a first map';
is +Stead::Map->apply( $fleet, $store )->epoch, 1,
  'and writes nothing when nothing would change';
push @{ $fleet->{node} }, { name => 'c' };
my $second = Stead::Map->apply( $fleet, $store, max_move => '10%' );
is $second->epoch,                    2, 'it publishes the next epoch';
is +Stead::Map->open($store)->digest, $second->digest, 'which is there';
cmp_ok +Stead::Plan->between( Stead::Map->open_epoch( $store, 1 ), $second )
  ->fraction, '<=', 0.1, 'with max_move';
my $third = Stead::Map->apply( $fleet, $store );
open my $toml, '>', "$scratch/store.toml" or die $!;
print {$toml} "name = 'store'\n[[node]]\nname = 'a'\n";
close $toml;
fails(
    'an old fleet file',
    18,
    qr/takes back epoch 2: node c, added there/,
    sub { Stead::Map->apply_file( "$scratch/store.toml", $store ) }
);
my $fourth =
  Stead::Map->apply_file( "$scratch/store.toml", $store, allow => 'take-back' );
is $fourth->epoch,                           4,         'apply_file';
is join( ' ', Stead::Map->history($store) ), '1 2 3 4', 'history, oldest first';
is scalar Stead::Map->history($store),       4, 'in scalar context its length';
is +Stead::Map->open_epoch( $store, 2 )->digest, $second->digest,
  'an old epoch';
my $back = Stead::Map->rollback( $store, 3 );
is $back->epoch, 5, 'rollback publishes the next epoch';
ok $back->same($third),                            'with the old content';
ok !eval { Stead::Map->rollback( $store, 1 ); 1 }, 'further back';
like $@, qr/say how to go back: exact/, 'it must be said how';
my $least = Stead::Map->rollback( $store, 1, back => 'least' );
is $least->epoch, 6, 'least';
$back = Stead::Map->rollback( $store, 5, back => 'exact' );
ok $back->same($third), 'exact';
is +Stead::Map->open($store)->digest, $back->digest, 'which is there';
isa_ok $back, 'Stead::Map';
my %failing = (
    'an epoch that was never' =>
      [ 1, qr/9/, sub { Stead::Map->open_epoch( $store, 9 ) } ],
    'a rollback to none' =>
      [ 1, qr/9/, sub { Stead::Map->rollback( $store, 9 ) } ],
    'an epoch that is no number' => [
        1,
        qr/^an epoch is a whole number .*, not 'x'$/,
        sub { Stead::Map->rollback( $store, 'x' ) }
    ],
    'no path' => [
        1,
        qr/^the path of the map is missing; say apply\(FLEET, PATH\)$/,
        sub { Stead::Map->apply($fleet) }
    ],
    'no path for a file' => [
        1,
        qr/^the path of the map is missing; say apply_file\(FLEET, PATH\)$/,
        sub { Stead::Map->apply_file("$scratch/store.toml") }
    ],
    'a map as the path' =>
      [ 1, qr/./, sub { Stead::Map->apply( $fleet, undef ) } ],
    'a fleet file that is not there' => [
        8, qr/none\.toml/, sub { Stead::Map->apply_file( 'none.toml', $store ) }
    ],
    'a file name instead of a text' => [
        2,
        qr/to read a file, use Stead::Map->apply_file\(FLEET, PATH\)$/,
        sub { Stead::Map->apply( 'store.toml', $store ) }
    ],
    'a mistake in a hash' => [
        2,
        qr/^fleet->\{nodes\}: unknown key/,
        sub { Stead::Map->apply( { name => 'store', nodes => [] }, $store ) }
    ],
    'another cluster' =>
      [ 7, qr/./, sub { Stead::Map->apply( $text_of_another, $store ) } ],
    'an unknown option' => [
        1,
        qr/^there is no option 'name'; known: max_move allow$/,
        sub {
            Stead::Map->apply_file( "$scratch/store.toml", $store,
                name => 'x' );
        }
    ],
);
fails( $_, @{ $failing{$_} } ) for sort keys %failing;
is +Stead::Map->open($store)->epoch, 7, 'no failure changed the map';

# ---- guards

my $guarded = "$scratch/guarded.map";
my $single  = { name => 'g', node => [ { name => 'a' }, { name => 'b' } ] };
my $pair    = { %$single, replicas => 2 };
my $paired  = Stead::Map->apply( $pair, $guarded );
my $dropped = Stead::Map->build( $single, $paired );
my $drops =
  qr/^\S+: the change drops copies .*; if you mean it, allow drop-copies$/;
fails( 'apply of a fleet with fewer copies',
    18, $drops, sub { Stead::Map->apply( $single, $guarded ) } );
fails( 'another word', 18, $drops,
    sub { Stead::Map->apply( $single, $guarded, allow => 'move' ) } );
fails( 'publish of a map with fewer copies',
    18, $drops, sub { $dropped->publish( $guarded, $paired ) } );
fails(
    'a word that is none',
    1,
    qr/^`drop` is not the word of a guard/,
    sub { $dropped->publish( $guarded, $paired, allow => 'drop' ) }
);
fails(
    'an option that is none',
    1,
    qr/^there is no option 'a'; known: allow$/,
    sub { $dropped->publish( $guarded, $paired, a => 1 ) }
);
$dropped->publish( $guarded, $paired, allow => 'drop-copies' );
is +Stead::Map->apply( $pair, $guarded, allow => 'take-back' )->epoch, 3,
  'an allowed word lets the change pass';
fails( 'a rollback to fewer copies',
    18, $drops, sub { Stead::Map->rollback( $guarded, 2 ) } );
is +Stead::Map->rollback( $guarded, 2, allow => 'drop-copies' )->epoch, 4,
  'and the rollback';
isa_ok eval { $paired->publish( $guarded, undef ); 1 } ? undef : $@,
  'Stead::Error', 'undef for the previous map';

# more epochs than the first buffer holds are asked for again: the history keeps 32
Stead::Map->apply(
    {
        name => 'store',
        node => [ { name => 'a', weight => $_ }, { name => 'b' } ]
    },
    $store,
    allow => 'take-back'
) for 2 .. 40;
is scalar( my @kept = Stead::Map->history($store) ), 32, 'a long history';

# ---- a directory that may not be written: as another user than root

SKIP: {
    skip 'this is not root, whom no directory refuses', 1 if $>;
    chmod 0755, $scratch;
    my $pid = open my $child, '-|';
    die "cannot fork: $!" if !defined $pid;
    if ( !$pid ) {
        $) = '65534 65534';
        $> = 65534;
        my @said = map {
            my $act = $_;
            eval { $act->(); 1 } ? 'lived' : ref $@
          } sub { Stead::Map->apply( $fleet, "$scratch/mine.map" ) },
          sub { $first->save("$scratch/mine.map") };
        print "@said";
        require POSIX;
        close STDOUT;
        POSIX::_exit(0);
    }
    is scalar <$child>,
      'Stead::Error::PermissionDenied ' x 1 . 'Stead::Error::PermissionDenied',
      'permission denied is its own class';
    close $child;
}

# ---- paths

my $name = "$scratch/caf\xc3\xa9.map";
$first->save($name);
my $upgraded = $name;
utf8::upgrade($upgraded);
is +Stead::Map->open($upgraded)->epoch, 1,
  'a path is its bytes, however Perl stores them';
ok utf8::is_utf8($upgraded), 'and stays as it was';
{

    package Path;
    use overload '""' => sub { $_[0][0] }, fallback => 1;
}
is +Stead::Map->open( bless [$path], 'Path' )->epoch, 2,
  'an object that overloads string conversion';
for my $wrong (
    [ undef,      qr/is undef/ ],
    [ "a\0b",     qr/has a NUL/ ],
    [ "\x{2713}", qr/has a character above 0xFF/ ],
    [ [],         qr/is a reference/ ],
    [ {},         qr/is a reference/ ],
    [ *STDOUT,    qr/is a file handle/ ]
  )
{
    fails(
        'no path: ' . ( defined $wrong->[0] ? 'wrong' : 'undef' ),
        1,
        qr/^the path of a map $wrong->[1]/,
        sub { Stead::Map->open( $wrong->[0] ) }
    );
}
fails(
    'an unknown option',
    1,
    qr/^there is no option 'flags'; known: copy$/,
    sub { Stead::Map->open( $path, flags => 1 ) }
);

# ---- files that are no maps

is fails(
    'no file', 8,
    qr/nowhere\.map: /,
    sub { Stead::Map->open("$scratch/nowhere.map") }
)->errno, ENOENT, 'errno';
open my $out, '>', "$scratch/text.map" or die $!;
print {$out} "not a map\n" x 50;
close $out;
my $format = fails(
    'no map', 4,
    qr/text\.map: /,
    sub { Stead::Map->open("$scratch/text.map") }
);
is $format->errno,       0, 'without an errno of the system';
is $format->status,      Stead::Error::STEAD_FORMAT, 'the constants';
is $format->status_name, 'STEAD_FORMAT',             'and their names';
my $bytes = $first->to_bytes;
substr( $bytes, 300, 1 ) ^= "\1";
fails( 'a damaged map', 5, qr/./, sub { Stead::Map->from_bytes($bytes) } );
fails( 'a map that ends early',
    4, qr/./,
    sub { Stead::Map->from_bytes( substr $first->to_bytes, 0, 100 ) } );
$bytes = $first->to_bytes;
utf8::upgrade($bytes);
is +Stead::Map->from_bytes($bytes)->digest, $first->digest,
  'bytes that Perl stores as UTF-8';
fails( 'an impossible path', 9, qr/./,
    sub { $first->save("$path/below.map") } );

# ---- $! and $@

$! = EACCES;
$@ = 'mine';
my $opened = Stead::Map->open($path);
Stead::Map->open("$scratch/copy.map");
$opened->locate('frank');
$opened->report;
Stead::Plan->between( $first, $next )->report( moves => 1 );
members( $opened, { name => 'db9' } );
$next->save("$scratch/again.map");
undef $opened;
is $! + 0, EACCES, 'a call that succeeds does not change $!';
is $@,     'mine', 'and $@';
eval { Stead::Map->open("$scratch/nowhere.map") };
is $! + 0, EACCES,
  'a call that fails does not change $! either: the error has it';

# ---- the file and line of an error

# line 1 "elsewhere.pl"
my @calls = (
    sub { Stead::Map->open('/nowhere') },
    sub { $first->locate(undef) },
    sub { Stead::Map->build('x = ') },
    sub { Stead::Map->build( { name => undef } ) },
    sub { $first->locate_many( [ [] ] ) },
    sub { Stead::path(undef) },
    sub { $first->publish(undef) },
    sub {
        my @sorted = sort { $first->locate(undef) } 1, 2;
    },
    sub {
        my @found = map { $first->point( [] ) } 1;
    },
);
my @lines = ( 2 .. 8, 10, 13 );
for my $count ( 0 .. $#calls ) {
    eval { $calls[$count]->() };
    is ref $@ ? $@->file . ' ' . $@->line : $@,
      "elsewhere.pl $lines[$count]", "the place of call $count";
}
eval { Stead::Map->open('/nowhere') };
is $@->line, __LINE__ - 1, 'the line of a plain call';
like "$@", qr{\A\Qcannot open /nowhere: \E.* at elsewhere\.pl line \d+\.\n\z},
  'the text is like that of die';
ok $@, 'an error is true';
is "x$@", 'x' . $@->as_string, 'and joins as text';

# ---- die handlers

{
    my $seen;
    local $SIG{__DIE__} = sub { $seen = $_[0] };
    eval { $first->locate(undef) };
    isa_ok $seen, 'Stead::Error', 'a handler of __DIE__ gets the object';
}

done_testing;
