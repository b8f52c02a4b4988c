<?php

declare(strict_types=1);

namespace Stead\Tests;

/**
 * The programs in the guide do what they say. The blocks of a page are one program, and an `echo`
 * whose line ends in a comment prints exactly that.
 */
final class DocsTest extends Cases
{
    public function testPagesSayWhatHappens(): void
    {
        // with the least number of echoes, because a page that lost its blocks would print nothing
        foreach ([dirname(__DIR__, 2) . '/docs/php.md' => 22, dirname(__DIR__) . '/README.md' => 4] as $page => $least) {
            [$said, $wanted] = $this->ran((string) file_get_contents($page));
            self::assertSame($wanted, $said);
            self::assertGreaterThanOrEqual($least, count($wanted));
            $this->tearDown();
        }
    }

    public function testTheSettingsAreThoseOfTheExample(): void
    {
        // tests/php runs these files; the page has the same lines, indented, and may name the file
        // of a line in a comment after it
        $line = static fn (string $text): string => trim((string) preg_replace('/ +#.*/', '', $text));
        $lines = static fn (string $text): array => array_filter(array_map($line, explode("\n", $text)), static fn (string $text): bool => $text !== '' && $text[0] !== ';');
        $page = $lines((string) file_get_contents(dirname(__DIR__, 2) . '/docs/php.md'));
        $files = [...(array) glob(dirname(__DIR__, 2) . '/examples/php/fpm/*.ini'), ...(array) glob(dirname(__DIR__, 2) . '/examples/php/fpm/*.conf')];
        self::assertCount(7, $files);
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
     * Returns what the echoes of a page printed, and the comments after them.
     *
     * @return array{list<string>, list<string>}
     */
    private function ran(string $text): array
    {
        preg_match_all('/^```php\n(.*?)^```$/ms', $text, $blocks);
        $program = implode('', $blocks[1]);
        $echo = '/^( *)echo (.*);( +\/\/ (.*))?$/m';
        preg_match_all($echo, $program, $echoes);
        // the program as in one file, without the lines that a file has only once
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
