package Members;

# Finds, writes and removes a member's photo, and says where her rows are. Create a Members object for
# each request: it sees the newest maps, and the state of a carry.
#
#     perl Members.pm DIRECTORY USER...      USER<TAB>photo<TAB>database

use v5.14;
use warnings;

use Encode         qw(encode_utf8);
use Errno          qw(ENOENT);
use File::Basename qw(dirname);
use File::Path     qw(make_path);
use Stead;
use Sys::Hostname qw(hostname);

# opens the maps of a directory: photos.map and shards.map
sub new {
    my ( $class, $directory ) = @_;
    my %pairs =
      map { $_ => Stead::Pair->open("$directory/$_.map") } qw(photos shards);
    return bless \%pairs, $class;
}

# the database in which to read the member's rows
sub shard {
    my ( $self, $user ) = @_;
    my ($node) = $self->{shards}->reads($user);
    return encode_utf8( $self->{shards}->attribute( $node, 'dsn' ) );
}

# the file in which to read the member's photo
sub photo {
    my ( $self, $user ) = @_;
    my ($node) = $self->{photos}->reads($user);
    return $self->file( $node, $user );
}

# the member's photo; undef if there is none
sub look {
    my ( $self, $user ) = @_;
    my $path = $self->photo($user);
    my $file;
    if ( !open $file, '<:raw', $path ) {
        return undef if $! == ENOENT;
        die "$path: $!\n";
    }
    local $/;
    return <$file> // '';
}

# Writes the photo to every place, in this order. Each is written under another name and renamed, so
# that nobody sees half of it. Whoever gets an error repeats the upload.
sub upload {
    my ( $self, $user, $photo ) = @_;
    for my $node ( $self->{photos}->writes($user) ) {
        my $path  = $self->file( $node, $user );
        my $fresh = $self->mount($node) . '/.upload-' . hostname() . "-$$";
        make_path( dirname($path) );
        open my $file, '>:raw', $fresh or die "$fresh: $!\n";
        ( print {$file} $photo and close $file and rename $fresh, $path )
          or die "$path: $!\n";
    }
}

# removes the photo from every place, in this order
sub remove {
    my ( $self, $user ) = @_;
    for my $node ( $self->{photos}->writes($user) ) {
        my $path = $self->file( $node, $user );
        unlink $path or $! == ENOENT or die "$path: $!\n";
    }
}

# The directory of a NAS. One that is not mounted looks like one without photos, so a file in it says
# whose it is.
sub mount {
    my ( $self, $node ) = @_;
    my $mount = encode_utf8( $self->{photos}->attribute( $node, 'mount' ) );
    -e "$mount/.node" or die "$mount is not mounted\n";
    return $mount;
}

# the file of the photo at a NAS
sub file {
    my ( $self, $node, $user ) = @_;
    return $self->mount($node) . '/' . Stead::path($user);
}

if ( !caller ) {
    my ( $directory, @users ) = @ARGV;
    my $members = Members->new($directory);
    say join "\t", $_, $members->photo($_), $members->shard($_) for @users;
}

1;
