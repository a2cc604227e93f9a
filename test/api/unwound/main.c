/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program around what is a plugin otherwise.
 */
int plugin_work(void);

int main(void)
{
    return plugin_work();
}
