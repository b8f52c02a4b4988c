package Stead::Policy;

use strict;
use warnings;

use Stead ();

our $VERSION = '0.001000';

# [name, kind, weight, node...], created by Stead.xs
sub name   { return $_[0][0] }
sub kind   { return $_[0][1] }
sub weight { return $_[0][2] }

sub nodes {
    my ($self) = @_;
    my @nodes = @$self[ 3 .. $#$self ];
    return @nodes;
}

1;

__END__

=encoding UTF-8

=head1 NAME

Stead::Policy - an ordered list of nodes that holds points together

=head1 SYNOPSIS

    use v5.14;
    use Stead;

    my $map = Stead::Map->build({
        name   => 'm',
        node   => [{ name => 'a' }, { name => 'b' }],
        policy => [{ name => 'both', kind => 'chain', nodes => ['a', 'b'] }],
        pin    => [{ key => 'frank', policy => 'both' }],
    });
    my ($policy) = grep { ($_->name // '') eq 'both' } $map->policies;
    say $policy->kind;                            # chain
    say join ' ', $policy->nodes;                 # a b

=head1 METHODS

A policy is read-only.

=head2 name

The name of the policy if the fleet names it; undef when stead chose it.

=head2 kind

The kind that the fleet gave to the policy; an empty string when it gave none. It means nothing to
stead.

=head2 weight

The weight of a policy that takes a share of its own, as an exact decimal string; otherwise undef.

=head2 nodes

The names of the nodes, primary first; in scalar context, their number.

=cut
