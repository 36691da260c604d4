/* A main for programs of the last century whose own returns nothing: compile them with -Dmain=article_main. */
#include <stdio.h>

void article_main();

int main() {
    /* Whoever reads a pipe sees every line when it is printed. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    article_main();
    return 0;
}
