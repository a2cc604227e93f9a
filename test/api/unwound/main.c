/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that is linked to plugin_work(), which other programs load as a plugin. */
int plugin_work(void);

int main(void)
{
    return plugin_work();
}
