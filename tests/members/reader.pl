# A reader of members' photos, like reader.py, which describes it.

use v5.14;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/../../examples/members";
use Members;

$| = 1;
my ( $what, $directory, $first, $more ) = @ARGV;
my %counts = map { $_ => 0 } qw(looks moving misses wrong);

# the photo in the first of these places that has one
sub photo {
    for my $path (@_) {
        my $photo = Members::slurp($path);
        return $photo if defined $photo;
    }
    return undef;
}

# the places with these numbers; a user that does not move has only one
sub chosen {
    my ( $how, @places ) = @_;
    return map { $places[ $_ % @places ] } split //, $how;
}

sub count {
    my ( $user, $photo, @places ) = @_;
    $counts{looks}++;
    $counts{moving}++ if @places > 1;
    $counts{misses}++ if !defined $photo;
    $counts{wrong}++  if defined $photo && $photo ne "photo of $user\n";
}

sub users {
    open my $file, '<:raw', $first or die "$first: $!\n";
    chomp( my @users = <$file> );
    return @users;
}

sub said { return defined $_[0] ? 'found' : 'absent' }

if ( $what eq 'run' ) {
    my @users = users();
    while ( !-e $more ) {
        my ( $user, $members ) =
          ( $users[ rand @users ], Members->new($directory) );
        my @places = $members->places($user);
        count( $user, $members->look($user), @places );
        say 'ready' if $counts{looks} == 100;
        select undef, undef, undef, 0.001;
    }
}
elsif ( $what eq 'list' ) {
    for my $user ( users() ) {
        my $members = Members->new($directory);
        my @places  = $members->places($user);
        count(
            $user,
            $more eq 'look'
            ? $members->look($user)
            : photo( chosen( $more, @places ) ),
            @places
        );
    }
}
elsif ( $what eq 'pause' ) {
    my ( $one, @others ) =
      chosen( $more, Members->new($directory)->places($first) );
    my $photo = photo($one);
    say said($photo);
    readline STDIN;
    say said( $photo // photo(@others) );
}
elsif ( $what eq 'stale' ) {
    my $members = Members->new($directory);
    my @places  = $members->places($first);
    say said( photo(@places) );
    readline STDIN;
    say said( photo(@places) ), ' ', said( $members->look($first) );
}
say join ' ', @counts{qw(looks moving misses wrong)}
  if $what eq 'run' || $what eq 'list';
