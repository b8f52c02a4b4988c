# Answers the requests of tests/runners/answers.py through the public classes of the Perl module. The
# head of answer.c describes the requests. Perl has no call for a point without a map, so such a
# request goes through a map that the module builds.
#
# ANSWER_LOCALE=NAME runs the program under `use locale` in this locale. It answers nothing unless the
# locale has an effect: 1.5 must be printed as 1,5.

use strict;
use warnings;
use if $ENV{ANSWER_LOCALE}, 'locale';

use Encode       qw(decode encode);
use POSIX        ();
use Scalar::Util qw(blessed);

use Stead;

sub stop {
    my ($why) = @_;
    print STDERR "answer: $why\n";
    exit 3;
}

if ( my $locale = $ENV{ANSWER_LOCALE} ) {
    my $set = POSIX::setlocale( POSIX::LC_ALL(), '' );
    stop( "the locale $locale does not take: setlocale says "
          . ( $set // 'nothing' ) )
      if !defined $set || $set ne $locale;
    stop( "$locale does not take: 1.5 is written " . sprintf '%.1f', 1.5 )
      if sprintf( '%.1f', 1.5 ) ne '1,5';

# the locale must have an effect on letters too: the Turkish I has another small letter
    stop("$locale does not take: lc('I') is i")
      if $locale =~ /^tr/ && lc('I') eq 'i' && $] >= 5.030;
}

# ---- the notation

sub unhex { return pack 'H*', $_[0] }

# encodes names and messages, which are characters and not bytes
sub in_hex { return unpack 'H*', encode( 'UTF-8', $_[0], Encode::FB_CROAK ) }

sub names {
    return join ',', map { in_hex($_) } @_;
}

# the keys of a list; an empty list has one key, which is empty
sub unlist {
    return map { unhex($_) } split /,/, $_[0], -1;
}

sub point { return sprintf '%016x', $_[0] }

# Asks with the key as Perl may store it, as bytes and upgraded. Both answers must be the same.
sub each_spelling {
    my ( $key, $ask ) = @_;
    my $upgraded = $key;
    utf8::upgrade($upgraded);
    my @answers = map { join "\t", $ask->($_) } $key, $upgraded;
    stop('an upgraded key has another answer') if $answers[0] ne $answers[1];
    stop('a key was changed') if $key ne $upgraded || !utf8::is_utf8($upgraded);
    return $answers[1];
}

my %maps;

sub opened {
    my ($path) = @_;
    return $maps{$path} //= Stead::Map->open( unhex($path) );
}

# a map with this hash
sub hashing {
    my ( $hash, $secret ) = @_;
    return $maps{"$hash $secret"} //= Stead::Map->build(
        {
            name => 'points',
            hash => ( undef, qw(md5 sha1 xxh3 siphash) )[$hash],
            node => [ { name => 'a' } ],
            $secret ne '' ? ( secret => $secret ) : (),
        }
    );
}

# the JSON of a report; JSON::PP would write numbers with 15 digits, too few for a fraction
sub json {
    my ($value) = @_;
    return 'null' if !defined $value;
    return '{'
      . join( ',',
        map { string($_) . ':' . json( $value->{$_} ) } sort keys %$value )
      . '}'
      if ref $value eq 'HASH';
    return '[' . join( ',', map { json($_) } @$value ) . ']'
      if ref $value eq 'ARRAY';
    return $value ? 'true' : 'false' if ref $value;
    return number($value)            if is_number($value);
    return string($value);
}

sub string { return JSON::PP->new->allow_nonref->ascii->encode("$_[0]") }

sub is_number {
    no warnings 'numeric';
    my $flags = B::svref_2object( \$_[0] )->FLAGS;
    return $flags & ( B::SVf_IOK() | B::SVf_NOK() )
      && !( $flags & B::SVf_POK() );
}

sub number {
    no locale;
    return sprintf '%.17g', $_[0];
}

sub pair {
    my ( $old, $new, $number ) = @_;
    my $state = ( undef, qw(old both_old_first both_new_first new) )[$number];
    my $pair  = Stead::Pair->between( opened($old), opened($new), $state );
    stop('a pair has another state than it was given')
      if $pair->state ne $state;
    return $pair;
}

# ---- requests

my %requests = (
    'point' => sub {
        my ( $hash, $secret, $key ) = @_;
        return each_spelling( unhex($key),
            sub { point( hashing( $hash, $secret )->point( $_[0] ) ) } );
    },
    'map-point' => sub {
        my ( $map, $key ) = @_;
        return each_spelling( unhex($key),
            sub { point( opened($map)->point( $_[0] ) ) } );
    },
    'locate' => sub {
        my ( $map, $fold, $key ) = @_;
        $key = unhex($key);
        $key =~ tr/A-Z/a-z/ if $fold;
        return each_spelling(
            $key,
            sub {
                my ( $map, $key ) = ( opened($map), @_ );
                my @all = $map->locate_all($key);
                stop('locate_all counts otherwise')
                  if @all != $map->locate_all($key);
                return point( $map->point($key) ),
                  names( scalar $map->locate($key) ), names(@all);
            }
        );
    },
    'locate-point' => sub {
        my ( $map, $point ) = @_;
        $point = unpack 'Q>', unhex($point);
        my @all = opened($map)->locate_all_point($point);
        stop('locate_point is not the first of locate_all_point')
          if opened($map)->locate_point($point) ne $all[0];
        return names(@all);
    },
    'locate-many' => sub {
        my ( $map, $keys ) = @_;
        my @keys  = unlist($keys);
        my $found = opened($map)->locate_many( \@keys );
        my $nodes = [ map { $_->name } opened($map)->nodes ];
        my $same  = join ',',
          map { $nodes->[$_] }
          @{ opened($map)->locate_many( \@keys, numbers => 1 ) };
        stop('numbers are not those of nodes') if $same ne join ',', @$found;
        return names(@$found);
    },
    'prefer' => sub {
        my ( $map, $n, $key ) = @_;
        return each_spelling( unhex($key),
            sub { names( opened($map)->prefer( $_[0], $n ) ) } );
    },
    'path' => sub {
        my ( $levels, $fold, $key ) = @_;
        return each_spelling(
            unhex($key),
            sub {
                in_hex(
                    Stead::path(
                        $_[0],
                        levels => unhex($levels),
                        fold   => $fold ? 'ascii' : 'none'
                    )
                );
            }
        );
    },
    'path-name' => sub {
        my ( $levels, $path ) = @_;
        return each_spelling(
            unhex($path),
            sub {
                unpack 'H*',
                  Stead::path_name( $_[0], levels => unhex($levels) );
            }
        );
    },
    'plan' => sub {
        my ( $old, $new, $keys ) = @_;
        my $plan  = Stead::Plan->between( opened($old), opened($new) );
        my @moves = $plan->moves;
        stop('a plan counts otherwise') if @moves != $plan->moves;
        my @texts = map {
            join ',', point( $_->first ), point( $_->last ),
              ( map { defined $_ ? in_hex($_) : '' } $_->from, $_->to ),
              $_->cause
        } @moves;
        my %number;
        for my $i ( 0 .. $#texts ) {
            stop('two moves are the same') if exists $number{ $texts[$i] };
            $number{ $texts[$i] } = $i;
        }
        my $index = sub {
            my ($move) = @_;
            return $number{
                join ',',
                point( $move->first ),
                point( $move->last ),
                ( map { defined $_ ? in_hex($_) : '' } $move->from, $move->to ),
                $move->cause
            };
        };
        my @keys     = unlist($keys);
        my @affected = map {
            join ',',
              map { $index->($_) }
              $plan->affects($_)
        } @keys;
        my $rows = sub {
            join ';', map {
                join ',',
                  map { $_ // '' }
                  @$_
            } @_;
        };
        my @wanted;
        for my $i ( 0 .. $#keys ) {
            my @of = $plan->affects( $keys[$i] );
            push @wanted, [ $i, $_->from, $_->to ] for @of;
            my $point = opened($new)->point( $keys[$i] );
            stop('affects_point disagrees with affects')
              if "@{[ map { $index->($_) } $plan->affects_point($point) ]}" ne
              "@{[ map { $index->($_) } @of ]}";
        }
        stop('affects_many disagrees with affects')
          if $rows->( @{ $plan->affects_many( \@keys ) } ) ne $rows->(@wanted);
        for my $name (qw(moved lower_bound by_hand reordered)) {
            stop("$name is not the report's")
              if $plan->$name ne $plan->report->{$name}{points};
        }
        return join "\t", number( $plan->fraction ),
          in_hex( json( $plan->report( moves => 1 ) ) ), scalar @moves, @texts,
          @affected;
    },
    'pair' => sub {
        my ( $old, $new, $state, $key ) = @_;
        my $pair = pair( $old, $new, $state );
        return each_spelling(
            unhex($key),
            sub {
                my ($key) = @_;
                return names( $pair->reads($key) ),
                  names( $pair->writes($key) ), $pair->moved($key) ? 1 : 0;
            }
        );
    },
    'pair-point' => sub {
        my ( $old, $new, $state, $point ) = @_;
        my $pair = pair( $old, $new, $state );
        $point = unpack 'Q>', unhex($point);
        return join "\t", names( $pair->reads_point($point) ),
          names( $pair->writes_point($point) ),
          $pair->moved_point($point) ? 1 : 0;
    },
    'bytes' => sub { Stead::Map->from_bytes( unhex( $_[0] ) ); return },
    'build' => sub {
        my ( $name, $fleet, $save ) = @_;
        my $map =
          Stead::Map->build( unhex($fleet), undef, name => unhex($name) );
        $map->save( unhex($save) ) if $save ne '';
        return;
    },
    'build-file' => sub { Stead::Map->build_file( unhex( $_[0] ) ); return },
);

# the status of a call, and what it returns
sub answer {
    my ( $call, @fields ) = @_;
    my $said;
    return join "\t", 'STEAD_OK', defined $said ? $said : ()
      if eval { $said = $call->(@fields); 1 };
    my $error = $@;
    stop("not a Stead::Error: $error")
      if !blessed($error) || !$error->isa('Stead::Error');
    my $line = $error->line;
    stop("the text is not the message and its place: $error")
      if "$error" ne $error->message . " at $0 line $line.\n"
      || $error->file ne $0;
    return join "\t", $error->status_name, in_hex( $error->message );
}

# three answers in one; the first opens the map, because no call only verifies
sub answer_file {
    my ($path) = map { unhex($_) } @_;
    my @ways = (
        sub { Stead::Map->open($path) },
        sub { Stead::Map->open( $path, copy => 0 ) },
        sub { Stead::Map->open( $path, copy => 1 ) }
    );
    return join "\t",
      map { my $said = answer($_); $said eq 'STEAD_OK' ? "$said\t" : $said }
      map {
        my $way = $_;
        sub { $way->(); return }
      } @ways;
}

sub million {
    my ( $what, $map, $count ) = @_;
    my $batch = 10_000;
    for ( my $from = 0 ; $from < $count ; $from += $batch ) {
        my $end  = $from + $batch < $count ? $from + $batch : $count;
        my @keys = map { "$_" } $from .. $end - 1;
        if ( $what eq 'points' ) {
            print pack 'Q>*', map { $map->point($_) } @keys;
            next;
        }
        my @lines     = map { join ',', $map->locate_all($_) } @keys;
        my $primaries = $map->locate_many( \@keys );
        for my $i ( 0 .. $#lines ) {
            stop('locate_many disagrees with locate_all')
              if $primaries->[$i] ne $lines[$i]
              && index( $lines[$i], "$primaries->[$i]," ) != 0;
        }
        my $text = join( "\n", @lines ) . "\n";
        utf8::encode($text);
        print $text;
    }
}

require B;
binmode STDIN;
binmode STDOUT;
if ( @ARGV == 3 && $ARGV[0] =~ /\A(?:lines|points)\z/ ) {
    million( $ARGV[0], Stead::Map->open( $ARGV[1] ), $ARGV[2] );
}
elsif ( @ARGV == 0 ) {
    while ( my $line = <STDIN> ) {
        chomp $line;
        my ( $name, @fields ) = split /\t/, $line, -1;
        if    ( $name eq 'file' ) { print answer_file(@fields), "\n" }
        elsif ( $requests{$name} ) {
            print answer( $requests{$name}, @fields ), "\n";
        }
        else { stop('a request that is none') }
    }
}
else {
    stop(
'usage: answer.pl | answer.pl lines MAP COUNT | answer.pl points MAP COUNT'
    );
}
close STDOUT or stop("cannot write: $!");
