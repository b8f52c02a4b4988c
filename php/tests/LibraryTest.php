<?php

declare(strict_types=1);

namespace Stead\Tests;

/**
 * How libstead is found through FFI, and the message when it cannot be used. Each test runs a separate
 * PHP process.
 *
 * @group ffi
 */
final class LibraryTest extends Cases
{
    /** Prints the place of the library and an answer, or the exception. */
    private const SCRIPT = <<<'PHP'
        <?php
        declare(strict_types=1);
        require getenv('PACKAGE') . '/autoload.php';
        try {
            if (getenv('ARGUMENT') !== false) {
                Stead\Library::load(getenv('ARGUMENT') === 'empty' ? '' : getenv('ARGUMENT'));
            }
            $map = Stead\Map::build(['name' => 'm', 'node' => [['name' => 'a']]]);
            echo $map->locate('frank'), ' from ', Stead\Library::file(), ' ', Stead\Library::version();
        } catch (Throwable $thrown) {
            echo get_class($thrown), ' ', $thrown->getCode(), ': ', $thrown->getMessage();
        }
        PHP;

    private string $package;
    private string $library;

    protected function setUp(): void
    {
        $this->library = (string) getenv('STEAD_LIBRARY');
        self::assertFileExists($this->library, 'php/tests/run.py says where the library is');
        // a package without a library beside it, as composer installs it
        $this->package = $this->path('vendor/stead/stead');
        mkdir($this->package, 0777, true);
        $here = dirname(__DIR__);
        foreach (['autoload.php', 'src/*.*', 'src/*/*.php', 'preload/*'] as $part) {
            foreach ((array) glob("$here/$part") as $file) {
                $copy = $this->package . substr((string) $file, strlen($here));
                is_dir(dirname($copy)) || mkdir(dirname($copy), 0777, true);
                copy((string) $file, $copy);
            }
        }
        file_put_contents($this->path('script.php'), self::SCRIPT);
    }

    /**
     * Returns what the script prints.
     *
     * @param list<string> $options of php
     * @param array<string, string> $environment
     */
    private function started(array $options = [], array $environment = [], ?string $package = null): string
    {
        $environment += ['PACKAGE' => $package ?? $this->package, 'PATH' => (string) getenv('PATH')];
        $files = [1 => ['pipe', 'w'], 2 => ['redirect', 1]];
        $process = proc_open([PHP_BINARY, ...$options, $this->path('script.php')], $files, $pipes, null, $environment);
        self::assertIsResource($process);
        $said = (string) stream_get_contents($pipes[1]);
        self::assertSame(0, proc_close($process), $said);
        return $said;
    }

    /** Asserts that the output says that no library can be used, and contains these words. */
    private static function assertRefused(string $said, string ...$words): void
    {
        self::assertStringStartsWith('Stead\Exception\LibraryException 0: ', $said);
        self::assertStringNotContainsString("\n", $said);
        foreach ($words as $word) {
            self::assertStringContainsString($word, $said);
        }
    }

    /** Makes a directory that has the library under its soname. */
    private function linked(): string
    {
        is_dir($this->path('linked')) || mkdir($this->path('linked'));
        is_link($this->path('linked/libstead.so.1')) || symlink($this->library, $this->path('linked/libstead.so.1'));
        return $this->path('linked');
    }

    /** Makes a library that has these functions, and those of another library. */
    private function compiled(string $source, string ...$other): string
    {
        file_put_contents($this->path('other.c'), $source);
        $file = $this->path('libother' . strlen($source) . '.so');
        exec(implode(' ', array_map('escapeshellarg', ['cc', '-shared', '-fPIC', '-o', $file, $this->path('other.c'), ...$other])), $output, $code);
        self::assertSame(0, $code);
        return $file;
    }

    public function testTheFilesThatAreNamed(): void
    {
        $found = '/^a from ' . preg_quote($this->library, '/') . ' \d+\.\d+\.\d+$/';
        self::assertMatchesRegularExpression($found, $this->started([], ['ARGUMENT' => $this->library]));
        self::assertMatchesRegularExpression($found, $this->started([], ['STEAD_LIBRARY' => $this->library]));
        self::assertMatchesRegularExpression($found, $this->started(['-d', "stead.library=$this->library"]));
        // the argument takes precedence over the environment, and the environment over php.ini
        self::assertMatchesRegularExpression($found, $this->started([], ['ARGUMENT' => $this->library, 'STEAD_LIBRARY' => '/none']));
        self::assertMatchesRegularExpression($found, $this->started(['-d', 'stead.library=/none'], ['STEAD_LIBRARY' => $this->library]));
    }

    public function testTheFilesThatAreFound(): void
    {
        mkdir("$this->package/lib");
        symlink($this->library, "$this->package/lib/libstead.so.1");
        self::assertStringStartsWith("a from $this->package/lib/libstead.so.1 ", $this->started());
        unlink("$this->package/lib/libstead.so.1");
        mkdir($this->path('system'));
        symlink($this->library, $this->path('system/libstead.so.1'));
        self::assertStringStartsWith('a from libstead.so.1 ', $this->started([], ['LD_LIBRARY_PATH' => $this->path('system')]));
        $nowhere = ['LD_LIBRARY_PATH' => $this->path('nothing')];
        if (!str_starts_with($this->started([], $nowhere), 'a from ')) {
            $words = ['ffi.preload', 'STEAD_LIBRARY', 'stead.library', "$this->package/lib/libstead.so.1", 'ldconfig'];
            self::assertRefused($this->started([], $nowhere), ...$words);
        }
        self::assertStringStartsWith('a from  ', $this->started($this->preload(), ['LD_LIBRARY_PATH' => $this->path('system')]));
    }

    public function testFilesThatAreWrong(): void
    {
        self::assertRefused($this->started([], ['ARGUMENT' => '/none/libstead.so']), '/none/libstead.so, given to Library::load, cannot be loaded: there is no such file');
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => '/none.so']), "/none.so, the environment's STEAD_LIBRARY, cannot be loaded");
        self::assertRefused($this->started(['-d', 'stead.library=/none.so']), "/none.so, php.ini's stead.library, cannot be loaded");
        self::assertRefused($this->started([], ['ARGUMENT' => '/tmp']), '/tmp, given to Library::load, cannot be loaded: it is a directory');
        self::assertRefused($this->started([], ['ARGUMENT' => 'empty']), 'Library::load was given an empty file name');
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => __FILE__]), __FILE__, 'cannot be loaded', 'for this processor');
        $other = $this->compiled('int f(void) { return 1; }');
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => $other]), "$other is not libstead", 'stead_abi');
        $newer = $this->compiled('int stead_abi(void) { return 7; }');
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => $newer]), "$newer has the binary interface 7, and this package needs 1");
        $older = $this->compiled('int stead_abi(void) { return 1; } ');
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => $older]), "$older is not libstead, or an older one", 'of one version');
    }

    public function testANodeThatTheMapDoesNotHaveIsAFaultAndNoName(): void
    {
        // libstead's answer after an internal failure, and a number that no map has; the last one
        // is the control: db1 of this map
        $answers = static fn (int $node): string => "int stead_map_node_of(const void *m, const void *k, unsigned long n) { return $node; }";
        foreach ([-1, 65536] as $node) {
            $faulty = $this->compiled($answers($node), '-Wl,--no-as-needed', $this->library);
            $said = $this->started([], ['STEAD_LIBRARY' => $faulty, 'LD_LIBRARY_PATH' => $this->linked()]);
            self::assertStringStartsWith("Stead\Exception\InternalException 15: libstead answered with node $node, which the map does not have", $said);
        }
        $right = $this->compiled($answers(0), '-Wl,--no-as-needed', $this->library);
        self::assertStringStartsWith("a from $right ", $this->started([], ['STEAD_LIBRARY' => $right, 'LD_LIBRARY_PATH' => $this->linked()]));
    }

    public function testAnotherFileComesTooLate(): void
    {
        $library = $this->library;
        file_put_contents($this->path('script.php'), str_replace('echo $map', "Stead\Library::load('/other.so'); echo \$map", self::SCRIPT));
        self::assertRefused($this->started([], ['STEAD_LIBRARY' => $library]), "loaded already, $library", "Library::load('/other.so') before");
    }

    public function testFfiThatIsMissingOrOff(): void
    {
        $use = ['STEAD_LIBRARY' => $this->library];
        self::assertRefused($this->started(['-n'], $use), 'extension FFI', 'extension=ffi');
        $lines = ['ffi.enable=preload', 'ffi.preload=', '/preload/stead.h', 'opcache.preload=', '/preload/preload.php', 'opcache.preload_user', 'ffi.enable=true', 'restart'];
        self::assertRefused($this->started(['-d', 'ffi.enable=false'], $use), 'php.ini does not let this script use FFI (ffi.enable=', ...$lines);
        self::assertStringStartsWith('a from ', $this->started(['-d', 'ffi.enable=true'], $use));
    }

    /**
     * The options that give the CLI the settings of php-fpm.
     *
     * @return list<string>
     */
    private function preload(): array
    {
        $user = posix_getpwuid(posix_geteuid())['name'];
        $settings = ['opcache.enable_cli=1', "ffi.preload=$this->package/preload/stead.h", "opcache.preload=$this->package/preload/preload.php", "opcache.preload_user=$user"];
        return array_merge(...array_map(static fn (string $setting): array => ['-d', $setting], $settings));
    }
}
