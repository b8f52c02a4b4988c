<?php

declare(strict_types=1);

namespace Stead;

/**
 * A failure of stead. Its message is one line that says what is wrong, where, and what to do. Every
 * exception of stead is of a subclass of this class; Stead\Exception has one for each status.
 */
class Exception extends \RuntimeException
{
    /**
     * The status of the failure; null if libstead could not be loaded. Its number is also the code.
     */
    public readonly ?Status $status;

    /** The error number of the operating system, or 0. */
    public readonly int $errno;

    final public function __construct(string $message, int $status = 0, int $errno = 0, ?\Throwable $previous = null)
    {
        parent::__construct($message, $status, $previous);
        $this->status = Status::tryFrom($status);
        $this->errno = $errno;
        // the file and the line of the program that called, as for an exception of PHP itself
        [$this->file, $this->line] = self::caller($this);
    }

    /**
     * Returns the file and the line of the first frame outside this package.
     *
     * @internal
     * @return array{string, int}
     */
    final public static function caller(\Throwable $thrown): array
    {
        foreach ([['file' => $thrown->getFile(), 'line' => $thrown->getLine()], ...$thrown->getTrace()] as $frame) {
            if (isset($frame['file'], $frame['line']) && !\str_starts_with($frame['file'], __DIR__ . \DIRECTORY_SEPARATOR)) {
                return [$frame['file'], $frame['line']];
            }
        }
        return [$thrown->getFile(), $thrown->getLine()];
    }

    /**
     * Returns a TypeError with the file and the line of the caller.
     *
     * @internal
     */
    final public static function type(string $message): \TypeError
    {
        $error = new \TypeError($message);
        [$file, $line] = self::caller($error);
        (new \ReflectionProperty(\Error::class, 'file'))->setValue($error, $file);
        (new \ReflectionProperty(\Error::class, 'line'))->setValue($error, $line);
        return $error;
    }

    /**
     * Returns the exception for a status.
     *
     * @internal
     */
    final public static function of(Status|int $status, string $message, int $errno = 0): Exception
    {
        $number = $status instanceof Status ? $status->value : $status;
        $class = match (Status::tryFrom($number)) {
            Status::Invalid => Exception\InvalidException::class,
            Status::Fleet => Exception\FleetException::class,
            Status::Impossible => Exception\ImpossibleException::class,
            Status::Format => Exception\FormatException::class,
            Status::Digest => Exception\DigestException::class,
            Status::Version => Exception\VersionException::class,
            Status::Identity => Exception\IdentityException::class,
            Status::NotFound => Exception\NotFoundException::class,
            Status::Io => Exception\IoException::class,
            Status::Conflict => Exception\ConflictException::class,
            Status::Uncertain => Exception\UncertainException::class,
            Status::Changed => Exception\ChangedException::class,
            Status::Name => Exception\PathNameException::class,
            Status::Internal => Exception\InternalException::class,
            Status::Permission => Exception\PermissionDeniedException::class,
            Status::Memory => Exception\OutOfMemoryException::class,
            Status::Guarded => Exception\GuardedException::class,
            // a status that a newer library added
            null => self::class,
        };
        return new $class($message, $number, $errno);
    }
}
