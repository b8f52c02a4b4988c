<?php

declare(strict_types=1);

// For php.ini: opcache.preload=/path/to/stead/php/preload/preload.php. Preloaded classes may use
// FFI if ffi.enable=preload. The extension has these classes already.
if (extension_loaded('stead')) {
    return;
}
foreach ([...glob(dirname(__DIR__) . '/src/*.php'), ...glob(dirname(__DIR__) . '/src/*/*.php')] as $file) {
    opcache_compile_file($file);
}
