/* SPDX-License-Identifier: Apache-2.0 */
/* elastane.c - what people type. All of it is in src/cli. */
#include <signal.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    /* `elastane logs -f ID | head` ends with an error that is reported, not by a signal
     * in the middle of a line. */
    (void)signal(SIGPIPE, SIG_IGN);
    return cli_main(argc, argv);
}
