/* Texts of 16-bit units: what the C library of Windows does with them, for windows.h and tchar.h.
 *
 * Everything is static, so that a provider library that includes it needs no other library. tallymon_printf and its
 * kin read their arguments as Windows does: l and no prefix are 32 bits, I64 and ll are 64 bits, %s is a text of the
 * width of the format, %S and %hs, %ls say the width themselves. A text that is printed comes out as UTF-8.
 */
#ifndef TALLYMON_TEXT_H
#define TALLYMON_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../windef.h"

#define TALLYMON_STATIC static __attribute__((unused))

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 199901L)
/* The C library hides it from C89. */
extern int snprintf(char *, size_t, const char *, ...);
#endif

TALLYMON_STATIC size_t tallymon_length(const WCHAR *text) {
    size_t length = 0;
    while (text[length] != 0) length++;
    return length;
}

TALLYMON_STATIC WCHAR *tallymon_copy(WCHAR *to, const WCHAR *from) {
    size_t at = 0;
    do to[at] = from[at];
    while (from[at++] != 0);
    return to;
}

/* At most count units with the zero, which is always written. */
TALLYMON_STATIC WCHAR *tallymon_copy_n(WCHAR *to, const WCHAR *from, int count) {
    int at = 0;
    if (count <= 0) return to;
    for (; at < count - 1 && from[at] != 0; at++) to[at] = from[at];
    to[at] = 0;
    return to;
}

TALLYMON_STATIC char *tallymon_copy_n_bytes(char *to, const char *from, int count) {
    int at = 0;
    if (count <= 0) return to;
    for (; at < count - 1 && from[at] != 0; at++) to[at] = from[at];
    to[at] = 0;
    return to;
}

TALLYMON_STATIC WCHAR *tallymon_append(WCHAR *to, const WCHAR *from) {
    tallymon_copy(to + tallymon_length(to), from);
    return to;
}

TALLYMON_STATIC int tallymon_compare_n(const WCHAR *first, const WCHAR *second, size_t count) {
    size_t at;
    for (at = 0; at < count; at++) {
        if (first[at] != second[at]) return first[at] < second[at] ? -1 : 1;
        if (first[at] == 0) break;
    }
    return 0;
}

TALLYMON_STATIC int tallymon_compare(const WCHAR *first, const WCHAR *second) {
    return tallymon_compare_n(first, second, (size_t)-1);
}

/* Letters of ASCII only, as the C library of Windows does in its default locale. */
TALLYMON_STATIC unsigned tallymon_lower(unsigned unit) {
    return unit >= 'A' && unit <= 'Z' ? unit + ('a' - 'A') : unit;
}

TALLYMON_STATIC int tallymon_compare_caseless(const WCHAR *first, const WCHAR *second) {
    for (;; first++, second++) {
        unsigned one = tallymon_lower(*first), other = tallymon_lower(*second);
        if (one != other) return one < other ? -1 : 1;
        if (one == 0) return 0;
    }
}

TALLYMON_STATIC int tallymon_compare_bytes_caseless(const char *first, const char *second) {
    for (;; first++, second++) {
        unsigned one = tallymon_lower((unsigned char)*first), other = tallymon_lower((unsigned char)*second);
        if (one != other) return one < other ? -1 : 1;
        if (one == 0) return 0;
    }
}

TALLYMON_STATIC WCHAR *tallymon_find(const WCHAR *text, WCHAR unit) {
    for (;; text++) {
        if (*text == unit) return (WCHAR *)text;
        if (*text == 0) return NULL;
    }
}

TALLYMON_STATIC WCHAR *tallymon_find_last(const WCHAR *text, WCHAR unit) {
    WCHAR *last = NULL;
    for (;; text++) {
        if (*text == unit) last = (WCHAR *)text;
        if (*text == 0) return last;
    }
}

TALLYMON_STATIC WCHAR *tallymon_find_text(const WCHAR *text, const WCHAR *part) {
    size_t length = tallymon_length(part);
    for (;; text++) {
        if (tallymon_compare_n(text, part, length) == 0) return (WCHAR *)text;
        if (*text == 0) return NULL;
    }
}

TALLYMON_STATIC int tallymon_to_int(const WCHAR *text) {
    unsigned value = 0;
    int negative;
    while (*text == ' ' || (*text >= '\t' && *text <= '\r')) text++;
    negative = *text == '-';
    if (*text == '-' || *text == '+') text++;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (unsigned)(*text - '0');
    return (int)(negative ? 0u - value : value);
}

/* Where the parts of a printed text go: a stream, or a buffer of units of 1 or 2 bytes. */
struct tallymon_output {
    FILE *stream;
    char *bytes;
    WCHAR *wide;
    size_t room;
    size_t count;
    unsigned high;
};

TALLYMON_STATIC void tallymon_put_byte(struct tallymon_output *out, unsigned byte) {
    if (out->stream) fputc((int)byte, out->stream);
    else if (out->bytes && out->count < out->room) out->bytes[out->count] = (char)byte;
    out->count++;
}

/* One unit of 16 bits. A stream and a text of bytes get UTF-8; half of a pair alone becomes a replacement character. */
TALLYMON_STATIC void tallymon_put_unit(struct tallymon_output *out, unsigned unit) {
    unsigned point = unit;
    if (out->wide) {
        if (out->count < out->room) out->wide[out->count] = (WCHAR)unit;
        out->count++;
        return;
    }
    if (unit >= 0xD800 && unit < 0xDC00) {
        out->high = unit;
        return;
    }
    if (unit >= 0xDC00 && unit < 0xE000)
        point = out->high ? 0x10000 + ((out->high - 0xD800) << 10) + (unit - 0xDC00) : 0xFFFD;
    out->high = 0;
    if (point < 0x80) {
        tallymon_put_byte(out, point);
    } else if (point < 0x800) {
        tallymon_put_byte(out, 0xC0 | point >> 6);
        tallymon_put_byte(out, 0x80 | (point & 0x3F));
    } else if (point < 0x10000) {
        tallymon_put_byte(out, 0xE0 | point >> 12);
        tallymon_put_byte(out, 0x80 | (point >> 6 & 0x3F));
        tallymon_put_byte(out, 0x80 | (point & 0x3F));
    } else {
        tallymon_put_byte(out, 0xF0 | point >> 18);
        tallymon_put_byte(out, 0x80 | (point >> 12 & 0x3F));
        tallymon_put_byte(out, 0x80 | (point >> 6 & 0x3F));
        tallymon_put_byte(out, 0x80 | (point & 0x3F));
    }
}

/* One byte of a text of bytes, or one unit of a wide one. */
TALLYMON_STATIC void tallymon_put(struct tallymon_output *out, unsigned unit, int wide) {
    if (wide || out->wide) tallymon_put_unit(out, unit);
    else tallymon_put_byte(out, unit);
}

TALLYMON_STATIC void tallymon_put_text(struct tallymon_output *out, const void *text, int wide, int width, int most,
                                       int left) {
    const char *bytes = (const char *)(text ? text : "(null)");
    const WCHAR *units = (const WCHAR *)text;
    size_t length = 0, at, pad;
    if (!text) wide = 0;
    while ((most < 0 || length < (size_t)most) && (wide ? units[length] != 0 : bytes[length] != 0)) length++;
    pad = width > 0 && (size_t)width > length ? (size_t)width - length : 0;
    for (; !left && pad; pad--) tallymon_put(out, ' ', 0);
    for (at = 0; at < length; at++) tallymon_put(out, wide ? units[at] : (unsigned char)bytes[at], wide);
    for (; pad; pad--) tallymon_put(out, ' ', 0);
}

/* Prints; the format has units of 2 bytes if wide. Anything that Windows does not know is printed as it stands. */
TALLYMON_STATIC void tallymon_print(struct tallymon_output *out, const void *format, int wide, va_list arguments) {
    const char *bytes = (const char *)format;
    const WCHAR *units = (const WCHAR *)format;
    size_t at = 0;
#define TALLYMON_UNIT(index) ((unsigned)(wide ? units[index] : (unsigned char)bytes[index]))
    while (TALLYMON_UNIT(at) != 0) {
        unsigned unit = TALLYMON_UNIT(at);
        char one[32], text[512];
        size_t made = 0, start = at;
        int width = -1, most = -1, left = 0, large = 0, text_is_wide, written = 0;
        if (unit != '%') {
            tallymon_put(out, unit, wide);
            at++;
            continue;
        }
        at++;
        one[made++] = '%';
        for (; (unit = TALLYMON_UNIT(at)) == '-' || unit == '+' || unit == ' ' || unit == '#' || unit == '0'; at++) {
            if (unit == '-') left = 1;
            if (made < 8) one[made++] = (char)unit;
        }
        if (TALLYMON_UNIT(at) == '*') {
            width = va_arg(arguments, int);
            if (width < 0) {
                left = 1;
                width = width < -400 ? 400 : -width;
                if (made < 9) one[made++] = '-';
            }
            at++;
        } else if ((unit = TALLYMON_UNIT(at)) >= '0' && unit <= '9') {
            for (width = 0; (unit = TALLYMON_UNIT(at)) >= '0' && unit <= '9'; at++)
                if (width < 400) width = width * 10 + (int)(unit - '0');
        }
        if (TALLYMON_UNIT(at) == '.') {
            at++;
            most = 0;
            if (TALLYMON_UNIT(at) == '*') {
                most = va_arg(arguments, int);
                at++;
            } else {
                for (; (unit = TALLYMON_UNIT(at)) >= '0' && unit <= '9'; at++)
                    if (most < 400) most = most * 10 + (int)(unit - '0');
            }
        }
        text_is_wide = wide;
        for (;; at++) {
            unit = TALLYMON_UNIT(at);
            if (unit == 'l' || unit == 'w') {
                if (unit == 'l' && TALLYMON_UNIT(at + 1) == 'l') {
                    large = 1;
                    at++;
                } else {
                    text_is_wide = 1;
                }
            } else if (unit == 'h') {
                text_is_wide = 0;
            } else if (unit == 'I') {
                if (TALLYMON_UNIT(at + 1) == '6' && TALLYMON_UNIT(at + 2) == '4') {
                    large = 1;
                    at += 2;
                } else if (TALLYMON_UNIT(at + 1) == '3' && TALLYMON_UNIT(at + 2) == '2') {
                    at += 2;
                } else {
                    large = sizeof(void *) == 8;
                }
            } else if (unit == 'j' || unit == 't' || unit == 'z') {
                large = unit == 'j' || sizeof(void *) == 8;
            } else if (unit != 'L') {
                break;
            }
        }
        if (unit == 0) {
            for (; start < at; start++) tallymon_put(out, TALLYMON_UNIT(start), wide);
            break;
        }
        at++;
        if (width > 400) width = 400;
        if (most > 400 && unit != 's' && unit != 'S') most = 400;
        if (unit == 's' || unit == 'S') {
            if (unit == 'S' && text_is_wide == wide) text_is_wide = !wide;
            tallymon_put_text(out, va_arg(arguments, const void *), text_is_wide, width, most, left);
            continue;
        }
        if (unit == 'c' || unit == 'C') {
            WCHAR pair[2] = {0, 0};
            if (unit == 'C' && text_is_wide == wide) text_is_wide = !wide;
            pair[0] = (WCHAR)va_arg(arguments, int);
            if (!text_is_wide) pair[0] &= 0xFF;
            tallymon_put_text(out, pair, 1, width, 1, left);
            continue;
        }
        if (unit == '%') {
            tallymon_put(out, '%', 0);
            continue;
        }
        if (width >= 0) made += (size_t)snprintf(one + made, sizeof one - made, "%d", width);
        if (most >= 0) made += (size_t)snprintf(one + made, sizeof one - made, ".%d", most);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
        if (unit == 'd' || unit == 'i') {
            snprintf(one + made, sizeof one - made, "lld");
            written = snprintf(text, sizeof text, one, large ? va_arg(arguments, LONGLONG)
                                                             : (LONGLONG)va_arg(arguments, int));
        } else if (unit == 'u' || unit == 'x' || unit == 'X' || unit == 'o') {
            snprintf(one + made, sizeof one - made, "ll%c", (int)unit);
            written = snprintf(text, sizeof text, one, large ? va_arg(arguments, ULONGLONG)
                                                             : (ULONGLONG)va_arg(arguments, unsigned));
        } else if (unit == 'p') {
            snprintf(one + made, sizeof one - made, "p");
            written = snprintf(text, sizeof text, one, va_arg(arguments, void *));
        } else if (unit == 'e' || unit == 'E' || unit == 'f' || unit == 'F' || unit == 'g' || unit == 'G' ||
                   unit == 'a' || unit == 'A') {
            snprintf(one + made, sizeof one - made, "%c", (int)unit);
            written = snprintf(text, sizeof text, one, va_arg(arguments, double));
        } else {
            for (; start < at; start++) tallymon_put(out, TALLYMON_UNIT(start), wide);
            continue;
        }
#pragma GCC diagnostic pop
        if (written > 0) {
            int index;
            for (index = 0; index < written && index < (int)sizeof text - 1; index++)
                tallymon_put(out, (unsigned char)text[index], 0);
        }
    }
#undef TALLYMON_UNIT
}

TALLYMON_STATIC int tallymon_fprintf(FILE *stream, const WCHAR *format, ...) {
    struct tallymon_output out = {NULL, NULL, NULL, 0, 0, 0};
    va_list arguments;
    out.stream = stream;
    va_start(arguments, format);
    tallymon_print(&out, format, 1, arguments);
    va_end(arguments);
    return (int)out.count;
}

TALLYMON_STATIC int tallymon_printf(const WCHAR *format, ...) {
    struct tallymon_output out = {NULL, NULL, NULL, 0, 0, 0};
    va_list arguments;
    out.stream = stdout;
    va_start(arguments, format);
    tallymon_print(&out, format, 1, arguments);
    va_end(arguments);
    return (int)out.count;
}

/* printf with the sizes of Windows. */
TALLYMON_STATIC int tallymon_printf_bytes(const char *format, ...) {
    struct tallymon_output out = {NULL, NULL, NULL, 0, 0, 0};
    va_list arguments;
    out.stream = stdout;
    va_start(arguments, format);
    tallymon_print(&out, format, 0, arguments);
    va_end(arguments);
    return (int)out.count;
}

/* wsprintf writes at most 1,024 units, the zero included, as on Windows. */
TALLYMON_STATIC int tallymon_sprintf(WCHAR *to, const WCHAR *format, ...) {
    struct tallymon_output out = {NULL, NULL, NULL, 1023, 0, 0};
    va_list arguments;
    out.wide = to;
    va_start(arguments, format);
    tallymon_print(&out, format, 1, arguments);
    va_end(arguments);
    if (out.count > out.room) out.count = out.room;
    to[out.count] = 0;
    return (int)out.count;
}

TALLYMON_STATIC int tallymon_sprintf_bytes(char *to, const char *format, ...) {
    struct tallymon_output out = {NULL, NULL, NULL, 1023, 0, 0};
    va_list arguments;
    out.bytes = to;
    va_start(arguments, format);
    tallymon_print(&out, format, 0, arguments);
    va_end(arguments);
    if (out.count > out.room) out.count = out.room;
    to[out.count] = 0;
    return (int)out.count;
}

/* The button that was pressed: there is none but OK. */
TALLYMON_STATIC int tallymon_message(const WCHAR *text, const WCHAR *title, UINT style) {
    static const WCHAR format[] = {'%', 's', ':', ' ', '%', 's', '\n', 0}, none[] = {0};
    (void)style;
    tallymon_fprintf(stderr, format, title ? title : none, text ? text : none);
    return 1;
}

TALLYMON_STATIC void tallymon_debug(const WCHAR *text) {
    static const WCHAR format[] = {'%', 's', '\n', 0}, none[] = {0};
    tallymon_fprintf(stderr, format, text ? text : none);
}

TALLYMON_STATIC void tallymon_debug_bytes(const char *text) { fprintf(stderr, "%s\n", text ? text : ""); }

TALLYMON_STATIC int tallymon_message_bytes(const char *text, const char *title, UINT style) {
    (void)style;
    fprintf(stderr, "%s: %s\n", title ? title : "", text ? text : "");
    return 1;
}

#endif
