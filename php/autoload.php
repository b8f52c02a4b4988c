<?php

declare(strict_types=1);

// For programs without composer: require '/path/to/stead/php/autoload.php'; the extension has the same
// classes, and then there is nothing to load.
if (extension_loaded('stead')) {
    return;
}
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/src/' . str_replace('\\', '/', substr($class, 6)) . '.php';
    if (str_starts_with($class, 'Stead\\') && is_file($file)) {
        require $file;
    }
});
