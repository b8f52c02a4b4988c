# Objects in threads: each thread has its own object for the same map, and each is freed once.
use strict;
use warnings;

use Config;

BEGIN {
    if ( !$Config{useithreads} ) {
        require Test::More;
        Test::More::plan( skip_all => 'this Perl has no threads' );
    }
}
use threads;
use Test::More;

require './t/lib.pl';

my $map     = members();
my $next    = members( $map, { name => 'db3' } );
my $plan    = Stead::Plan->between( $map, $next );
my ($node)  = $map->nodes;
my ($slice) = $map->slices;
is $map->locate('frank'), 'db1', 'before';

for my $round ( 1 .. 5 ) {
    my @threads = map {
        threads->create(
            { context => 'list' },
            sub {
                my @found = (
                    $map->locate('frank'),
                    $map->locate('bob'),
                    scalar( $plan->moves ),
                    ( $plan->affects('alice') )[0]->to,
                    $node->name,
                    $node->weight,
                    $slice->first
                );
                push @found, "@{ $map->locate_many(['frank', 'bob']) }",
                  ref $map, members( $map, { name => 'db4' } )->epoch;
                push @found,
                  eval { $map->locate(undef); 1 } ? 'lived' : $@->status;

                # a thread that a thread created
                push @found,
                  threads->create(
                    sub { $map->locate('bob') . scalar( $plan->moves ) } )
                  ->join;
                undef $map;
                return @found;
            }
        )
    } 1 .. 4;
    is_deeply [ $_->join ],
      [
        'db1', 'db2', 2, 'db3', 'db1', '1', 0, 'db1 db2', 'Stead::Map', 2, 1,
        'db22'
      ],
      "a thread of round $round"
      for @threads;
}
is $map->locate('frank'),  'db1', 'the first thread still has its object';
is scalar( $plan->moves ), 2,     'and its plan';

# an object that only a thread has is freed
my ($made) =
  threads->create( { context => 'list' }, sub { return members() } )->join;
is $made->locate('bob'), 'db2', 'a map that a thread created';
undef $map;
is( threads->create( sub { $made->locate('frank') } )->join,
    'db1', 'and another has' );

# the parent's object is freed first
my $late = do {
    my $mine = members();
    threads->create(
        sub { threads->yield for 1 .. 1000; $mine->locate('frank') } );
};
is $late->join, 'db1',
  'a thread has its map after the parent has freed its own';

done_testing;
