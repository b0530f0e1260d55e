/* The program: keeps its standard streams safe and hands over to the command line. */
#include "tools/cli.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A closed standard stream would give its number to the next file that is opened, and messages
 * would be written into a database. Opened for reading, a stand-in still fails writes. */
static void fill_standard_streams(void)
{
    int fd = 0;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    signal(SIGPIPE, SIG_IGN); /* a reader that has gone is an error of write */
    return gs_cli_run(argc, argv);
}
