<?php

declare(strict_types=1);

namespace Stead\Tests;

/** The manual's programs do what they say: the blocks of a page are one program, and an `echo` whose line ends in a comment prints just that. */
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
