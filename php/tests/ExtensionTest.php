<?php

declare(strict_types=1);

namespace Stead\Tests;

use Stead\Map;
use Stead\Library;

/**
 * The extension: it has the classes of the package, and PHP starts without libstead. Each test runs
 * separate PHP processes.
 *
 * @group extension
 */
final class ExtensionTest extends Cases
{
    private const SCRIPT = <<<'PHP'
        <?php
        declare(strict_types=1);
        try {
            if (getenv('ARGUMENT') !== false) {
                Stead\Library::load(getenv('ARGUMENT'));
            }
            echo Stead\Map::build(['name' => 'm', 'node' => [['name' => 'a']]])->locate('frank'), ' from ', Stead\Library::file(), ' ', Stead\Library::version();
        } catch (Throwable $thrown) {
            echo get_class($thrown), ' ', $thrown->getCode(), ': ', $thrown->getMessage();
        }
        PHP;

    /**
     * Returns what a script prints, and what PHP logs. Nothing but the extension is loaded.
     *
     * @param list<string> $options of php
     * @param array<string, string> $environment
     * @return array{string, string}
     */
    private function started(array $options = [], array $environment = [], ?string $script = null): array
    {
        file_put_contents($this->path('script.php'), $script ?? self::SCRIPT);
        $options = ['-n', '-d', 'display_errors=0', '-d', 'log_errors=1', ...self::extension(), ...$options];
        $process = proc_open([PHP_BINARY, ...$options, $this->path('script.php')], [1 => ['pipe', 'w'], 2 => ['pipe', 'w']], $pipes, null, $environment);
        self::assertIsResource($process);
        [$said, $logged] = [(string) stream_get_contents($pipes[1]), (string) stream_get_contents($pipes[2])];
        self::assertSame(0, proc_close($process), $said . $logged);
        return [$said, $logged];
    }

    /** Makes a library that has these functions. */
    private function compiled(string $source): string
    {
        file_put_contents($this->path('other.c'), $source);
        $file = $this->path('libother' . strlen($source) . '.so');
        exec(implode(' ', array_map('escapeshellarg', ['cc', '-shared', '-fPIC', '-o', $file, $this->path('other.c')])), $output, $code);
        self::assertSame(0, $code);
        return $file;
    }

    public function testItIsWhatTheTestsRun(): void
    {
        self::assertSame(['extension', true], [Library::backend(), (new \ReflectionClass(Map::class))->isInternal()]);
        // the package, whose autoloader is there, has added nothing
        self::assertFalse(class_exists('Stead\Ffi'));
    }

    public function testBothHaveTheSameClasses(): void
    {
        $surface = function (array $options): array {
            exec(implode(' ', array_map('escapeshellarg', [PHP_BINARY, ...$options, __DIR__ . '/surface.php'])), $lines, $code);
            self::assertSame(0, $code);
            return json_decode(implode("\n", $lines), true, 512, JSON_THROW_ON_ERROR);
        };
        [$extension, $package] = [$surface(self::extension()), $surface([])];
        self::assertSame(['extension', 'ffi'], [$extension['backend'], $package['backend']]);
        self::assertGreaterThan(30, count($package['classes']));
        self::assertArrayHasKey('locate', $package['classes'][Map::class]['methods']);
        self::assertArrayNotHasKey('pointer', $package['classes'][Map::class]['methods']);
        foreach ($package['classes'] as $name => $class) {
            self::assertSame($class, $extension['classes'][$name], $name);
        }
        // the extension has no class besides
        $own = array_map('strtolower', array_keys($package['classes']));
        $have = array_filter(get_declared_classes(), static fn (string $class): bool => str_starts_with($class, 'Stead\\') && (new \ReflectionClass($class))->isInternal());
        self::assertSame([], array_values(array_diff(array_map('strtolower', $have), $own)));
    }

    public function testTheDeclarationsAreThoseOfTheStub(): void
    {
        $folder = dirname(__DIR__) . '/ext';
        preg_match('/Stub hash: ([0-9a-f]{40})/', (string) file_get_contents("$folder/stead_arginfo.h"), $found);
        self::assertSame(sha1_file("$folder/stead.stub.php"), $found[1], 'run scripts/php-extension --arginfo');
    }

    public function testWhereTheLibraryIsFound(): void
    {
        $library = (string) getenv('STEAD_LIBRARY');
        self::assertStringStartsWith("a from $library ", $this->started([], ['STEAD_LIBRARY' => $library])[0]);
        self::assertStringStartsWith("a from $library ", $this->started(['-d', "stead.library=$library"])[0]);
        // the environment takes precedence, as without the extension
        self::assertStringStartsWith("a from $library ", $this->started(['-d', 'stead.library=/none'], ['STEAD_LIBRARY' => $library])[0]);
        self::assertStringStartsWith("a from $library ", $this->started([], ['STEAD_LIBRARY' => $library, 'ARGUMENT' => $library])[0]);
        mkdir($this->path('system'));
        symlink($library, $this->path('system/libstead.so.1'));
        self::assertStringStartsWith('a from libstead.so.1 ', $this->started([], ['LD_LIBRARY_PATH' => $this->path('system')])[0]);
        $late = $this->started([], ['STEAD_LIBRARY' => $library, 'ARGUMENT' => '/other.so'])[0];
        self::assertStringStartsWith("Stead\Exception\LibraryException 0: libstead is loaded already, $library", $late);
        self::assertStringContainsString('stead.library = /other.so', $late);
    }

    public function testPhpStartsWithoutTheLibrary(): void
    {
        $older = $this->compiled('int stead_abi(void) { return 1; }');
        $newer = $this->compiled('int stead_abi(void) { return 7; } ');
        $none = $this->compiled('int f(void) { return 1; }  ');
        $wrong = [
            '/none.so' => ["/none.so, the environment's STEAD_LIBRARY, cannot be loaded: there is no such file"],
            '/tmp' => ["/tmp, the environment's STEAD_LIBRARY, cannot be loaded: it is a directory"],
            __FILE__ => [__FILE__, 'cannot be loaded', 'for this processor'],
            $older => ["$older is not libstead, or an older one", 'of one version'],
            $newer => ["$newer has the binary interface 7, and this extension needs 1"],
            $none => ["$none is not libstead", 'stead_abi'],
        ];
        foreach ($wrong as $file => $words) {
            [$said, $logged] = $this->started([], ['STEAD_LIBRARY' => $file]);
            self::assertStringContainsString('PHP Warning:  PHP Startup: ', $logged);
            self::assertStringStartsWith('Stead\Exception\LibraryException 0: ', $said);
            self::assertStringNotContainsString("\n", $said);
            foreach ($words as $word) {
                self::assertStringContainsString($word, $said);
                self::assertStringContainsString($word, $logged);
            }
        }
        [$said, $logged] = $this->started(['-d', 'stead.library=/none.so']);
        self::assertStringContainsString("/none.so, php.ini's stead.library, cannot be loaded", $said . $logged);
        $each = <<<'PHP'
            <?php
            foreach ([fn () => Stead\Map::open('x'), fn () => Stead\Map::openUncached('x'), fn () => Stead\Map::fromBytes('x'), fn () => Stead\Map::build('x'),
                fn () => Stead\Map::buildFile('x'), fn () => Stead\Map::peek('x'), fn () => Stead\Path::of('x'), fn () => Stead\Map::apply('x', 'y'), fn () => Stead\Map::applyFile('x', 'y'),
                fn () => Stead\Map::history('x'), fn () => Stead\Map::rollback('x', 1), fn () => Stead\Map::openEpoch('x', 1), fn () => Stead\Path::name('x'), fn () => Stead\Path::survey([]),
                fn () => Stead\Library::load(), fn () => Stead\Library::file(), fn () => Stead\Library::version()] as $call) {
                try {
                    $call();
                } catch (Stead\Exception\LibraryException $exception) {
                    echo $exception->status === null && $exception->errno === 0 ? 'x' : '!';
                }
            }
            echo Stead\Library::backend(), Stead\Point::hex(-1), Stead\Fold::Ascii->of('A');
            PHP;
        self::assertSame('xxxxxxxxxxxxxxxxxextensionffffffffffffffffa', $this->started([], ['STEAD_LIBRARY' => '/none.so'], $each)[0]);
    }

    public function testANodeThatTheMapDoesNotHaveIsAFaultAndNoName(): void
    {
        $library = (string) getenv('STEAD_LIBRARY');
        $linked = $this->path('linked');
        mkdir($linked);
        symlink($library, "$linked/libstead.so.1");
        foreach ([-1, 65536, 0] as $node) {
            file_put_contents($this->path('other.c'), "int stead_map_node_of(const void *m, const void *k, unsigned long n) { return $node; }");
            $file = $this->path("libfaulty$node.so");
            exec(implode(' ', array_map('escapeshellarg', ['cc', '-shared', '-fPIC', '-o', $file, $this->path('other.c'), '-Wl,--no-as-needed', $library])), $output, $code);
            self::assertSame(0, $code);
            $said = $this->started([], ['STEAD_LIBRARY' => $file, 'LD_LIBRARY_PATH' => $linked])[0];
            $wanted = $node === 0 ? "a from $file " : "Stead\Exception\InternalException 15: libstead answered with node $node, which the map does not have";
            self::assertStringStartsWith($wanted, $said);
        }
    }
}
