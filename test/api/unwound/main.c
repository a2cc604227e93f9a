/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program that calls the code that is otherwise a plugin. */
int plugin_work(void);

int main(void)
{
    return plugin_work();
}
