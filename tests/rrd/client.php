<?php

// Does what a program with php-rrd does: makes, updates, reads and draws files, and prints all
// results. RRDCACHED_ADDRESS names the server. Usage: client.php DIRECTORY START PICTURE WAY.
// DIRECTORY is put before the names and may be empty; WAY is unix or tcp. Calls that open the file
// themselves, whatever the daemon has, are made over TCP only, where no local file exists.
[, $directory, $start, $picture, $way] = $argv;

// Prints the result of a call, or its error.
function shown(string $what, $given): void
{
    $error = rrd_error();
    echo $what, ': ', json_encode($given, JSON_PARTIAL_OUTPUT_ON_ERROR | JSON_PRESERVE_ZERO_FRACTION | JSON_UNESCAPED_SLASHES);
    echo $error === false ? '' : " ERROR $error", "\n";
}

// fetch and xport return NAN, which JSON does not have
function plain($given)
{
    return is_array($given) ? array_map('plain', $given) : (is_float($given) ? sprintf('%.10e', $given) : $given);
}

foreach (['php/load.rrd', 'php/with blank.rrd'] as $turn => $name) {
    $file = $directory . $name;
    $sources = ['DS:in:GAUGE:120:U:U', 'DS:out:DERIVE:120:0:U', 'RRA:AVERAGE:0.5:1:50', 'RRA:MAX:0.5:5:20'];
    shown("create $name", rrd_create($file, ['-b', $start, '-s', '60', ...$sources]));
    shown('create again', rrd_create($file, ['--no-overwrite', '-b', $start, '-s', '60', ...$sources]));
    for ($minute = 1; $minute <= 6; $minute++) {
        $time = $start + 60 * $minute;
        shown('update', rrd_update($file, ["$time:$minute:" . 100 * $minute, ($time + 30) . ':U:' . (100 * $minute + 7)]));
    }
    if ($way === 'tcp') {
        shown('update with a template', rrd_update($file, ['-t', 'out:in', ($start + 420) . ':900:7.5']));
        shown('last', rrd_last($file));
        shown('first', rrd_first($file));
        shown('first of the second', rrd_first($file, 1));
        shown('lastupdate', rrd_lastupdate($file));
    }
    shown('update in a fraction', rrd_update($file, [($start + 480) . '.25:8:950']));
    shown('update that is late', rrd_update($file, ["$start:1:1"]));
    if ($turn === 0) {
        shown('disconnect', rrdc_disconnect()); // the next call connects again
    }
    foreach (['AVERAGE', 'MAX', 'MIN'] as $function) {
        shown("fetch $function", plain(rrd_fetch($file, [$function, '-s', $start, '-e', (string) ($start + 600)])));
    }
    $info = rrd_info($file);
    shown('info', plain(is_array($info) ? array_filter($info, fn ($key) => !str_contains($key, 'cur_row'), ARRAY_FILTER_USE_KEY) : $info));
    $quoted = str_replace(':', '\:', $file);
    $drawn = ["DEF:x=$quoted:in:AVERAGE", "DEF:y=$quoted:out:MAX"];
    shown('xport', plain(rrd_xport(['-s', $start, '-e', (string) ($start + 300), ...$drawn, 'XPORT:x:one', 'XPORT:y:two'])));
    $options = ['-s', $start, '-e', (string) ($start + 600), ...$drawn, 'LINE1:x#ff0000', 'PRINT:x:MAX:%.3lf', 'LINE1:y#00ff00'];
    shown('graph', plain(rrd_graph($picture, $options)));
}
$creator = new RRDCreator("{$directory}php/object.rrd", $start, 60);
$creator->addDataSource('value:GAUGE:120:0:100');
$creator->addArchive('AVERAGE:0.5:1:50');
shown('creator', $creator->save());
if ($way === 'tcp') {
    $updater = new RRDUpdater("{$directory}php/object.rrd"); // looks up data sources in the local file
    shown('updater', $updater->update(['value' => '5.25'], (string) ($start + 60)));
    shown('updater', $updater->update(['value' => '7'], (string) ($start + 120)));
}
shown('update of none', rrd_update("{$directory}php/none.rrd", [($start + 60) . ':1:1']));
shown('fetch of none', rrd_fetch("{$directory}php/none.rrd", ['AVERAGE']));
shown('info of none', rrd_info("{$directory}php/none.rrd"));
