<?php

declare(strict_types=1);

namespace Stead;

/**
 * Converts a fleet that is an array to a JSON text of the same shape, so that every rule and every
 * message is that of a fleet file.
 *
 * Each value is on its own line of the text, and messages name the place in the array instead of
 * the line. Numbers are written as exact decimals: an int as it is, a float as the shortest decimal
 * that converts to the same float.
 *
 * @internal
 */
final class Fleet
{
    /** The greatest depth of nested arrays; a fleet needs four. */
    private const DEEPEST = 32;
    /** Names of values that are never lists, even if they are empty or their keys are 0, 1, ... */
    private const TABLES = ['labels', 'attributes'];

    public readonly string $text;

    /** @var list<string> the place in the array for each line of the text */
    private array $places = ['fleet'];

    /** @param array<mixed> $fleet */
    public function __construct(array $fleet)
    {
        $this->text = $this->table($fleet, 'fleet', self::DEEPEST);
    }

    /**
     * Replaces the line numbers of the text in a message by places in the array: `fleet:3: ` at the
     * beginning, and `in line 3` anywhere.
     */
    public function placed(string $message, string $name): string
    {
        $begin = '/^' . \preg_quote($name, '/') . ':(\d+)(?=: )/';
        $message = \preg_replace_callback($begin, fn (array $found): string => $this->places[(int) $found[1] - 1] ?? $found[0], $message);
        return \preg_replace_callback('/in line (\d+)/', fn (array $found): string => 'in ' . ($this->places[(int) $found[1] - 1] ?? "line $found[1]"), (string) $message)
            ?? '';
    }

    private function value(mixed $value, string $place, bool $table, int $depth): string
    {
        if (\is_array($value)) {
            if ($depth === 0) {
                throw Exception::of(Status::Fleet, "$place: arrays lie too deep in each other");
            }
            return \array_is_list($value) && !$table ? $this->list($value, $place, $depth - 1) : $this->table($value, $place, $depth - 1);
        }
        return match (true) {
            \is_string($value) => self::string($value, $place),
            \is_int($value) => (string) $value,
            \is_bool($value) => $value ? 'true' : 'false',
            \is_float($value) => self::decimal($value, $place),
            default => throw Exception::type("$place: a fleet has string, int, float, bool and array, not " . \get_debug_type($value)),
        };
    }

    /** @param list<mixed> $list */
    private function list(array $list, string $place, int $depth): string
    {
        $text = [];
        foreach ($list as $i => $value) {
            $this->places[] = "{$place}[$i]";
            $text[] = "\n" . $this->value($value, "{$place}[$i]", false, $depth);
        }
        return '[' . \implode(',', $text) . ']';
    }

    /** @param array<mixed> $table */
    private function table(array $table, string $place, int $depth): string
    {
        $text = [];
        foreach ($table as $key => $value) {
            $inner = $place . "['" . \addcslashes((string) $key, "\0..\37'\\\177") . "']";
            $this->places[] = $inner;
            $text[] = "\n" . self::string((string) $key, $place) . ': ' . $this->value($value, $inner, \in_array($key, self::TABLES, true), $depth);
        }
        return '{' . \implode(',', $text) . '}';
    }

    private static function string(string $string, string $place): string
    {
        $json = \json_encode($string, \JSON_UNESCAPED_SLASHES | \JSON_UNESCAPED_UNICODE);
        if ($json === false) {
            throw Exception::of(Status::Fleet, "$place: a text is not UTF-8");
        }
        return $json;
    }

    /**
     * The decimal of a float, which does not depend on php.ini's precision; %F ignores the locale.
     */
    private static function decimal(float $value, string $place): string
    {
        for ($places = 0; $places <= 20 && \is_finite($value); $places++) {
            $decimal = \sprintf("%.{$places}F", $value);
            if ((float) $decimal === $value) {
                return $decimal;
            }
        }
        throw Exception::of(Status::Fleet, "$place: " . \json_encode(\is_finite($value) ? $value : (string) $value) . ' is not a number that a fleet can have');
    }
}
