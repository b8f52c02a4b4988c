<?php

declare(strict_types=1);

namespace Stead\Tests;

/**
 * The manual's programs do what they say: the blocks of a page are one program, and an `echo` whose
 * line ends in a comment prints just that.
 */
final class DocsTest extends Cases
{
    public function testPagesSayWhatHappens(): void
    {
        // with how many echoes there are at least: a page that lost its blocks would say nothing
        foreach ([dirname(__DIR__, 2) . '/docs/php.md' => 16, dirname(__DIR__) . '/README.md' => 4] as $page => $least) {
            [$said, $wanted] = $this->ran((string) file_get_contents($page));
            self::assertSame($wanted, $said);
            self::assertGreaterThanOrEqual($least, count($wanted));
            $this->tearDown();
        }
    }

    public function testTheSettingsAreThoseOfTheExample(): void
    {
        // which tests/php runs; the page says the same, indented, and may say behind a line where
        // it belongs
        $line = static fn (string $text): string => trim((string) preg_replace('/ +#.*/', '', $text));
        $lines = static fn (string $text): array => array_filter(array_map($line, explode("\n", $text)), static fn (string $text): bool => $text !== '' && $text[0] !== ';');
        $page = $lines((string) file_get_contents(dirname(__DIR__, 2) . '/docs/php.md'));
        $files = [...(array) glob(dirname(__DIR__, 2) . '/examples/php/fpm/*.ini'), ...(array) glob(dirname(__DIR__, 2) . '/examples/php/fpm/*.conf')];
        self::assertCount(5, $files);
        foreach ($files as $file) {
            $said = array_filter($lines((string) file_get_contents((string) $file)), static fn (string $text): bool => $text[0] !== '#');
            self::assertSame([], array_values(array_diff($said, $page)), (string) $file);
            self::assertGreaterThan(1, count($said));
        }
    }

    public function testAPageThatIsWrongIsSeen(): void
    {
        [$said, $wanted] = $this->ran("text\n\n```php\n\$a = 1;\n```\n\nmore\n\n```php\necho \$a + 1;   // 3\n```\n");
        self::assertSame([['2'], ['3']], [$said, $wanted]);
    }

    /**
     * What the echoes of a page printed, and what stands behind them.
     *
     * @return array{list<string>, list<string>}
     */
    private function ran(string $text): array
    {
        preg_match_all('/^```php\n(.*?)^```$/ms', $text, $blocks);
        $program = implode('', $blocks[1]);
        $echo = '/^( *)echo (.*);( +\/\/ (.*))?$/m';
        preg_match_all($echo, $program, $echoes);
        // as one would have it in a file, but for what is there once in a file
        $program = preg_replace([$echo, '/^(<\?php|declare\(.*|require .*)$/m'], ['$1$said[] = (string) ($2);', ''], $program);
        file_put_contents($this->path('page.php'), "<?php\ndeclare(strict_types=1);\n\$said = [];\n$program\nreturn \$said;\n");
        $before = getcwd();
        chdir($this->path());
        try {
            return [(static fn (string $file): array => require $file)($this->path('page.php')), $echoes[4]];
        } finally {
            chdir((string) $before);
        }
    }
}
