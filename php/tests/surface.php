<?php

declare(strict_types=1);

// Prints the public surface of stead as JSON, as reflection shows it: classes with their parents and
// interfaces, cases, properties, and methods with parameters, types and defaults. What is marked
// @internal is left out. It is the same for the package and for the extension.
//
//     php surface.php                                 the package
//     php -d extension=target/php/stead.so surface.php    the extension

require __DIR__ . '/../autoload.php';

/** The names of the public classes: those of src whose comment does not say that they are internal. */
function names(): array
{
    $names = [];
    $source = dirname(__DIR__) . '/src';
    foreach ([...(array) glob("$source/*.php"), ...(array) glob("$source/*/*.php")] as $file) {
        preg_match('/^(?:\/\*\*.*?\*\/\n)(?=(?:final )?(?:class|enum) )/ms', (string) file_get_contents((string) $file), $comment);
        if (!str_contains($comment[0] ?? '', '@internal')) {
            $names[] = 'Stead\\' . strtr(substr((string) $file, strlen($source) + 1, -4), '/', '\\');
        }
    }
    return $names;
}

/** The names of the methods that are marked @internal, as "Class::method". */
function internal(): array
{
    $found = [];
    foreach (names() as $class) {
        $file = dirname(__DIR__) . '/src/' . strtr(substr($class, strlen('Stead\\')), '\\', '/') . '.php';
        preg_match_all('/\/\*\*((?:(?!\*\/).)*)\*\/\s+(?:final |public |static )*function (\w+)/s', (string) file_get_contents($file), $methods, PREG_SET_ORDER);
        foreach ($methods as [, $comment, $method]) {
            if (str_contains($comment, '@internal')) {
                $found[] = "$class::$method";
            }
        }
    }
    return $found;
}

function type(?ReflectionType $type): string
{
    return (string) $type;
}

/** @return array<string, mixed> */
function method(ReflectionMethod $method): array
{
    $parameters = [];
    foreach ($method->getParameters() as $parameter) {
        $parameters[$parameter->getName()] = [
            'type' => type($parameter->getType()),
            'default' => $parameter->isDefaultValueAvailable() ? var_export($parameter->getDefaultValue(), true) : null,
        ];
    }
    return ['static' => $method->isStatic(), 'final' => $method->isFinal(), 'parameters' => $parameters, 'returns' => type($method->getReturnType())];
}

$surface = [];
foreach (names() as $name) {
    $class = new ReflectionClass($name);
    $methods = $properties = [];
    foreach ($class->getMethods(ReflectionMethod::IS_PUBLIC) as $method) {
        if ($method->class === $name && !in_array("$name::$method->name", internal(), true)) {
            $methods[$method->name] = method($method);
        }
    }
    foreach ($class->getProperties(ReflectionProperty::IS_PUBLIC) as $property) {
        if ($property->class === $name) {
            $properties[$property->name] = ['type' => type($property->getType()), 'readonly' => $property->isReadOnly()];
        }
    }
    ksort($methods);
    $interfaces = $class->getInterfaceNames();
    sort($interfaces);
    $surface[$name] = [
        'final' => $class->isFinal(),
        'instantiable' => $class->isInstantiable(),
        'parent' => $class->getParentClass() ? $class->getParentClass()->name : null,
        'interfaces' => $interfaces,
        'cases' => $class->isEnum() ? array_map(static fn (BackedEnum $case): array => [$case->name, $case->value], $name::cases()) : [],
        'properties' => $properties,
        'methods' => $methods,
    ];
}
ksort($surface);
echo json_encode(['backend' => Stead\Library::backend(), 'classes' => $surface], JSON_PRETTY_PRINT | JSON_THROW_ON_ERROR), "\n";
