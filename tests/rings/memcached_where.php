<?php

// Reads a task as JSON from standard input and prints where php-memcached places each key, one
// HOST:PORT a line. `keys` are in hex. `options` are pairs of constant and value, set before the
// servers are added. `servers` is the argument of addServers.
$task = json_decode(stream_get_contents(STDIN), true);
$memcached = new Memcached();
foreach ($task['options'] as [$option, $value]) {
    $set = $memcached->setOption(constant("Memcached::$option"), is_string($value) ? constant("Memcached::$value") : $value);
    $set || exit("setOption($option) failed: " . $memcached->getResultMessage());
}
$memcached->addServers($task['servers']) || exit('addServers failed');
foreach ($task['keys'] as $key) {
    $server = $memcached->getServerByKey(hex2bin($key));
    echo $server ? "$server[host]:$server[port]" : 'none: ' . $memcached->getResultMessage(), "\n";
}
