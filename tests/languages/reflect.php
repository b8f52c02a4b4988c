<?php

// Prints the public surface of the package, a line each:
//
//     name     Map::locate
//     default  Map::open     copy  false
//     error    NotFoundException  8

declare(strict_types=1);

require __DIR__ . '/../../php/autoload.php';

$sources = __DIR__ . '/../../php/src';
foreach (new RecursiveIteratorIterator(new RecursiveDirectoryIterator($sources, FilesystemIterator::SKIP_DOTS)) as $file) {
    if ($file->getExtension() !== 'php') {
        continue;
    }
    $class = 'Stead\\' . strtr(substr($file->getPathname(), strlen($sources) + 1, -4), '/', '\\');
    if (!class_exists($class) && !interface_exists($class) && !enum_exists($class)) {
        continue;
    }
    $found = new ReflectionClass($class);
    if (str_contains((string) $found->getDocComment(), '@internal')) {
        continue;
    }
    $short = substr($class, strlen('Stead\\'));
    if ($found->isSubclassOf(Throwable::class)) {
        if (!$found->isAbstract() && str_starts_with($short, 'Exception\\')) {
            $status = Stead\Status::tryFrom(0);
            foreach (Stead\Status::cases() as $case) {
                if (get_class(Stead\Exception::of($case, '', $case === Stead\Status::Io ? 5 : 0)) === $class) {
                    printf("error\t%s\t%d\n", $found->getShortName(), $case->value);
                }
            }
        }
        continue;
    }
    foreach ($found->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
        $internal = str_contains((string) $method->getDocComment(), '@internal');
        if ($method->class !== $class || $internal || str_starts_with($method->name, '__') || $found->isEnum() && $method->isInternal()) {
            continue;
        }
        printf("name\t%s::%s\n", $short, $method->name);
        foreach ($method->getParameters() as $parameter) {
            if ($parameter->isOptional() && !$parameter->isVariadic()) {
                $default = $parameter->getDefaultValue();
                $text = $default instanceof UnitEnum ? $default->name : var_export($default, true);
                printf("default\t%s::%s\t%s\t%s\n", $short, $method->name, $parameter->name, strtolower($text));
            }
        }
    }
    foreach ($found->getProperties(ReflectionProperty::IS_PUBLIC) as $property) {
        if (!$property->isStatic() && !$found->isEnum()) {
            printf("name\t%s::$%s\n", $short, $property->name);
        }
    }
}
