/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that calls plugin_work().  It is linked with the function, which other programs load as a plugin. */
int plugin_work(void);

int main(void)
{
    return plugin_work();
}
