package Stead::Fleet;

# Converts a fleet that is a Perl hash to JSON text, so that every rule and every message is that of
# a fleet file. Each value is on its own line of the text, and messages name the place in the hash
# instead of the line. Stead.xs calls this.

use strict;
use warnings;

use JSON::PP ();

use Stead::Error ();

our $VERSION = '0.001000';

# The keys whose values are numbers, and those whose values are true or false. Perl has no types:
# the key says what a value is.
my %is_number  = map { $_ => 1 } qw(max_slices replicas weight);
my %is_boolean = map { $_ => 1 } qw(short);

# The greatest depth of nested hashes and arrays; a fleet needs four.
my $DEEPEST = 32;

my $json = JSON::PP->new->allow_nonref->utf8;

# Returns the JSON text, and a reference to an array with the place in the hash of each line.
sub _text {
    my ( $fleet, $name ) = @_;
    local $@;
    my ( $text, @places ) = ( '', $name );
    my $value;
    my $line = sub { $text .= "\n"; push @places, $_[0] };
    $value = sub {
        my ( $given, $place, $key, $depth ) = @_;
        _wrong("$place: hashes and arrays lie too deep in each other")
          if $depth == 0;
        if ( !defined $given ) {
            _wrong("$place: is undef; leave out what is not there");
        }
        elsif ( ref $given eq 'HASH' ) {
            $text .= '{';
            my $comma = '';
            for my $name ( sort keys %$given ) {
                my $inside = $place . "{$name}";
                $text .= $comma;
                $comma = ',';
                $line->($inside);
                $text .= $json->encode("$name") . ': ';
                $value->( $given->{$name}, $inside, $name, $depth - 1 );
            }
            $text .= '}';
        }
        elsif ( ref $given eq 'ARRAY' ) {
            $text .= '[';
            for my $i ( 0 .. $#$given ) {
                my $inside = $place . "[$i]";
                $text .= ',' if $i;
                $line->($inside);
                $value->( $given->[$i], $inside, '', $depth - 1 );
            }
            $text .= ']';
        }
        elsif ( JSON::PP::is_bool($given) ) {
            $text .= $given ? 'true' : 'false';
        }
        elsif ( ref $given ) {
            _wrong(
"$place: a fleet has strings, numbers, hashes and arrays, and this is "
                  . ( ref $given ) );
        }
        else {
            my $spelled =
                $is_number{$key}  ? _number($given)
              : $is_boolean{$key} ? _boolean($given)
              :                     undef;
            $text .= defined $spelled ? $spelled : $json->encode("$given");
        }
        return;
    };

    # a closure that refers to itself would never be freed
    my $done  = eval { $value->( $fleet, "$name\->", '', $DEEPEST ); 1 };
    my $error = $@;
    undef $value;
    die $error if !$done;
    return ( $text, \@places );
}

# The text of a number; undef for a value that is not a number. Such a value goes to stead as a
# string, which stead refuses.
sub _number {
    my ($given) = @_;
    my $spelled = "$given";
    if ( _is_float($given) ) {

# the fewest digits that give this float: 0.1 is a tenth, and 0.1 + 0.2 has 17 digits
        for my $digits ( 15 .. 17 ) {
            $spelled = sprintf "%.${digits}g", $given;
            $spelled =~ tr/,/./;    # the comma of a locale
            last if $spelled == $given;
        }
    }
    return $spelled =~ /\A-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?\z/
      ? $spelled
      : undef;
}

# The JSON of a boolean. In Perl, 1 is true, and 0 and the empty string are false. The result is
# undef for any other value, as above.
sub _boolean {
    my ($given) = @_;
    return $given eq '1' ? 'true' : $given =~ /\A0?\z/ ? 'false' : undef;
}

# A message in which places in the hash replace the line numbers of the text.
sub _placed {
    my ( $message, $places, $name ) = @_;
    $message =~ s/\A\Q$name\E:([0-9]+): /_place($places, $1) . ': '/e;
    $message =~ s/\bin line ([0-9]+)/'in ' . _place($places, $1)/ge;
    return $message;
}

sub _place {
    my ( $places, $line ) = @_;
    return $line >= 1
      && $line <= @$places ? $places->[ $line - 1 ] : "line $line";
}

sub _wrong {
    my ($message) = @_;
    my $level = 0;
    $level++ while ( caller $level )[0] eq __PACKAGE__;
    my ( undef, $file, $line ) = caller $level;
    die Stead::Error::Fleet->_new( Stead::Error::STEAD_FLEET(),
        $message, $file, $line );
}

1;

__END__

=head1 NAME

Stead::Fleet - a fleet that is a hash, for Stead itself

=head1 DESCRIPTION

This module is internal. L<Stead::Map/build> describes what a fleet may be.

=cut
