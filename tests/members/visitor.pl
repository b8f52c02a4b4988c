# A visitor of members' photos, like visitor.py, which describes it.

use v5.14;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/../../examples/members";
use Members;

$| = 1;
my ( $directory, $file, $stop ) = @ARGV;
open my $names, '<:raw', $file or die "$file: $!\n";
chomp( my @users = <$names> );
my %due = map { $_ => "$_ 0" } @users;
my ( $looks, $uploads, $removals, $wrong, $turn ) = ( 0, 0, 0, 0, 0 );
while ( !-e $stop ) {
    $turn++;
    my ( $user, $members, $dice ) =
      ( $users[ rand @users ], Members->new($directory), rand );
    if ( $dice < 0.7 ) {
        $looks++;
        my $photo = $members->look($user);
        $wrong++ if ( $photo // 'none' ) ne ( $due{$user} // 'none' );
    }
    elsif ( $dice < 0.9 ) {
        $uploads++;
        $members->upload( $user, "$user $turn" );
        $due{$user} = "$user $turn";
    }
    else {
        $removals++;
        $members->remove($user);
        $due{$user} = undef;
    }
    say 'ready' if $turn == 100;
    select undef, undef, undef, 0.001;
}
say "$looks $uploads $removals $wrong";
say "$_\t", $due{$_} // '' for @users;
