# A site's members, on any number of PostgreSQL shards and directories: a PSGI application, run by
# `starman members.psgi`.
#
#     GET, PUT, DELETE /members/KEY          what a member says about herself
#     GET, PUT         /members/KEY/photo    the photo; it is deleted with the member
#
# The map says where a member lives. The attributes of a node are `shard`, a connection string of
# PostgreSQL, and `photos`, a directory. Each request opens the pair of maps, and so does the right
# thing before, while and after members are carried elsewhere (docs/carry.md).

package Member;

use v5.14;
use warnings;

use DBI;
use Encode         qw(encode_utf8);
use Errno          qw(ENOENT);
use File::Basename qw(dirname);
use File::Path     qw(make_path);
use Stead;
use Sys::Hostname qw(hostname);

my $map = $ENV{STEAD_MAP} || 'members.map';

# a member, for one request; the pair is opened once, and used to the end
sub new {
    my ( $class, $key ) = @_;
    return bless { key => $key, pair => Stead::Pair->open($map) }, $class;
}

# ---- where to read, and where to write

# Returns what the first node that answers has, also when that is undef. Only a node that does not
# answer at all is passed over: a member that is not there may have been deleted a moment ago, and may
# still stand at the next node. A connection that broke says nothing about the node, so a new one is
# tried.
sub first {
    my ( $self, $look ) = @_;
    my $failure;
    for my $node ( $self->{pair}->reads( $self->{key} ) ) {
        for ( 1 .. 2 ) {
            my $found;
            return $found if eval { $found = $look->($node); 1 };
            $failure = $@;
            delete $self->{databases}{$node};
        }
    }
    die "no node answers: $failure";
}

# Writes at every node of `writes`, one after the other, in that order. If one fails, the request
# fails, and is to be repeated: so a write must be one that does no harm the second time.
sub everywhere {
    my ( $self, $write ) = @_;
    my @nodes = $self->{pair}->writes( $self->{key} );
    return if eval {
        $self->lock(@nodes);
        for my $node (@nodes) {
            $write->($node);
            $self->database($node)->commit;
        }
        1;
    };
    my $failure = $@;

    # which rolls back, and releases the lock
    eval { $_->disconnect } for values %{ $self->{databases} };
    die "it was not written everywhere: $failure";
}

# Keeps other writers of this member away, on all hosts, until the end of the transactions. Hosts
# whose carry is one state apart have a node in common. The nodes are locked in the order of their
# names, so that no two writers wait for each other.
sub lock {
    my ( $self, @nodes ) = @_;
    for my $node ( sort @nodes ) {
        $self->database($node)->begin_work;
        $self->ask( $node,
            'SELECT pg_advisory_xact_lock(hashtextextended(?, 0))',
            $self->{key} );
    }
}

# ---- the row

# what the member says about herself; undef if there is no member
sub about {
    my ($self) = @_;
    return $self->first(
        sub {
            my ($node) = @_;
            my ($row) =
              $self->ask( $node, 'SELECT about FROM members WHERE member = ?',
                $self->{key} )->fetchrow_array;
            return $row;
        }
    );
}

# Creates or changes the member. It must not matter whether the row is there: the other node may have
# got it from the carrier.
sub change {
    my ( $self, $about ) = @_;
    $self->everywhere(
        sub {
            $self->ask(
                $_[0],
                'INSERT INTO members VALUES (?, ?) '
                  . 'ON CONFLICT (member) DO UPDATE SET about = EXCLUDED.about',
                $self->{key},
                $about
            );
        }
    );
}

# deletes the row and the photo
sub delete {
    my ($self) = @_;
    $self->everywhere(
        sub {
            my ($node) = @_;
            $self->ask( $node, 'DELETE FROM members WHERE member = ?',
                $self->{key} );
            my $file = $self->file($node);
            unlink $file or $! == ENOENT or die "$file: $!\n";
        }
    );
}

# ---- the photo

# the bytes of the photo; undef if there is none
sub photo {
    my ($self) = @_;
    return $self->first(
        sub {
            my $path = $self->file( $_[0] );
            my $file;
            if ( !open $file, '<:raw', $path ) {
                return undef if $! == ENOENT;
                die "$path: $!\n";
            }
            local $/;
            return <$file> // '';
        }
    );
}

# Writes the photo under another name, and renames it to its place: then no reader, and no carrier,
# sees half of it.
sub put_photo {
    my ( $self, $photo ) = @_;
    $self->everywhere(
        sub {
            my ($node) = @_;
            my $path   = $self->file($node);
            my $fresh  = $self->root($node) . '/.upload-' . hostname() . "-$$";
            make_path( dirname($path) );
            open my $file, '>:raw', $fresh or die "$fresh: $!\n";
            print {$file} $photo or die "$fresh: $!\n";
            close $file          or die "$fresh: $!\n";
            rename $fresh, $path or die "$path: $!\n";
        }
    );
}

# ---- the parts of a node

# A connection to a node's shard. DBI keeps it from request to request, and looks whether it is still
# alive.
sub database {
    my ( $self, $node ) = @_;

    # the carrier holds a row for milliseconds; whoever waits longer gives up
    return $self->{databases}{$node} //= DBI->connect_cached(
        'dbi:Pg:'
          . encode_utf8( $self->{pair}->attribute( $node, 'shard' ) )
          . q{ options='-c lock_timeout=5s'},
        undef, undef,

        # texts are bytes, as they come and go
        {
            RaiseError     => 1,
            PrintError     => 0,
            AutoCommit     => 1,
            pg_enable_utf8 => 0
        }
    );
}

sub ask {
    my ( $self, $node, $statement, @values ) = @_;
    my $asked = $self->database($node)->prepare_cached( $statement, {}, 3 );
    $asked->execute(@values);
    return $asked;
}

# The directory of a node. One that is not mounted looks like one without photos, so a file in it says
# whose it is.
sub root {
    my ( $self, $node ) = @_;
    my $root = encode_utf8( $self->{pair}->attribute( $node, 'photos' ) );
    -e "$root/.node" or die "$root is not mounted\n";
    return $root;
}

# the path of the photo at a node
sub file {
    my ( $self, $node ) = @_;
    return $self->root($node) . '/' . Stead::path( $self->{key}, levels => 64 );
}

package main;

use v5.14;
use warnings;

my %verbs = (
    'GET '      => sub { $_[0]->about },
    'PUT '      => sub { $_[0]->change( $_[1] ); '' },
    'DELETE '   => sub { $_[0]->delete;          '' },
    'GET photo' => sub { $_[0]->photo },
    'PUT photo' => sub { $_[0]->put_photo( $_[1] ); '' },
);

sub {
    my ($env) = @_;

    # PSGI passes the path as bytes, and a key is bytes
    my ( $key, $part ) = $env->{PATH_INFO} =~ m{\A/members/([^/]+)/?(.*)\z}s;
    my $verb = $verbs{ "$env->{REQUEST_METHOD} " . ( $part // '' ) };
    my ( $status, $found, @headers ) = ( 404, "there is no such thing\n" );
    if ( defined $key && $verb ) {
        my $body = '';
        if ( my $length = $env->{CONTENT_LENGTH} ) {
            $env->{'psgi.input'}->read( $body, $length );
        }
        my $done = eval {
            my $member = Member->new($key);
            my $pair   = $member->{pair};
            push @headers, 'X-Map',
              join ' ', $pair->new_map->epoch, $pair->state // 'closed';
            my $answer = $verb->( $member, $body );
            ( $status, $found ) = ( 200, $answer ) if defined $answer;
            1;
        };
        if ( !$done ) {

            # nothing is wrong with the request: it may be sent again
            ( $status, $found ) = ( 503, "$@" );
            push @headers, 'Retry-After', 1;
        }
    }
    return [ $status, [ @headers, 'Content-Length', length $found ], [$found] ];
};
