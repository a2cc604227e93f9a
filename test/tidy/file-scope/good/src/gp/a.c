/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
typedef int (*gp_step_t)(int);
struct gp_thing {
    int value;
};
enum gp_state { GP_IDLE, GP_BUSY };
static const int gp_limits[] = {1, 2};
static const char *const gp_names[] = {"a", "b"};
static int (*const gp_steps[])(int) = {0};
int gp_run(int (*step)(int), int value);
extern int gp_elsewhere;
int gp_a(void)
{
    static const int table[] = {1, 2};
    int value = table[0];
    return value;
}
