<?php

declare(strict_types=1);

require __DIR__ . '/../autoload.php';
require __DIR__ . '/Cases.php';

// a warning of PHP is a failure in every version of phpunit
error_reporting(E_ALL);
set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});
