# Prints the public subs of the modules, a line each:
#
#     name    Map->locate
#     status  STEAD_NOT_FOUND  8

use strict;
use warnings;

use B ();
use Stead;

for my $package (
    qw(Stead Stead::Map Stead::Pair Stead::Plan Stead::Node Stead::Policy Stead::Slice Stead::Move Stead::Affected)
  )
{
    no strict 'refs';
    for my $name ( sort keys %{"${package}::"} ) {
        next
          if $name !~ /^[a-z]\w*$/
          || $name eq 'bootstrap'
          || !defined &{"${package}::$name"};

        # what a module imported belongs to another package
        next
          if B::svref_2object( \&{"${package}::$name"} )->GV->STASH->NAME ne
          $package;
        my ($short) = $package =~ /^Stead::(\w+)$/;
        print "name\t", ( defined $short ? "$short->" : '' ), "$name\n";
    }
}

{
    no strict 'refs';
    for my $name ( sort grep { /^STEAD_/ } keys %Stead::Error:: ) {
        print "status\t$name\t", &{"Stead::Error::$name"}(), "\n";
    }
}
