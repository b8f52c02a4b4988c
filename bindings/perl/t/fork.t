# A child may use the maps of its parent, and open others; those of the parent continue to work.
use strict;
use warnings;

use File::Temp ();
use Test::More;

require './t/lib.pl';

my $scratch = File::Temp->newdir;
my $path    = "$scratch/members.map";
my $map     = members();
$map->publish($path);
my $opened = Stead::Map->open($path);
my $next   = members( $opened, { name => 'db3' } );
my $plan   = Stead::Plan->between( $opened, $next );

my @children;
for my $number ( 1 .. 8 ) {
    my $pid = fork;
    die "cannot fork: $!" if !defined $pid;
    if ( !$pid ) {
        my $good =
             $opened->locate('frank') eq 'db1'
          && Stead::Map->open($path)->locate('bob') eq 'db2'
          && scalar( $plan->moves ) == 2
          && ( $plan->affects('alice') )[0]->to eq 'db3'
          && (
            $number % 2 || do {
                undef $opened;
                undef $plan;
                Stead::Map->open($path)->epoch == 1;
            }
          );

        # an ordinary exit of Perl, with everything that it frees
        exit( $good ? 7 : 1 );
    }
    push @children, $pid;
}
for my $pid (@children) {
    waitpid $pid, 0;
    is $?, 7 << 8, 'a child answered correctly, and exited with 7';
}
is $opened->locate('frank'), 'db1', 'the parent still has its maps';
$next->publish( $path, $opened );
my $pid = fork;
die "cannot fork: $!"                               if !defined $pid;
exit( Stead::Map->open($path)->epoch == 2 ? 7 : 1 ) if !$pid;
waitpid $pid, 0;
is $?, 7 << 8, 'a child sees the new epoch';

done_testing;
