/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A sample for one rule of tidy. */
namespace lab
{
int a()
{
    return 1;
}
} // namespace lab
