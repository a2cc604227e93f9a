/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
static int gp_count;
const char *gp_name = "a";
struct gp_thing {
    int value;
} gp_thing;
static struct gp_thing gp_list[2] = {{1}, {2}};
int (*gp_step)(int);
__thread int gp_local;
int gp_a(void)
{
    static int calls;
    return ++calls;
}
