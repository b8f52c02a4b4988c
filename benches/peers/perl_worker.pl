# The Perl worker of `make bench`: it times stead and pure Perl on the same keys. workers.py describes
# what it reads and answers.
#
#     perl -Mblib=target/perl/Stead perl_worker.pl KEYS     (started by benches/peers/run.py)

use strict;
use warnings;

use Digest::MD5 qw(md5);
use FindBin     qw($Bin);
use Stead;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

require "$Bin/../perl/pure.pl";    # pure

my $copies = 3;                    # the number of nodes that `copies` asks for
$| = 1;

# Each candidate has a loop of its own, so that none pays for another's call.

sub stead_call {
    my ( $call, $path ) = @_;
    my $map = Stead::Map->open($path);
    my ( $run, $owner );
    if ( $call eq 'locate' ) {
        $run = sub {
            for my $key ( @{ $_[0] } ) { my $node = $map->locate($key) }
        };
        $owner = sub { $map->locate( $_[0] ) };
    }
    elsif ( $call eq 'prefer' ) {
        $run = sub {
            for my $key ( @{ $_[0] } ) { my @two = $map->prefer( $key, 2 ) }
        };
        $owner = sub { ( $map->prefer( $_[0], 2 ) )[0] };
    }
    else {
        $run   = sub { my $all = $map->locate_many( $_[0] ) };
        $owner = sub { $map->locate_many( [ $_[0] ] )->[0] };
    }
    return {
        run    => $run,
        owner  => $owner,
        copies => sub { $map->prefer( $_[0], $copies ) }
    };
}

sub pure_perl {
    my $pure = pure( Stead::Map->open( $_[0] ) );
    return {
        run => sub {
            for my $key ( @{ $_[0] } ) { my $node = $pure->($key) }
        },
        owner => $pure
    };
}

sub bare_md5 {
    return {
        run => sub {
            for my $key ( @{ $_[0] } ) { my $digest = md5($key) }
        },
        owner => sub { md5( $_[0] ) }
    };
}

sub build {
    my ( $name, $path ) = @_;
    return stead_call( $1, "$path.$2.map" ) if $name =~ /^stead (\S+) (\S+)$/;
    return pure_perl("$path.md5.map")       if $name eq 'pure Perl';
    return bare_md5()                       if $name eq 'Digest::MD5';
    die "no such candidate\n";
}

sub version {
    my ($name) = @_;
    return 'this tree'             if $name =~ /^stead /;
    return "$Digest::MD5::VERSION" if $name eq 'Digest::MD5';
    return sprintf '%vd', $^V;
}

sub put {
    my ( $path, $lines ) = @_;
    open my $file, '>', $path or die "$path: $!\n";
    print $file map { "$_\n" } @$lines;
    close $file or die "$path: $!\n";
    return 'ok';
}

sub answer {
    my ( $keys, $built, $verb, $name, @rest ) = @_;
    return "ok\t" . version($name) if $verb eq 'version';
    if ( $verb eq 'build' ) {
        delete $built->{$name};
        my $start = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
        $built->{$name} = build( $name, @rest );
        return sprintf "ok\t%.0f",
          ( clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $start ) * 1e9;
    }
    my $it = $built->{$name} or die "not built\n";
    if ( $verb eq 'time' ) {
        my ( $first, $count ) = @rest;
        my @part  = @$keys[ $first .. $first + $count - 1 ];
        my $start = clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
        $it->{run}->( \@part );
        return sprintf "ok\t%.0f",
          ( clock_gettime(CLOCK_PROCESS_CPUTIME_ID) - $start ) * 1e9;
    }
    my ( $count, $path ) = @rest;
    my @first = @$keys[ 0 .. $count - 1 ];
    return put( $path, [ map { $it->{owner}->($_) } @first ] )
      if $verb eq 'place';
    return put( $path, [ map { join ' ', $it->{copies}->($_) } @first ] )
      if $verb eq 'copies' && $it->{copies};
    die "no call for it\n";
}

open my $file, '<', $ARGV[0] or die "$ARGV[0]: $!\n";
chomp( my @keys = <$file> );
close $file;
my %built;
while ( my $line = <STDIN> ) {
    chomp $line;
    my $said = eval { answer( \@keys, \%built, split /\t/, $line ) };
    if ( !defined $said ) {
        my $why = "$@";
        $why =~ s/\s+/ /g;
        $said = "no\t$why";
    }
    print "$said\n";
}
