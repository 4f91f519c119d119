/*
 * Error messages in glibc's words: what scripts, tests and people who read them know. wasi-libc has musl's.
 * Source: glibc's errlist, <https://www.gnu.org/software/libc/manual/html_node/Error-Codes.html>; the numbers are WASI's.
 */
#include <errno.h>
#include <locale.h>
#include <string.h>

static const char *const messages[] = {
    [0] = "Success",
    [1] = "Argument list too long",
    [2] = "Permission denied",
    [3] = "Address already in use",
    [4] = "Cannot assign requested address",
    [5] = "Address family not supported by protocol",
    [6] = "Resource temporarily unavailable",
    [7] = "Operation already in progress",
    [8] = "Bad file descriptor",
    [9] = "Bad message",
    [10] = "Device or resource busy",
    [11] = "Operation canceled",
    [12] = "No child processes",
    [13] = "Software caused connection abort",
    [14] = "Connection refused",
    [15] = "Connection reset by peer",
    [16] = "Resource deadlock avoided",
    [17] = "Destination address required",
    [18] = "Numerical argument out of domain",
    [19] = "Disk quota exceeded",
    [20] = "File exists",
    [21] = "Bad address",
    [22] = "File too large",
    [23] = "No route to host",
    [24] = "Identifier removed",
    [25] = "Invalid or incomplete multibyte or wide character",
    [26] = "Operation now in progress",
    [27] = "Interrupted system call",
    [28] = "Invalid argument",
    [29] = "Input/output error",
    [30] = "Transport endpoint is already connected",
    [31] = "Is a directory",
    [32] = "Too many levels of symbolic links",
    [33] = "Too many open files",
    [34] = "Too many links",
    [35] = "Message too long",
    [36] = "Multihop attempted",
    [37] = "File name too long",
    [38] = "Network is down",
    [39] = "Network dropped connection on reset",
    [40] = "Network is unreachable",
    [41] = "Too many open files in system",
    [42] = "No buffer space available",
    [43] = "No such device",
    [44] = "No such file or directory",
    [45] = "Exec format error",
    [46] = "No locks available",
    [47] = "Link has been severed",
    [48] = "Cannot allocate memory",
    [49] = "No message of desired type",
    [50] = "Protocol not available",
    [51] = "No space left on device",
    [52] = "Function not implemented",
    [53] = "Transport endpoint is not connected",
    [54] = "Not a directory",
    [55] = "Directory not empty",
    [56] = "State not recoverable",
    [57] = "Socket operation on non-socket",
    [58] = "Operation not supported",
    [59] = "Inappropriate ioctl for device",
    [60] = "No such device or address",
    [61] = "Value too large for defined data type",
    [62] = "Owner died",
    [63] = "Operation not permitted",
    [64] = "Broken pipe",
    [65] = "Protocol error",
    [66] = "Protocol not supported",
    [67] = "Protocol wrong type for socket",
    [68] = "Numerical result out of range",
    [69] = "Read-only file system",
    [70] = "Illegal seek",
    [71] = "No such process",
    [72] = "Stale file handle",
    [73] = "Connection timed out",
    [74] = "Text file busy",
    [75] = "Invalid cross-device link",
    [76] = "Capabilities insufficient",
};

char *strerror(int number)
{
    static char unknown[40] = "Unknown error ";
    char *end = unknown + sizeof "Unknown error " - 1;
    char digits[12];
    int count = 0;
    unsigned value = number < 0 ? -(unsigned)number : (unsigned)number;

    if (number >= 0 && (size_t)number < sizeof messages / sizeof *messages && messages[number])
        return (char *)messages[number];
    /* By hand: printf would be linked into every guest for this. */
    if (number < 0)
        *end++ = '-';
    do
        digits[count++] = (char)('0' + value % 10);
    while (value /= 10);
    while (count)
        *end++ = digits[--count];
    *end = 0;
    return unknown;
}

char *strerror_l(int number, locale_t locale)
{
    (void)locale;
    return strerror(number);
}

int strerror_r(int number, char *buffer, size_t size)
{
    const char *message = strerror(number);
    size_t length = strlen(message);

    if (length >= size) {
        if (size > 0) {
            memcpy(buffer, message, size - 1);
            buffer[size - 1] = 0;
        }
        return ERANGE;
    }
    memcpy(buffer, message, length + 1);
    return 0;
}
