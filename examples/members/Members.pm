package Members;

# Finds a member's photo and rows. Create a Members object for each request: it costs a stat or two,
# and sees the newest maps.
#
#     perl Members.pm DIRECTORY USER...      USER<TAB>photo<TAB>database

use v5.14;
use warnings;

use Encode qw(encode_utf8);
use Errno  qw(ENOENT);
use Stead;

# opens the maps of a directory: photos.map, shards.map and, while files move, photos.map.before
sub new {
    my ( $class, $directory ) = @_;
    return bless( { directory => $directory }, $class )->_open;
}

# the database that has the member's rows
sub shard {
    my ( $self, $user ) = @_;
    my $shards = Stead::Map->open("$self->{directory}/shards.map");
    return encode_utf8( $shards->attribute( $shards->locate($user), 'dsn' ) );
}

# the file where the member's photo belongs; an upload is written under a temporary name, then
# renamed to this one
sub photo {
    my ( $self, $user ) = @_;
    return _place( $self->{now}, $user );
}

# the files in which to look for the photo, in this order; only one, unless the photo moves
sub places {
    my ( $self, $user ) = @_;
    my ( $new,  $old )  = map { _place( $_, $user ) } @$self{qw(now before)};
    return $new eq $old ? ($new) : ( $new, $old, $new );
}

# the member's photo; undef if there is none
sub look {
    my ( $self, $user ) = @_;
    while (1) {
        for my $path ( $self->places($user) ) {
            my $photo = slurp($path);
            return $photo if defined $photo;
        }

# a request that began before the move looks only in the old place; a photo is missing only if it is
# missing under the newest maps
        my $digests = join '', map { $_->digest } @$self{qw(now before)};
        $self->_open;
        return undef
          if $digests eq join '', map { $_->digest } @$self{qw(now before)};
    }
}

# the bytes of a file; undef if it does not exist
sub slurp {
    my ($path) = @_;
    my $file;
    if ( !open $file, '<:raw', $path ) {
        return undef if $! == ENOENT;
        die "$path: $!\n";
    }
    local $/;
    return <$file> // '';
}

sub _open {
    my ($self) = @_;
    $self->{now} = Stead::Map->open("$self->{directory}/photos.map");
    $self->{before} =
      eval { Stead::Map->open("$self->{directory}/photos.map.before") };
    if ( !$self->{before} ) {
        die $@ if !ref $@ || !$@->isa('Stead::Error::NotFound');
        $self->{before} = $self->{now};
    }
    return $self;
}

# the file of a member's photo, under one map
sub _place {
    my ( $map, $user ) = @_;
    my $mount = $map->attribute( $map->locate($user), 'mount' );
    return encode_utf8($mount) . '/' . Stead::path($user);
}

if ( !caller ) {
    my ( $directory, @users ) = @ARGV;
    my $members = Members->new($directory);
    say join "\t", $_, $members->photo($_), $members->shard($_) for @users;
}

1;
