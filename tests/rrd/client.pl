# Does what a program with RRDs does: makes, updates, reads and draws files, and prints all results.
# RRDCACHED_ADDRESS names the server. Usage: client.pl DIRECTORY START PICTURE WAY. DIRECTORY is put
# before the names and may be empty; WAY is unix or tcp. Calls that open the file themselves,
# whatever the daemon has, are made over TCP only, where no local file exists.
use strict;
use warnings;
use RRDs;

my ( $directory, $start, $picture, $way ) = @ARGV;

# Prints the result of a call, or its error.
sub shown {
    my ( $what, @given ) = @_;
    my $error = RRDs::error();
    if ( defined $error ) {
        print "$what: ERROR $error\n";
        return;
    }
    print "$what: ", join( ' ', map { defined $_ ? $_ : 'undef' } @given ),
      "\n";
}

for my $name ( 'perl/load.rrd', 'perl/with blank.rrd' ) {
    my $file    = "$directory$name";
    my @sources = (
        'DS:in:GAUGE:120:U:U',  'DS:out:DERIVE:120:0:U',
        'RRA:AVERAGE:0.5:1:50', 'RRA:MAX:0.5:5:20'
    );
    shown( "create $name",
        RRDs::create( $file, '-b', $start, '-s', 60, @sources ) );
    shown(
        "create again",
        RRDs::create(
            $file, '--no-overwrite', '-b', $start, '-s', 60, @sources
        )
    );
    for my $minute ( 1 .. 6 ) {
        my $time = $start + 60 * $minute;
        shown(
            "update",
            RRDs::update(
                $file,
                "$time:$minute:" . 100 * $minute,
                ( $time + 30 ) . ':U:' . ( 100 * $minute + 7 )
            )
        );
    }
    shown( "update with a template",
        RRDs::update( $file, '-t', 'out:in', ( $start + 420 ) . ':900:7.5' ) )
      if $way eq 'tcp';
    shown( "update in a fraction",
        RRDs::update( $file, ( $start + 480 ) . '.25:8:950' ) );
    shown( "update that is late",   RRDs::update( $file, "$start:1:1" ) );
    shown( "update without values", RRDs::update($file) );
    for my $function ( 'AVERAGE', 'MAX', 'MIN' ) {
        my ( $first, $step, $names, $rows ) =
          RRDs::fetch( $file, $function, '-s', $start, '-e', $start + 600 );
        shown(
            "fetch $function",
            $first, $step,
            $names ? @$names : (),
            map {
                map { defined $_ ? $_ : 'U' }
                  @$_
            } @{ $rows || [] }
        );
    }
    my $info = RRDs::info($file);
    shown( "info",
        map { "$_=" . ( $$info{$_} // 'undef' ) }
        grep { !/cur_row/ } sort keys %{ $info || {} } );
    shown( "last",                RRDs::last($file) );
    shown( "first",               RRDs::first($file) );
    shown( "first of the second", RRDs::first( $file, '--rraindex', 1 ) );
    shown( "flushcached",         RRDs::flushcached($file) );
    ( my $quoted = $file ) =~ s/:/\\:/g;
    my ( $from, $to, $step, $columns, $legend, $rows ) =
      RRDs::xport( '-s', $start, '-e', $start + 300,
        "DEF:x=$quoted:in:AVERAGE", "CDEF:y=x,2,*", 'XPORT:x:one',
        'XPORT:y:two' );
    shown(
        "xport", $from, $to, $step, $columns,
        @{ $legend || [] },
        map {
            map { defined $_ ? $_ : 'U' }
              @$_
        } @{ $rows || [] }
    );
    my ( $lines, $width, $height ) = RRDs::graph(
        $picture,                '-s',
        $start,                  '-e',
        $start + 600,            "DEF:x=$quoted:in:AVERAGE",
        "DEF:y=$quoted:out:MAX", 'LINE1:x#ff0000',
        'PRINT:x:MAX:%.3lf',     'LINE1:y#00ff00'
    );
    shown( "graph", $lines ? @$lines : (), $width, $height );
}
shown( "list",                sort @{ RRDs::list('/')     || [] } );
shown( "list of a directory", sort @{ RRDs::list('/perl') || [] } );
shown( "update of none",
    RRDs::update( "${directory}perl/none.rrd", ( $start + 60 ) . ':1:1' ) );
shown( "fetch of none", RRDs::fetch( "${directory}perl/none.rrd", 'AVERAGE' ) );
shown( "last of none",  RRDs::last("${directory}perl/none.rrd") );
shown( "info of none",  RRDs::info("${directory}perl/none.rrd") );
