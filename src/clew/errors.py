"""Every error that Clew raises on purpose.

ClewError
├── InputError                 the caller asked for something that cannot be done; permanent
│   ├── NotFoundError          a knowledge base, file, conversation … that does not exist (or may not be seen)
│   ├── ConflictError          it exists already, or another change is running
│   └── SettingsError          an unknown or impossible setting, with its path
├── FileFailedError            a file that cannot be read; permanent, with a reason for people
│   ├── UnsupportedFileError   a format that Clew does not read
│   ├── EncryptedFileError     a file that needs a password
│   ├── DamagedFileError       a file that is not what it claims to be
│   └── EmptyFileError         a file without any text or image
├── ServiceError               a model or server that Clew depends on
│   ├── ServiceUnavailableError  cannot be reached, overloaded, timed out; transient
│   └── ServiceRefusedError      answered, and refused or answered nonsense; permanent
└── StorageError               records, search index or originals cannot be read or written
    ├── StorageFullError       no space left; transient once space is made
    └── StorageBusyError       locked by another process; transient

Foreign errors are translated into these at the border of the module that meets them. Each message says what
happened, to what, and what to do. ``transient`` says whether the same call may work later.
"""

from __future__ import annotations


class ClewError(Exception):
    """Base of all errors that Clew raises on purpose; ``str(error)`` is fit for people."""

    transient = False


class InputError(ClewError):
    """The caller asked for something that cannot be done."""


class NotFoundError(InputError):
    """The named thing does not exist, or the caller may not see it."""


class ConflictError(InputError):
    """The thing exists already, or another change to it is running."""


class SettingsError(InputError):
    """A setting is unknown or has an impossible value; the message starts with its path."""


class FileFailedError(ClewError):
    """A file cannot be read; the message is the reason shown to people."""


class UnsupportedFileError(FileFailedError):
    """The format is none that Clew reads."""


class EncryptedFileError(FileFailedError):
    """The file needs a password."""


class DamagedFileError(FileFailedError):
    """The file is not what it claims to be."""


class EmptyFileError(FileFailedError):
    """The file holds neither text nor images."""


class ServiceError(ClewError):
    """A model or server that Clew depends on did not do its part."""


class ServiceUnavailableError(ServiceError):
    """The service cannot be reached, is overloaded or timed out."""

    transient = True


class ServiceRefusedError(ServiceError):
    """The service answered and refused, or its answer cannot be understood."""


class StorageError(ClewError):
    """Records, search index or originals cannot be read or written."""


class StorageFullError(StorageError):
    """There is no space left on the device."""

    transient = True


class StorageBusyError(StorageError):
    """Another process holds the data."""

    transient = True
