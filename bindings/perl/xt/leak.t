# Nothing leaks, neither Perl's scalars nor memory of libstead, even when calls fail.
use strict;
use warnings;

use File::Temp ();
use Test::LeakTrace;
use Test::More;

require './t/lib.pl';

my $scratch = File::Temp->newdir;
my $map     = members();
$map->publish("$scratch/members.map");
my $next = members( $map, { name => 'db3' } );
my $up   = "caf\xe9";
utf8::upgrade($up);

my %calls = (
    open => sub { Stead::Map->open("$scratch/members.map")->locate('frank') },
    copy => sub { Stead::Map->open( "$scratch/members.map", copy => 1 ) },
    uncached => sub {
        Stead::Map->open_uncached("$scratch/members.map");
        my @peeked = Stead::Map->peek("$scratch/members.map");
    },
    from_bytes => sub { Stead::Map->from_bytes( $map->to_bytes ) },
    build  => sub { Stead::Map->build("name = 'm'\n[[node]]\nname = 'a'\n") },
    hash   => sub { members( $map, { name => 'db4', weight => 0.5 } ) },
    locate => sub { $map->locate($_) for 'frank', $up, 42, 7.0 },
    lists  => sub {
        my @all = (
            $map->locate_all('frank'),
            $map->prefer( 'frank', 2 ),
            $map->locate_all_point(5)
        );
        my $count = $map->locate_all('bob');
    },
    many => sub {
        my $nodes = $map->locate_many( [ 'frank', $up, 42 ] );
        $map->locate_many( ['a'], numbers => 1 );
        $nodes = $map->locate_many( [ ( 'a', undef ) x 3000 ] );
        $nodes = $map->locate_all_many( [ 'frank', $up, 42, undef ] );
        $nodes = $map->locate_all_many( [ ('a') x 3000 ], numbers => 1 );
    },
    inside => sub {
        my @inside =
          ( $map->nodes, $map->slices, $map->name, $map->epoch, $map->digest );
        $_->label('zone') for $map->nodes;
        @inside = (
            $map->policies,
            $map->spread,
            $map->hash,
            $map->key_rule,
            $map->parent,
            $map->node('db2')->attributes,
            $map->attribute( 'db2', 'address' ),
            $map->node("\x{2713}"),
            "$map",
            $map + 0
        );
    },
    store => sub {
        Stead::Map->apply( { name => 'm', node => [ { name => 'a' } ] },
            "$scratch/store.map" );
        Stead::Map->open_epoch( "$scratch/store.map", 1 );
        Stead::Map->rollback( "$scratch/store.map", 1 );
        my @epochs = Stead::Map->history("$scratch/store.map");
        my $fleet  = $map->fleet;
    },
    names => sub {
        my $name = Stead::path_name('38/37/60/frank');
        Stead::survey( [ 'frank', undef, $up ], levels => [ 16, 16 ] );
    },
    'bad store' => sub {
        eval { Stead::Map->history("$scratch/none.map") };
        eval { Stead::Map->open_epoch( "$scratch/store.map", 99 ) };
        eval { Stead::Map->apply( 'x', "$scratch/store.map" ) };
        eval { Stead::path_name('x') };
        eval { Stead::survey( ['x'], members => -1 ) };
    },
    report => sub { my $report = $map->report },
    plan   => sub {
        my $plan  = Stead::Plan->between( $map, $next );
        my @moves = ( $plan->moves, $plan->affects('alice') );
        @moves = ( $plan->affects_point(5), $plan->moved, "$plan" );
        $plan->affects_many( [ 'alice', $up, undef, 42 ] );
        $plan->report( moves => 1 );
    },
    path =>
      sub { Stead::path( 'frank', levels => [ 16, 16 ], fold => 'ascii' ) },
    'bad key' => sub {
        eval { $map->locate($_) } for undef, "\x{2713}", [], 1.5;
    },
    'bad keys' => sub {
        eval { $map->locate_many( [ ('a') x 3000, $up, [] ] ) };
        eval { $map->locate_all_many( [ ('a') x 3000, $up, [] ] ) };
    },
    'bad name' => sub {
        eval { $map->attribute( $_, 'address' ) } for undef, 'none', [];
    },
    'bad affects' => sub {
        eval { Stead::Plan->between( $map, $next )->affects_many($_) }
          for 'frank', [ 'a', [] ];
    },
    'bad open' => sub {
        eval { Stead::Map->open("$scratch/nowhere") }
    },
    'bad bytes' => sub {
        eval { Stead::Map->from_bytes('not a map') }
    },
    'bad fleet' => sub {
        eval {
            Stead::Map->build(
                { name => 'm', node => [ { name => 'a', wieght => 1 } ] } );
        }
    },
    'bad hash' => sub {
        eval {
            Stead::Map->build( { name => 'm', node => [ { name => undef } ] } );
        }
    },
    'bad plan' => sub {
        eval { Stead::Plan->between( $map, undef ) }
    },
    'bad path' => sub {
        eval { Stead::path( 'x' x 300 ) }
    },
    option => sub {
        eval { Stead::Map->open( 'x', y => 1 ) }
    },
    save => sub { $map->save("$scratch/saved.map") },
);
for my $name ( sort keys %calls ) {
    $calls{$name}->();    # creates the names of nodes, which are kept
    no_leaks_ok { $calls{$name}->() } $name;
}

# the control: a leak is detected
my @kept;
my $leaked =
  leaked_count { push @kept, Stead::Map->from_bytes( $map->to_bytes ) };
cmp_ok $leaked, '>=', 2, 'a map that is kept counts as a leak';

# ---- memory that Perl does not know about: 100,000 maps of 20 KB each, and as many plans and
# failures

sub memory {
    open my $file, '<', '/proc/self/statm' or return;
    my ($pages) = ( split ' ', <$file> )[1];
    return $pages * 4096;
}

SKIP: {
    skip 'there is no /proc', 2 if !defined memory();
    my $large = Stead::Map->build(
        {
            name => 'large',
            node => [
                map {
                    { name => "n$_", attributes => { ballast => 'x' x 1000 } }
                } 1 .. 20
            ]
        }
    );
    my $bytes = $large->to_bytes;
    my $run   = sub {
        my ($times) = @_;
        for ( 1 .. $times ) {
            my $one = Stead::Map->from_bytes($bytes);
            $one->locate('frank');
            eval { $one->locate(undef) };
            my $moves = Stead::Plan->between( $one, $one )->moves;
        }
    };
    $run->(2000);
    my $before = memory();
    $run->(100_000);
    my $grown = memory() - $before;
    diag
      "100,000 maps of @{[length $bytes]} bytes: memory grew by $grown bytes";
    cmp_ok $grown, '<', 4 << 20, 'memory does not grow';

    # the control: 2000 maps that are kept take 40 MB
    $before = memory();
    my @hoard = map { Stead::Map->from_bytes($bytes) } 1 .. 2000;
    cmp_ok memory() - $before, '>', 20 << 20,
      'the control: kept maps are visible';
}

done_testing;
