<?php

declare(strict_types=1);

namespace Stead;

/**
 * A failure of stead; its message is one line that says what is wrong, where, and what to do. All
 * are of this class, and of one of Stead\Exception\... for each status.
 */
class Exception extends \RuntimeException
{
    /** What went wrong; null when libstead could not be loaded. Its number is the code. */
    public readonly ?Status $status;

    /** What the operating system said, or 0. */
    public readonly int $errno;

    final public function __construct(string $message, int $status = 0, int $errno = 0, ?\Throwable $previous = null)
    {
        parent::__construct($message, $status, $previous);
        $this->status = Status::tryFrom($status);
        $this->errno = $errno;
    }

    /**
     * The exception of a status.
     *
     * @internal
     */
    final public static function of(Status|int $status, string $message, int $errno = 0): self
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
            // EPERM and EACCES of Linux
            Status::Io => \in_array($errno, [1, 13], true) ? Exception\PermissionDeniedException::class : Exception\IoException::class,
            Status::Conflict => Exception\ConflictException::class,
            Status::Uncertain => Exception\UncertainException::class,
            Status::Changed => Exception\ChangedException::class,
            Status::Name => Exception\PathNameException::class,
            Status::Internal => Exception\InternalException::class,
            // a number that a later library added
            null => self::class,
        };
        return new $class($message, $number, $errno);
    }
}
