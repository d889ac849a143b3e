/* SPDX-License-Identifier: Apache-2.0 */
/* banned.h - turns calls of dangerous libc functions into compile errors (STYLE 10).
 *
 * The build includes this file in front of every source (-include), so it must include
 * nothing itself: a libc header would fix the feature macros before the source has had
 * its say. It declares the functions once more, with their true types, as deprecated;
 * with -Werror a call is then an error that names what to use, while a struct field of
 * the same name, or an inline function in a system header, does no harm.
 * alloca is a macro of the compiler's own and is caught by -Walloca. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#define BANNED(use) __attribute__((deprecated("banned: " use)))

struct tm;

/* No bounds. */
char *strcpy(char *restrict, const char *restrict) BANNED("use base/buf.h or snprintf");
char *strcat(char *restrict, const char *restrict) BANNED("use base/buf.h or snprintf");
char *stpcpy(char *restrict, const char *restrict) BANNED("use base/buf.h or snprintf");
int sprintf(char *restrict, const char *restrict, ...)
    BANNED("use base/buf.h or snprintf");
int vsprintf(char *restrict, const char *restrict, __builtin_va_list)
    BANNED("use base/buf.h or vsnprintf");
char *gets(char *) BANNED("use fgets");

/* A bound, and yet no terminator, or the wrong bound. */
char *strncpy(char *restrict, const char *restrict, __SIZE_TYPE__)
    BANNED("use snprintf, or memcpy with a length");
char *strncat(char *restrict, const char *restrict, __SIZE_TYPE__)
    BANNED("use base/buf.h or snprintf");

/* Hidden state, shared by the whole process. */
char *strtok(char *restrict, const char *restrict) BANNED("use strtok_r or strcspn");
struct tm *gmtime(const long *) BANNED("use gmtime_r");
struct tm *localtime(const long *) BANNED("use localtime_r");
char *ctime(const long *) BANNED("use strftime");
char *asctime(const struct tm *) BANNED("use strftime");
int rand(void) BANNED("use a named random stream, base/rng.h");
void srand(unsigned int) BANNED("use a named random stream, base/rng.h");
long random(void) BANNED("use a named random stream, base/rng.h");
void srandom(unsigned int) BANNED("use a named random stream, base/rng.h");

/* No way to tell an error from 0. */
int atoi(const char *) BANNED("use strtol and look at its end pointer");
long atol(const char *) BANNED("use strtol and look at its end pointer");
long long atoll(const char *) BANNED("use strtoll and look at its end pointer");
double atof(const char *) BANNED("use strtod and look at its end pointer");

/* A race by construction. */
char *tmpnam(char *) BANNED("use mkstemp");
char *mktemp(char *) BANNED("use mkstemp or mkdtemp");

#undef BANNED

#endif
